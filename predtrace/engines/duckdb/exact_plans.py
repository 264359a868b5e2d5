"""The plans that DuckDB computes exactly as Spark did: their operators and aggregates.

The table in `functions` decides about functions, the table in `aggregates` about aggregates.
DISTINCT, GROUP BY and set operations compare rows as by ``<=>`` in both engines (NULLs are equal,
NaNs are equal, 0.0 equals -0.0), for types whose values both engines compare in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from predtrace.engines.duckdb.aggregates import DUCKDB_AGGREGATES
from predtrace.engines.duckdb.exact_types import compared_alike, readable
from predtrace.engines.duckdb.functions import inexactness
from predtrace.engines.duckdb.windows import DUCKDB_WINDOWS
from predtrace.engines.sql.functions import call_inexactness
from predtrace.engines.sql.literals import has_literals
from predtrace.jobs.model import EngineSettings
from pushdown.graph import OperatorGraph
from pushdown.operators import AggregateCall, GroupBy, Operator, Window
from symbolic.expr import Column, Expr, Literal, walk
from symbolic.functions import WINDOW_ONLY, key_of, shown
from symbolic.types import DataType, Integer, Null, type_name


def plan_inexactness(graph: OperatorGraph, node: int, settings: EngineSettings) -> str | None:
    """The reason why DuckDB would not compute the node's rows exactly as Spark did, or None.

    Limits are not judged: whether their choice can be repeated depends on the data
    (`limits.choices`).
    """
    for inner in graph.top_down(node):
        operator = graph[inner]
        found = (
            _unreadable(graph.output(inner))
            or inexactness(list(operator.expressions), settings)
            or _literals(operator.expressions)
            or _compared(operator.compared(*graph.input_columns(inner)))
            or _aggregates(operator, settings)
            or _windowed(operator, settings)
        )
        if found is not None:
            return f"{type(operator).__name__.rstrip('_')}: {found}"
    return None


def _calls(operator: Operator) -> Iterable[AggregateCall]:
    match operator:
        case GroupBy(aggregations=made) | Window(functions=made):
            return (each.call for each in made if each.call.function not in WINDOW_ONLY)
    return ()


def _unreadable(columns: Sequence[Column]) -> str | None:
    for column in columns:
        if not readable(column.type):
            return f"the column {column.name} is of type {type_name(column.type)}"
    return None


def _literals(exprs: Iterable[Expr]) -> str | None:
    for expr in exprs:
        for part in walk(expr):
            if isinstance(part, Literal) and not has_literals(part.type):
                return f"there are no constants of type {type_name(part.type)}"
    return None


def _compared(types: Sequence[DataType]) -> str | None:
    """Judge the values that an operator compares: the engines must compare them in the same way."""
    odd = next((t for t in types if not (compared_alike(t) or isinstance(t, Null))), None)
    return None if odd is None else f"{type_name(odd)} values are compared otherwise"


def _aggregates(operator: Operator, settings: EngineSettings) -> str | None:
    for call in _calls(operator):
        row = DUCKDB_AGGREGATES.get(key_of(call.function))
        found = call_inexactness(row, call, settings) or _repeated(call)
        if found is not None:
            return f"{shown(call.function)} is not computed exactly as in Spark: {found}"
    return None


def _windowed(operator: Operator, settings: EngineSettings) -> str | None:
    """Judge the functions that only windows have, and the bounds of frames."""
    for each in operator.functions if isinstance(operator, Window) else ():
        if each.call.function in WINDOW_ONLY:
            row = DUCKDB_WINDOWS.get(each.call.function)
            found = call_inexactness(row, each, settings)
            if found is not None:
                return f"{each.call.function} is not computed exactly as in Spark: {found}"
        offsets = [bound.offset for bound in each.frame.bounds if bound.offset is not None]
        if each.frame.by_rows or not offsets:
            continue
        moved = [*offsets, *(key.value for key in each.order)]
        if not (settings.ansi and all(isinstance(value.type, Integer) for value in moved)):
            return "bounds of RANGE frames are exact for integers in ANSI mode alone"
    return None


def _repeated(call: AggregateCall) -> str | None:
    """Judge DISTINCT, which compares the arguments."""
    odd = next((arg.type for arg in call.args if not compared_alike(arg.type)), None)
    if not call.distinct or odd is None:
        return None
    return f"{type_name(odd)} values are compared otherwise"
