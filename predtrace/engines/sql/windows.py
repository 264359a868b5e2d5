"""Windows as SQL.

Frames are spelled as the query stated them. Keys of floats are normalised, as in grouping: 0.0 and
-0.0 are one key, and peers.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
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
from symbolic.types import DayTimeInterval, YearMonthInterval


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
    if function.taken is None:
        return cast_to(around(spelling(function, args)), function.column.type, dialect.name)
    return _taken(plan, function, lambda value: around(spelling(function, [value, *args[1:2]])))


def _taken(
    plan: Planner, function: WindowFunction, found: Callable[[exp.Expr], exp.Expr]
) -> exp.Expr:
    """What an expression is in the row that gives the value, which `found` finds.

    Where rows are skipped whose argument is NULL, a NULL of the expression must not be: it is
    wrapped in a struct.
    """
    taken, dialect = function.taken, plan.dialect.name
    assert taken is not None
    value = plan.compile(taken)
    if function.ignore_nulls:
        argument = plan.compile(function.call.args[0])
        present = exp.Not(this=exp.Is(this=exp.paren(argument), expression=exp.Null()))
        wrapped = exp.Case(ifs=[exp.If(this=present, true=_struct(value, dialect))])
        value = exp.Dot(this=exp.paren(found(wrapped)), expression=exp.to_identifier(_FIELD))
    else:
        value = found(value)
    return cast_to(value, function.column.type, dialect)


_FIELD = "taken"


def _struct(value: exp.Expr, dialect: str) -> exp.Expr:
    field = exp.PropertyEQ(this=exp.to_identifier(_FIELD), expression=value)
    return exp.Struct(expressions=[field])


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
    assert bound.offset is None or isinstance(bound.offset, Literal)
    # Spark takes rows at distance 0 for the row and its peers; DuckDB takes no frame from
    # 0 FOLLOWING to CURRENT ROW.
    if bound.offset is None or not bound.offset.value:
        return "CURRENT ROW", None
    distance = bound.offset.value
    size = _size(Literal(abs(distance), bound.offset.type), plan.dialect.name)
    return size, "PRECEDING" if distance < 0 else "FOLLOWING"


_DAY = 86_400_000_000
"""Microseconds."""


def _size(size: Literal, dialect: str) -> exp.Expr:
    """A distance; intervals are literals, since Spark takes no expressions here."""
    match size.type:
        case YearMonthInterval():
            return _interval(size.value, "MONTH")
        case DayTimeInterval():
            if size.value % _DAY == 0:
                return _interval(size.value // _DAY, "DAY")
            return _interval(decimal.Decimal(size.value).scaleb(-6), "SECOND")
    return sql_literal(size, dialect)


def _interval(number: int | decimal.Decimal, unit: str) -> exp.Expr:
    text = f"{decimal.Decimal(number):f}"
    return exp.Interval(this=exp.Literal.string(text), unit=exp.Var(this=unit))
