"""Rules, verifier and encoding broken on purpose: the checks must notice every time.

A wrong *proposal* must do no harm, since the solver rejects it; a wrong *meaning*, a
verifier that says yes, or an encoding that forgets NULLs must make the comparison with
the reference tracer fail on some pipeline of a small corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
import z3

from predtrace.inference import infer
from pushdown import verify
from pushdown.graph import OperatorGraph
from pushdown.operators import (
    AggregateCall,
    Aggregation,
    AntiJoin,
    Assignment,
    Distinct,
    Domain,
    DropDuplicates,
    Expand,
    Filter,
    Generate,
    GroupBy,
    InnerJoin,
    Intersect,
    Limit,
    MarkJoin,
    Operator,
    OuterJoin,
    RowTransform,
    ScalarSubquery,
    Scan,
    SemiJoin,
    Union_,
)
from pushdown.rules import RULES
from pushdown.rules.domains import on_values
from pushdown.rules.expansion import through_generate
from symbolic import encode
from symbolic.expr import (
    FALSE,
    TRUE,
    Call,
    Column,
    Expr,
    Literal,
    call,
    column_ids,
    conjunction,
    conjuncts,
    same,
    substitute,
)
from symbolic.solver import Prover, Verdict, prove
from symbolic.types import BOOLEAN, DOUBLE, LONG, STRING, Array
from tests.reference import trace_graph
from tests.strategies import Pipeline
from tests.test_random_graphs import check_plan

Tables = dict[str, list[tuple[Any, ...]]]

K, V = Column(1, "k", LONG), Column(2, "v", STRING)
K2, V2 = Column(3, "k2", LONG), Column(4, "v2", STRING)
N, MARK, OUT, OUT2 = (
    Column(5, "n", LONG),
    Column(6, "m", BOOLEAN),
    Column(7, "o", LONG),
    Column(8, "p", STRING),
)
X = Column(9, "x", DOUBLE)
LEFT = Scan(id=0, table="l", occurrence=1, columns=(K, V))
RIGHT = Scan(id=1, table="r", occurrence=1, columns=(K2, V2))
SAME_KEY = call("eq", K, K2)
TABLES: Tables = {
    "l": [(1, "a"), (1, "a"), (2, "a"), (3, None), (None, "a"), (4, "b"), (5, "ab")],
    "r": [(1, "x"), (1, "y"), (2, None), (None, "x"), (3, "a"), (6, "a")],
}


def pipeline(*operators: Operator, tables: Tables = TABLES) -> Pipeline:
    return Pipeline(OperatorGraph(operators, operators[-1].id), tables)


def keep(operator: int, node: int, *columns: Column) -> RowTransform:
    return RowTransform(
        id=node, input=operator, assignments=tuple(Assignment(c, c) for c in columns)
    )


def aggregate(node: int, function: str, argument: Column, *keys: Column) -> GroupBy:
    return GroupBy(
        id=node + 1,
        input=node,
        keys=tuple(Assignment(key, key) for key in keys),
        aggregations=(Aggregation(N, AggregateCall(function, (argument,), argument.type)),),
    )


def levels(operator: int, node: int) -> Expand:
    """Each row with its `v`, and without."""
    detail, total = (K, V, Literal(0, LONG)), (K, Literal(None, STRING), Literal(1, LONG))
    return Expand(id=node, input=operator, projections=(detail, total), columns=(K, OUT2, OUT))


ITEMS = Call("make_array", (V, Literal("x", STRING)), Array(STRING))
SOME = Call("case", (call("gt", K, Literal(2, LONG)), ITEMS, Literal(None, ITEMS.type)), ITEMS.type)
"""NULL for some rows."""
SIDES = {"left": 0, "right": 1, "condition": SAME_KEY}
CORPUS: dict[str, Callable[[], Pipeline]] = {
    "inner join": lambda: pipeline(LEFT, RIGHT, InnerJoin(id=2, **SIDES), keep(2, 3, V)),
    "semi join": lambda: pipeline(LEFT, RIGHT, SemiJoin(id=2, **SIDES), keep(2, 3, V)),
    "anti join": lambda: pipeline(LEFT, RIGHT, AntiJoin(id=2, **SIDES), keep(2, 3, V)),
    "mark join": lambda: pipeline(
        LEFT,
        RIGHT,
        MarkJoin(id=2, **SIDES, mark=MARK),
        Filter(id=3, input=2, condition=call("or", MARK, call("eq", K, Literal(4, LONG)))),
        keep(3, 4, V),
    ),
    "outer join": lambda: pipeline(
        LEFT, RIGHT, OuterJoin(id=2, **SIDES, kind="left"), keep(2, 3, V, V2)
    ),
    "outer join of a join": lambda: pipeline(
        LEFT,
        RIGHT,
        Scan(id=2, table="r", occurrence=2, columns=(OUT, OUT2)),
        InnerJoin(id=3, left=1, right=2, condition=call("lt", K2, OUT)),
        OuterJoin(id=4, left=0, right=3, condition=SAME_KEY, kind="left"),
        keep(4, 5, K),
    ),
    "count": lambda: pipeline(LEFT, aggregate(0, "count", K, V)),
    "max": lambda: pipeline(LEFT, aggregate(0, "max", K, V)),
    "count without its key": lambda: pipeline(LEFT, aggregate(0, "count", K, V), keep(1, 2, N)),
    "scalar subquery": lambda: pipeline(
        LEFT,
        RIGHT,
        GroupBy(
            id=2,
            input=1,
            keys=(),
            aggregations=(Aggregation(N, AggregateCall("count", (V2,), LONG)),),
        ),
        ScalarSubquery(id=3, left=0, right=2, column=OUT),
        Filter(id=4, input=3, condition=call("lt", K, OUT)),
        keep(4, 5, V),
    ),
    "union": lambda: pipeline(
        LEFT,
        RIGHT,
        Union_(id=2, inputs=(0, 1), branches=((K, V), (K2, V2)), columns=(OUT, OUT2)),
        keep(2, 3, OUT2),
    ),
    "intersect": lambda: pipeline(
        keep(0, 2, V),
        keep(1, 3, V2),
        LEFT,
        RIGHT,
        Intersect(id=4, left=2, right=3, branches=((V,), (V2,)), columns=(OUT2,)),
    ),
    "rollup": lambda: pipeline(LEFT, levels(0, 1), aggregate(1, "count", K, OUT2, OUT)),
    "rollup without its level": lambda: pipeline(
        LEFT, levels(0, 1), aggregate(1, "count", K, OUT2, OUT), keep(2, 3, OUT2, N)
    ),
    "explode": lambda: pipeline(
        LEFT,
        RIGHT,
        InnerJoin(id=2, **SIDES),
        Generate(
            id=3,
            input=2,
            rows=Call("make_array", (V, V2), Array(STRING)),
            columns=(OUT2,),
        ),
        keep(3, 4, OUT2),
    ),
    "outer explode": lambda: pipeline(
        LEFT,
        Generate(id=1, input=0, rows=SOME, columns=(OUT2,), outer=True),
        keep(1, 2, OUT2),
    ),
    "unpivot": lambda: pipeline(
        LEFT,
        RIGHT,
        InnerJoin(id=2, **SIDES),
        Expand(id=3, input=2, projections=((V,), (V2,)), columns=(OUT2,)),
    ),
    "correlated": lambda: pipeline(
        LEFT,
        RIGHT,
        Domain(id=2, input=0, assignments=(Assignment(OUT, K),)),
        InnerJoin(id=3, left=2, right=1, condition=call("eq", OUT, K2)),
        InnerJoin(id=4, left=0, right=3, condition=same(OUT, K)),
        keep(4, 5, V, V2),
    ),
    "distinct": lambda: pipeline(LEFT, keep(0, 1, V), Distinct(id=2, input=1)),
    "duplicates": lambda: pipeline(
        LEFT, DropDuplicates(id=1, input=0, keys=(V,)), aggregate(1, "count", K, V)
    ),
    "limit in the middle": lambda: pipeline(LEFT, Limit(id=1, input=0, count=1), keep(1, 2, V)),
    "like": lambda: pipeline(
        LEFT,
        RIGHT,
        InnerJoin(id=2, left=0, right=1, condition=call("like", V, Literal("a%", STRING))),
        keep(2, 3, V2),
    ),
    "null-safe join": lambda: pipeline(
        LEFT, RIGHT, InnerJoin(id=2, left=0, right=1, condition=same(K, K2)), keep(2, 3, K, K2)
    ),
    "filter on NULLs": lambda: pipeline(
        LEFT,
        RIGHT,
        AntiJoin(
            id=2,
            left=0,
            right=1,
            condition=call("or", SAME_KEY, call("is_null", SAME_KEY)),
        ),
        keep(2, 3, K),
    ),
}


def check(name: str, aggregates: str = "minimal") -> None:
    example = CORPUS[name]()
    reference = trace_graph(*example, aggregates, keep_outputs=True)
    check_plan(example, infer(example.graph, aggregates), reference)


def forget_proofs() -> None:
    verify.forget()


@pytest.fixture(autouse=True)
def _fresh_proofs() -> Iterator[None]:
    forget_proofs()
    yield
    forget_proofs()


@pytest.mark.parametrize("aggregates", ["minimal", "whole"])
@pytest.mark.parametrize("name", CORPUS)
def test_unbroken_rules_are_right(name: str, aggregates: str) -> None:
    check(name, aggregates)


def noticed(kind: type[Operator] | None = None) -> Iterator[str]:
    """The pipelines of the corpus (with an operator of a kind) for which the check fails."""
    for name, example in CORPUS.items():
        if kind is None or any(isinstance(op, kind) for op in example().graph.operators()):
            try:
                check(name)
            except AssertionError:
                yield name


def without_lineage(index: int) -> Callable[[Any], Any]:
    """A meaning that forgets the lineage of one input."""

    def break_meaning(meaning: Any) -> Any:
        def broken(operator: Any, tables: Any, encoder: Any, context: Any) -> Any:
            never = z3.BoolVal(False)
            return [
                msgspec.structs.replace(
                    row,
                    lineage=tuple(
                        tuple(never for _ in rows) if i == index else rows
                        for i, rows in enumerate(row.lineage)
                    ),
                )
                for row in meaning(operator, tables, encoder, context)
            ]

        return broken

    return break_meaning


def always_there(meaning: Any) -> Any:
    """A meaning that forgets which rows are in the output."""

    def broken(operator: Any, tables: Any, encoder: Any, context: Any) -> Any:
        rows = meaning(operator, tables, encoder, context)
        return [msgspec.structs.replace(row, exists=z3.BoolVal(True)) for row in rows]

    return broken


MEANINGS = {
    "EXISTS gives no inner rows": (SemiJoin, without_lineage(1), (FALSE,)),
    "a mark gives no inner rows": (MarkJoin, without_lineage(1), (FALSE,)),
    "an outer join gives no inner rows": (OuterJoin, without_lineage(1), (FALSE,)),
    "a scalar subquery gives no inner rows": (ScalarSubquery, without_lineage(1), (FALSE,)),
    "INTERSECT gives nothing of the right": (Intersect, without_lineage(1), (FALSE,)),
    "a union's second branch is forgotten": (Union_, without_lineage(1), (FALSE,)),
    "every limited row is in the output": (Limit, always_there, None),
    "every duplicate is kept": (DropDuplicates, always_there, None),
    "anti joins let every row pass": (AntiJoin, always_there, None),
    "semi joins let every row pass": (SemiJoin, always_there, None),
}


@pytest.mark.parametrize("name", MEANINGS)
def test_a_broken_meaning_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, break_meaning, right = MEANINGS[name]
    rule = RULES[kind]

    def propose(operator: Any, above: Any, context: Any) -> Any:
        proposals = rule.propose(operator, above, context)
        return proposals if right is None else (proposals[0], right)

    broken = msgspec.structs.replace(rule, meaning=break_meaning(rule.meaning), propose=propose)
    monkeypatch.setitem(RULES, kind, broken)
    assert any(noticed(kind))


def one_projection(operator: Any, above: Expr, context: Any) -> Any:
    """What the first projection says, of all rows."""
    values = zip(operator.columns, operator.projections[0], strict=True)
    return ((substitute(above, {column.id: value for column, value in values}),),)


def passed_alone(operator: Any, above: Expr, context: Any) -> Any:
    """What is said of the generated values is forgotten."""
    made = {column.id for column in operator.columns}
    kept = (term for term in conjuncts(above) if column_ids(term).isdisjoint(made))
    return ((conjunction(*kept),),)


def inner_alone(operator: Any, above: Expr, context: Any) -> Any:
    """The rows that an outer generator makes of nothing are forgotten."""
    inner = msgspec.structs.replace(operator, outer=False)
    return through_generate(inner, above, context)


EXPANSIONS = {
    "one projection stands for all": (Expand, one_projection),
    "nothing is expanded": (Expand, lambda operator, above, context: ((FALSE,),)),
    "a domain gives the outer rows of its values": (Domain, on_values),
    "generated values are forgotten": (Generate, passed_alone),
    "rows of nothing are forgotten": (Generate, inner_alone),
}
"""Wrong proposals of rules that are proved once, for all operators."""


@pytest.mark.parametrize("name", EXPANSIONS)
def test_a_wrong_proposal_of_a_general_rule_does_no_harm(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, propose = EXPANSIONS[name]
    monkeypatch.setitem(RULES, kind, msgspec.structs.replace(RULES[kind], propose=propose))
    assert list(noticed(kind)) == []


@pytest.mark.parametrize("name", EXPANSIONS)
def test_it_is_noticed_if_it_is_believed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, propose = EXPANSIONS[name]
    monkeypatch.setitem(RULES, kind, msgspec.structs.replace(RULES[kind], propose=propose))
    monkeypatch.setattr(verify, "_proved_in_general", lambda kind, witnessed: True)
    assert list(noticed(kind))


PROPOSALS = {
    "filters are forgotten": (Filter, lambda above: ((above,),)),
    "nothing passes a filter": (Filter, lambda above: ((FALSE,),)),
    "EXISTS gives no inner rows": (SemiJoin, lambda above: ((above,), (FALSE,))),
    "joins push to neither side": (InnerJoin, lambda above: ((TRUE,), (TRUE,))),
    "an anti join gives all inner rows": (AntiJoin, lambda above: ((above,), (TRUE,))),
    "groups are cut": (GroupBy, lambda above: ((FALSE,),)),
}


@pytest.mark.parametrize("name", PROPOSALS)
def test_a_wrong_proposal_does_no_harm(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, propose = PROPOSALS[name]
    broken = msgspec.structs.replace(
        RULES[kind], propose=lambda operator, above, context: propose(above)
    )
    monkeypatch.setitem(RULES, kind, broken)
    assert list(noticed(kind)) == []


def test_a_verifier_that_always_says_yes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Prover, "prove", lambda self, goal, assumptions: Verdict.PROVED)
    assert {"inner join", "semi join", "limit in the middle", "outer join of a join"} <= set(
        noticed()
    )


def test_a_witness_taken_for_granted_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        verify.SolverQuestion, "contributing", lambda self: (True,) * len(self._tables)
    )
    assert "outer join of a join" in noticed(OuterJoin)


def test_like_taken_for_equality_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    equality = encode._INTERPRETED["eq"]
    mutant = encode._Meaning(lambda values: equality.encode(values[:2]), equality.applies)
    monkeypatch.setitem(encode._INTERPRETED, "like", mutant)
    question = call("like", V, Literal("a%", STRING))
    encoder = encode.Encoder()
    row = {V.id: encoder.fresh(STRING, "v")}
    equal = encoder.truth(call("eq", V, Literal("a%", STRING)), row)
    assert prove(encoder.truth(question, row) == equal, encoder.assumptions) is Verdict.PROVED
    monkeypatch.undo()
    encoder = encode.Encoder()
    row = {V.id: encoder.fresh(STRING, "v")}
    equal = encoder.truth(call("eq", V, Literal("a%", STRING)), row)
    truth = encoder.truth(question, row)
    assert prove(truth == equal, encoder.assumptions) is Verdict.REFUTED


def test_nulls_that_are_never_null_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forgetting NULLs proves that rows with a NULL key join: then the label lies."""
    fresh = encode.Encoder.fresh

    def never_null(self: Any, data_type: Any, name: str, *, nullable: bool = True) -> Any:
        return fresh(self, data_type, name, nullable=False)

    monkeypatch.setattr(encode.Encoder, "fresh", never_null)
    assert any(noticed())
