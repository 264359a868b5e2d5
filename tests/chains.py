"""Chains of steps that use the frame before twice each: a tree of them would be of size 2^n."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from pushdown.graph import OperatorGraph
from pushdown.operators import (
    AggregateCall,
    Aggregation,
    AntiJoin,
    Assignment,
    Distinct,
    Except,
    Filter,
    GroupBy,
    InnerJoin,
    Limit,
    MarkJoin,
    Operator,
    OuterJoin,
    RowTransform,
    ScalarSubquery,
    Scan,
    SemiJoin,
    Sort,
    SortKey,
    Union_,
)
from symbolic.expr import Call, Column, Expr, Literal, call
from symbolic.types import BOOLEAN, INTEGER, LONG
from tests.strategies import Pipeline

ROWS = [(1, 5), (1, 5), (1, 1), (2, 2), (2, None), (3, 7), (None, 1), (4, None), (5, 5)]


class Frame(NamedTuple):
    """A node and its two columns."""

    node: int
    key: Column
    value: Column


class Chain:
    """A graph in the making, on one scan."""

    def __init__(self) -> None:
        self.operators: list[Operator] = []
        self._columns = 0
        key, value = self.column("k"), self.column("v")
        scan = self.add(Scan, table="r", occurrence=1, columns=(key, value))
        self.frame = Frame(scan, key, value)

    def column(self, name: str, data_type: Any = INTEGER) -> Column:
        self._columns += 1
        return Column(self._columns, name, data_type)

    def add(self, make: Callable[..., Operator], **fields: Any) -> int:
        self.operators.append(make(id=len(self.operators) + 1, **fields))
        return len(self.operators)

    def projected(self, node: int, key: Expr, value: Expr) -> Frame:
        """A node's rows with new columns."""
        columns = self.column("k"), self.column("v")
        assignments = tuple(map(Assignment, columns, (key, value)))
        return Frame(self.add(RowTransform, input=node, assignments=assignments), *columns)

    def copy(self) -> Frame:
        return self.projected(*self.frame)

    def kept(self, frame: Frame, condition: Expr) -> Frame:
        return frame._replace(node=self.add(Filter, input=frame.node, condition=condition))

    def graph(self) -> OperatorGraph:
        return OperatorGraph(self.operators, self.frame.node)


def _number(value: int) -> Literal:
    return Literal(value, INTEGER)


def _with_total(chain: Chain, step: int) -> Frame:
    """The frame joined with its sums by key."""
    old = chain.frame
    key, total = chain.column("k"), chain.column("total", LONG)
    added = Aggregation(total, AggregateCall("sum", (old.value,), LONG))
    keys = (Assignment(key, old.key),)
    sums = chain.add(GroupBy, input=old.node, keys=keys, aggregations=(added,))
    joined = chain.add(InnerJoin, left=old.node, right=sums, condition=call("eq", old.key, key))
    large = call("gt", total, Literal(step, LONG))
    return chain.projected(joined, old.key, Call("case", (large, old.value, old.key), INTEGER))


def _self_join(chain: Chain, step: int) -> Frame:
    old, other = chain.frame, chain.copy()
    larger = chain.kept(other, call("gt", other.value, _number(step % 3)))
    condition = call("eq", old.key, larger.key)
    joined = chain.add(InnerJoin, left=old.node, right=larger.node, condition=condition)
    return chain.projected(joined, old.key, larger.value)


def _left_join(chain: Chain, step: int) -> Frame:
    old, other = chain.frame, chain.copy()
    condition = call("eq", old.key, other.value)
    joined = chain.add(OuterJoin, left=old.node, right=other.node, kind="left", condition=condition)
    return chain.projected(joined, old.value, other.key)


def _union(chain: Chain, step: int) -> Frame:
    old, other = chain.frame, chain.copy()
    first = chain.kept(old, call("gt", old.value, _number(step)))
    second = chain.kept(other, call("le", other.key, _number(step)))
    columns = chain.column("k"), chain.column("v")
    branches = ((first.key, first.value), (second.key, second.value))
    inputs = (first.node, second.node)
    return Frame(chain.add(Union_, inputs=inputs, branches=branches, columns=columns), *columns)


def _except(chain: Chain, step: int) -> Frame:
    old, other = chain.frame, chain.copy()
    less = chain.kept(other, call("lt", other.value, _number(step)))
    columns = chain.column("k"), chain.column("v")
    node = chain.add(
        Except, left=old.node, right=less.node, all=False, columns=columns,
        branches=((old.key, old.value), (less.key, less.value)),
    )  # fmt: skip
    return Frame(node, *columns)


def _semi(make: Callable[..., Operator], least: int) -> Callable[[Chain, int], Frame]:
    def build(chain: Chain, step: int) -> Frame:
        old, other = chain.frame, chain.copy()
        chosen = chain.kept(other, call("gt", other.value, _number(least + step)))
        condition = call("eq", old.key, chosen.key)
        node = chain.add(make, left=old.node, right=chosen.node, condition=condition)
        return old._replace(node=node)

    return build


def _mark(chain: Chain, step: int) -> Frame:
    old, other = chain.frame, chain.copy()
    mark = Column(chain.column("m").id, "m", BOOLEAN, nullable=False)
    condition = call("lt", old.value, other.value)
    node = chain.add(MarkJoin, left=old.node, right=other.node, condition=condition, mark=mark)
    either = call("or", mark, call("ge", old.key, _number(step)))
    return chain.kept(old._replace(node=node), either)


def _less_greatest(chain: Chain, step: int) -> Frame:
    """What `s - s.max()` is in a program."""
    old, top = chain.frame, chain.column("top")
    greatest = Aggregation(top, AggregateCall("max", (old.value,), INTEGER))
    only = chain.add(GroupBy, input=old.node, keys=(), aggregations=(greatest,))
    column = chain.column("x")
    joined = chain.add(ScalarSubquery, left=old.node, right=only, column=column)
    return chain.projected(joined, old.key, call("subtract", old.value, column, type=INTEGER))


def _top_of_sorted(chain: Chain, step: int) -> Frame:
    """A sorted frame of which the first rows are taken, and others beside them."""
    old = chain.frame
    keys = tuple(
        SortKey(column, ascending=True, nulls_first=True) for column in (old.key, old.value)
    )
    chain.frame = old._replace(node=chain.add(Sort, input=old.node, keys=keys))
    first = chain.add(Limit, input=chain.frame.node, count=3 + step)
    other = chain.copy()
    columns = chain.column("k"), chain.column("v")
    rest = chain.kept(other, call("gt", other.value, _number(step)))
    both = chain.add(
        Union_, inputs=(first, rest.node), columns=columns,
        branches=((old.key, old.value), (rest.key, rest.value)),
    )  # fmt: skip
    return Frame(chain.add(Distinct, input=both), *columns)


STEPS: dict[str, Callable[[Chain, int], Frame]] = {
    "with total": _with_total,
    "self join": _self_join,
    "left join": _left_join,
    "union": _union,
    "except": _except,
    "semi": _semi(SemiJoin, 0),
    "anti": _semi(AntiJoin, 3),
    "mark": _mark,
    "less greatest": _less_greatest,
    "top of sorted": _top_of_sorted,
}


def chain(kinds: Sequence[str], steps: int) -> Pipeline:
    """So many steps, of these kinds in turn."""
    built = Chain()
    for step in range(steps):
        built.frame = STEPS[kinds[step % len(kinds)]](built, step)
    return Pipeline(built.graph(), {"r": ROWS})
