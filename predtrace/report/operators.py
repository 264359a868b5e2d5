"""One-line labels of operators."""

from __future__ import annotations

from predtrace.report.names import ColumnNames, scan_name
from pushdown.graph import OperatorGraph
from pushdown.operators import (
    Aggregation,
    AntiJoin,
    Assignment,
    Distinct,
    Except,
    Filter,
    GroupBy,
    InnerJoin,
    Intersect,
    Limit,
    MarkJoin,
    OneRow,
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
from symbolic.expr import TRUE, Expr


def describe(operator: Operator, graph: OperatorGraph, names: ColumnNames | None = None) -> str:
    """What an operator does, in one line, e.g. ``group by a: n = count(*)``.

    `names` may be handed in by callers that describe many operators of one graph.
    """
    names = names or ColumnNames(graph)
    match operator:
        case Scan(alias=alias, table=table):
            name = scan_name(operator, graph)
            return f"scan {name} as {alias}" if alias not in (None, table) else f"scan {name}"
        case OneRow():
            return "one row without columns"
        case Filter(condition=condition):
            return f"filter {names.expression(condition)}"
        case RowTransform(assignments=assignments):
            return f"project {_assignments(assignments, names)}"
        case InnerJoin(condition=condition):
            return "cross join" if condition == TRUE else _on("inner join", condition, names)
        case OuterJoin(kind=kind, condition=condition):
            return _on(f"{kind} outer join", condition, names)
        case SemiJoin(condition=condition):
            return _on("semi join", condition, names)
        case AntiJoin(condition=condition):
            return _on("anti join", condition, names)
        case MarkJoin(condition=condition, mark=mark, matches=matches):
            text = _on(f"mark join ({names.name(mark)})", condition, names)
            return text if matches is None else f"{text}, of these {names.expression(matches)}"
        case ScalarSubquery(column=column):
            return f"scalar subquery as {names.name(column)}"
        case GroupBy(keys=keys, aggregations=aggregations):
            by = f"group by {_assignments(keys, names)}" if keys else "aggregate all rows"
            found = ", ".join(_aggregation(item, names) for item in aggregations)
            return f"{by}: {found}" if found else by
        case Distinct():
            return "distinct"
        case Union_(inputs=inputs):
            return f"union all of {len(inputs)}"
        case Intersect(all=every):
            return "intersect all" if every else "intersect"
        case Except(all=every):
            return "except all" if every else "except"
        case Sort(keys=keys):
            return f"sort by {', '.join(_sort_key(key, names) for key in keys)}"
        case Limit(count=count, offset=offset):
            skipped = f" after skipping {offset}" if offset else ""
            return f"limit {'none' if count is None else count}{skipped}"


def _on(kind: str, condition: Expr, names: ColumnNames) -> str:
    return f"{kind} on {names.expression(condition)}"


def _assignments(assignments: tuple[Assignment, ...], names: ColumnNames) -> str:
    return ", ".join(
        names.name(item.column)
        if item.column == item.value
        else f"{names.name(item.column)} = {names.expression(item.value)}"
        for item in assignments
    )


def _aggregation(item: Aggregation, names: ColumnNames) -> str:
    args = ", ".join(map(names.expression, item.call.args)) or "*"
    distinct = "distinct " if item.call.distinct else ""
    text = f"{names.name(item.column)} = {item.call.function}({distinct}{args})"
    if item.call.filter is not None:
        text += f" where {names.expression(item.call.filter)}"
    return text


def _sort_key(key: SortKey, names: ColumnNames) -> str:
    return names.expression(key.value) + ("" if key.ascending else " descending")
