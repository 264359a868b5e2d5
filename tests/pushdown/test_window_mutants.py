"""The rules of windows broken on purpose: answers must differ, or the solver must object."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from predtrace.inference import infer
from pushdown import verify
from pushdown.operators import AggregateCall, Bound, Filter, Frame, SortKey, Window, WindowFunction
from pushdown.operators.windows import PARTITION
from pushdown.rules import around, ordered
from symbolic.expr import FALSE, Expr, Literal, call
from symbolic.logic import all_of, any_of, negate
from symbolic.types import LONG, DataType
from tests.reference import trace_graph
from tests.strategies import Pipeline
from tests.test_mutants import LEFT, OUT, K, N, V, keep, pipeline
from tests.test_random_graphs import check_plan

ROWS = [(1, "a"), (1, "b"), (2, "a"), (3, None), (None, "a"), (4, "b"), (5, "ab"), (None, "b")]
UP_TO_ROW = Frame(None, Bound((K,)))


def window(
    function: str,
    *args: Expr,
    by: tuple[Expr, ...] = (V,),
    order: tuple[SortKey, ...] = (SortKey(K),),
    frame: Frame = PARTITION,
    kind: DataType = LONG,
    **how: Any,
) -> Window:
    made = WindowFunction(OUT, AggregateCall(function, args, kind), by, order, frame, **how)
    return Window(id=1, input=0, functions=(made,))


def over(*operators: Any) -> Pipeline:
    return pipeline(LEFT, *operators, tables={"l": list(ROWS)})


CORPUS: dict[str, Callable[[], Pipeline]] = {
    "rank": lambda: over(window("rank")),
    "rank of all rows": lambda: over(window("dense_rank", by=(), order=(SortKey(V), SortKey(K)))),
    "NULLs last": lambda: over(window("rank", order=(SortKey(K, nulls_first=False),))),
    "running sum": lambda: over(window("sum", K, frame=UP_TO_ROW), keep(1, 2, K, OUT)),
    "running max": lambda: over(window("max", K, frame=UP_TO_ROW)),
    "the first rows": lambda: over(
        window("rank", silent=True),
        Filter(id=2, input=1, condition=call("le", OUT, Literal(1, LONG))),
        keep(2, 3, V),
    ),
}


def check(name: str, aggregates: str = "minimal") -> None:
    example = CORPUS[name]()
    reference = trace_graph(*example, aggregates, keep_outputs=True)
    check_plan(example, infer(example.graph, aggregates), reference)


def noticed() -> set[str]:
    found = set()
    for name in CORPUS:
        try:
            check(name)
        except AssertionError:
            found.add(name)
    return found


@pytest.fixture(autouse=True)
def _fresh_proofs() -> Iterator[None]:
    verify.forget()
    yield
    verify.forget()


@pytest.mark.parametrize("aggregates", ["minimal", "whole"])
@pytest.mark.parametrize("name", CORPUS)
def test_unbroken_rules_are_right(name: str, aggregates: str) -> None:
    assert N != OUT
    check(name, aggregates)


Patch = Callable[[pytest.MonkeyPatch], None]
EARLIER = ordered._earlier


def no_nulls_below(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(around, "_is_null", lambda expr: FALSE)


def no_nulls(patch: pytest.MonkeyPatch) -> None:
    no_nulls_below(patch)

    def earlier(keys: Any, left: Any, right: Any) -> Any:
        known = [negate(value.null) for value in (*left, *right)]
        return all_of(EARLIER(keys, left, right), *known)

    patch.setattr(ordered, "_earlier", earlier)


def upside_down_below(patch: pytest.MonkeyPatch) -> None:
    flipped = {(asc, peers): name for (asc, peers), name in around._COMPARISONS.items()}
    patch.setattr(
        around, "_COMPARISONS", {(asc, peers): flipped[not asc, peers] for asc, peers in flipped}
    )


def upside_down(patch: pytest.MonkeyPatch) -> None:
    upside_down_below(patch)
    patch.setattr(ordered, "_less", lambda low, high: high < low)


def peers_before(patch: pytest.MonkeyPatch) -> None:
    """What is at or before counts as strictly before."""
    ahead = around._ahead
    patch.setattr(around, "_ahead", lambda key, value, *, peers: ahead(key, value, peers=True))

    def earlier(keys: Any, left: Any, right: Any) -> Any:
        return any_of(EARLIER(keys, left, right), ordered._all_equal(left, right))

    patch.setattr(ordered, "_earlier", earlier)


BROKEN: dict[str, tuple[Patch, set[str]]] = {
    "NULLs have no place": (no_nulls, {"rank", "NULLs last"}),
    "the order is upside down": (upside_down, {"rank", "running sum"}),
    "peers are before": (peers_before, {"rank of all rows", "the first rows"}),
}
"""Rules and meaning agree on what is wrong; the pipelines that notice it."""
WRONG_PREDICATES: dict[str, Patch] = {
    "NULLs have no place": no_nulls_below,
    "the order is upside down": upside_down_below,
}
"""Rules and meaning do not agree."""


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_wrong_in_both_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    broken, where = BROKEN[name]
    broken(monkeypatch)
    assert where <= noticed()


@pytest.mark.parametrize("name", WRONG_PREDICATES)
def test_wrong_predicates_do_no_harm(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The solver objects: nothing is missing, and what is added is no precise answer."""
    WRONG_PREDICATES[name](monkeypatch)
    assert not noticed()
