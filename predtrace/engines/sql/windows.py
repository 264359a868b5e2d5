"""Windows as SQL.

Frames are spelled as the query stated them. Keys of floats are normalised, as in grouping: 0.0 and
-0.0 are one key, and peers.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace
from sqlglot import exp

from predtrace.engines.sql.aggregates import over
from predtrace.engines.sql.blocks import Block, Planner, named, read
from predtrace.engines.sql.literals import cast_to, sql_literal
from predtrace.engines.sql.zeros import normalized
from predtrace.errors import EngineError
from pushdown.operators import Bound, Window, WindowFunction
from symbolic.expr import Expr, Literal
from symbolic.functions import WINDOW_ONLY, Reach


def window(plan: Planner, operator: Window) -> Block:
    """The input's rows with the functions' values."""
    block = plan.open(operator.input)
    passed = map(read, plan.graph.output(operator.input))
    computed = (named(_value(plan, each), each.column) for each in operator.functions)
    return replace(block, values=(*passed, *computed), order=())


def _value(plan: Planner, function: WindowFunction) -> exp.Expr:
    call, dialect = function.call, plan.dialect

    def around(value: exp.Expr) -> exp.Expr:
        return _over(plan, function, value)

    if call.function not in WINDOW_ONLY:
        return over(dialect.aggregate(call, plan.compile), around)
    spelling = dialect.windows.get(call.function)
    if spelling is None:
        raise EngineError(f"the {dialect.name} engine cannot compute {call.function}")
    args = [plan.compile(arg) for arg in call.args]
    return cast_to(around(spelling(function, args)), function.column.type, dialect.name)


def _over(plan: Planner, function: WindowFunction, value: exp.Expr) -> exp.Expr:
    order = [
        exp.Ordered(
            this=window_key(plan, key.value), desc=not key.ascending, nulls_first=key.nulls_first
        )
        for key in function.order
    ]
    return exp.Window(
        this=value,
        partition_by=[window_key(plan, key) for key in function.partition],
        order=exp.Order(expressions=order) if order else None,
        spec=_spec(plan, function) if order else None,
    )


def window_key(plan: Planner, key: Expr) -> exp.Expr:
    """A key as windows compare it."""
    return normalized(plan.compile(key), key.type, plan.dialect.name)


def _spec(plan: Planner, function: WindowFunction) -> exp.Expr | None:
    """The frame; functions whose values do not depend on one take none."""
    row = WINDOW_ONLY.get(function.call.function)
    if row is not None and row.reach is not Reach.FRAME:
        return None
    frame = function.frame
    start, start_side = _end(plan, frame.lower, "PRECEDING")
    end, end_side = _end(plan, frame.upper, "FOLLOWING")
    kind = "ROWS" if frame.by_rows or not frame.bounds else "RANGE"
    return exp.WindowSpec(kind=kind, start=start, start_side=start_side, end=end, end_side=end_side)


def _end(plan: Planner, bound: Bound | None, side: str) -> tuple[Any, str | None]:
    if bound is None:
        return "UNBOUNDED", side
    if bound.offset is None:
        return "CURRENT ROW", None
    assert isinstance(bound.offset, Literal)
    distance = bound.offset.value
    size = sql_literal(Literal(abs(distance), bound.offset.type), plan.dialect.name)
    return size, "PRECEDING" if distance < 0 else "FOLLOWING"
