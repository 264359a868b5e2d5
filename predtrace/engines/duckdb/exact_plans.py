"""Which plans DuckDB computes exactly as Spark did: operators and aggregates.

Expressions are judged by `exactness`. Rows are compared by DISTINCT, GROUP BY and set
operations as by ``<=>`` in both engines (NULLs alike, NaNs alike, 0.0 like -0.0), for types
whose values are compared alike at all.

Aggregates that add floating-point numbers depend on the order of the rows, which no two
engines share; decimals and integers are added exactly. Where ANSI mode is on, the job had
no overflow, or it would have failed; then no group that matters has one here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from predtrace.engines.duckdb.aggregates import COUNT_TYPE
from predtrace.engines.duckdb.exactness import comparable, readable, unfaithful
from predtrace.engines.sql.aggregates import sum_type
from predtrace.engines.sql.exact_division import divisible
from predtrace.engines.sql.literals import has_literals
from predtrace.jobs.model import EngineSettings
from pushdown.graph import OperatorGraph
from pushdown.operators import AggregateCall, GroupBy, Operator
from symbolic.expr import Column, Expr, Literal, walk
from symbolic.types import DataType, Decimal, Integer, Null, type_name

_AVERAGED_AS_DOUBLE = 11
"""Up to so many digits Spark's optimizer averages decimals as doubles."""
_INTEGER_SUMMED_SAFELY = 32


def plan_obstacle(graph: OperatorGraph, node: int, settings: EngineSettings) -> str | None:
    """Why DuckDB would not compute the node's rows exactly as Spark did; None if it would.

    Limits are not judged: whether their choice can be repeated depends on the data
    (`limits.limit_ties`).
    """
    for inner in graph.top_down(node):
        operator = graph[inner]
        found = (
            _unreadable(graph.output(inner))
            or unfaithful(list(operator.expressions), settings)
            or _literals(operator.expressions)
            or _compared(operator.compared(*graph.input_columns(inner)))
            or _aggregates(operator, settings)
        )
        if found is not None:
            return f"{type(operator).__name__.rstrip('_')}: {found}"
    return None


def _calls(operator: GroupBy) -> Iterable[AggregateCall]:
    return (aggregation.call for aggregation in operator.aggregations)


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
    """Whether the values that an operator compares are compared alike."""
    odd = next((t for t in types if not (comparable(t) or isinstance(t, Null))), None)
    return None if odd is None else f"{type_name(odd)} values are compared otherwise"


def _aggregates(operator: Operator, settings: EngineSettings) -> str | None:
    if not isinstance(operator, GroupBy):
        return None
    for call in _calls(operator):
        condition = FAITHFUL_AGGREGATES.get(call.function, _unknown)
        found = condition(call, settings) or _repeated(call)
        if found is not None:
            return f"{call.function} is not computed exactly as in Spark: {found}"
    return None


def _repeated(call: AggregateCall) -> str | None:
    """DISTINCT compares the arguments."""
    odd = next((arg.type for arg in call.args if not comparable(arg.type)), None)
    if not call.distinct or odd is None:
        return None
    return f"{type_name(odd)} values are compared otherwise"


AggregateCondition = Callable[[AggregateCall, EngineSettings], "str | None"]


def _always(call: AggregateCall, settings: EngineSettings) -> str | None:
    return None


def _unknown(call: AggregateCall, settings: EngineSettings) -> str | None:
    return UNFAITHFUL_AGGREGATES.get(call.function, "unknown to this engine")


def _ordered(call: AggregateCall, settings: EngineSettings) -> str | None:
    argument = call.args[0].type
    return None if comparable(argument) else f"{type_name(argument)} values are compared otherwise"


def _sum(call: AggregateCall, settings: EngineSettings) -> str | None:
    match call.args[0].type, call.type:
        case Integer(bits), Integer(64):
            # Four thousand million of the largest stay in range.
            exact = settings.ansi or bits <= _INTEGER_SUMMED_SAFELY
            return None if exact else "integers overflow otherwise without ANSI mode"
        case Decimal() as argument, Decimal() as result if result == sum_type(argument):
            return _overflow(argument, settings)
    return f"sums of {type_name(call.args[0].type)} depend on the order of the rows"


def _avg(call: AggregateCall, settings: EngineSettings) -> str | None:
    argument = call.args[0].type
    if not (isinstance(argument, Decimal) and isinstance(call.type, Decimal)):
        return f"means of {type_name(argument)} are floating-point numbers"
    if argument.precision <= _AVERAGED_AS_DOUBLE:
        return f"Spark computes means of {type_name(argument)} as doubles"
    if not divisible(sum_type(argument), COUNT_TYPE, call.type):
        return f"means of {type_name(argument)} have too many digits"
    return _overflow(argument, settings)


def _overflow(argument: Decimal, settings: EngineSettings) -> str | None:
    roomy = settings.ansi or sum_type(argument).precision == argument.precision + 10
    return None if roomy else "decimals overflow otherwise without ANSI mode"


FAITHFUL_AGGREGATES: dict[str, AggregateCondition] = {
    **dict.fromkeys(("count", "count_if", "bool_and", "bool_or"), _always),
    **dict.fromkeys(("min", "max"), _ordered),
    "sum": _sum,
    "try_sum": lambda call, settings: _sum(call, replace(settings, ansi=True)),
    "avg": _avg,
}
"""Aggregate id to the condition under which DuckDB is exact."""

UNFAITHFUL_AGGREGATES: dict[str, str] = dict.fromkeys(
    (
        "stddev_samp", "stddev_pop", "var_samp", "var_pop", "corr", "covar_pop", "covar_samp",
        "median", "percentile",
    ),
    "its floating-point result depends on the order of the rows or on rounding",
)  # fmt: skip
"""Aggregate id to why DuckDB is never asked for it."""
