"""One-line labels of operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from predtrace.report.names import ColumnNames, scan_name
from pushdown.graph import OperatorGraph
from pushdown.operators import (
    Aggregation,
    AntiJoin,
    Assignment,
    Bound,
    Distinct,
    Domain,
    DropDuplicates,
    Except,
    Expand,
    Filter,
    Generate,
    GroupBy,
    InnerJoin,
    Intersect,
    Limit,
    MarkJoin,
    OneRow,
    Opaque,
    OpaqueColumns,
    Operator,
    OperatorBase,
    OuterJoin,
    RowTransform,
    Sample,
    ScalarSubquery,
    Scan,
    SemiJoin,
    Sort,
    SortKey,
    Union_,
    Window,
    WindowFunction,
)
from symbolic.expr import TRUE, Expr, render
from symbolic.functions import WINDOW_ONLY, shown

Labeller = Callable[[Any, ColumnNames, OperatorGraph], str]


def describe(operator: Operator, graph: OperatorGraph, names: ColumnNames | None = None) -> str:
    """A line that says what an operator does, e.g. ``group by a: n = count(*)``.

    Callers that describe many operators of one graph may pass `names`.
    """
    return LABELS[type(operator)](operator, names or ColumnNames(graph), graph)


def _scan(operator: Scan, names: ColumnNames, graph: OperatorGraph) -> str:
    name = scan_name(operator, graph)
    named = operator.alias not in (None, operator.table)
    return f"scan {name} as {operator.alias}" if named else f"scan {name}"


def _filter(operator: Filter, names: ColumnNames, graph: OperatorGraph) -> str:
    return f"filter {names.expression(operator.condition)}"


def _project(operator: RowTransform, names: ColumnNames, graph: OperatorGraph) -> str:
    return f"project {_assignments(operator.assignments, names)}"


def _sort(operator: Sort, names: ColumnNames, graph: OperatorGraph) -> str:
    return f"sort by {', '.join(_sort_key(key, names) for key in operator.keys)}"


def _limit(operator: Limit, names: ColumnNames, graph: OperatorGraph) -> str:
    skipped = f" after skipping {operator.offset}" if operator.offset else ""
    return f"limit {'none' if operator.count is None else operator.count}{skipped}"


def _sample(operator: Sample, names: ColumnNames, graph: OperatorGraph) -> str:
    share = f"{100 * operator.lower:g} % to {100 * operator.upper:g} %"
    again = " with replacement" if operator.with_replacement else ""
    return f"sample {share}{again}" + ("" if operator.seed is None else f", seed {operator.seed}")


def _domain(operator: Domain, names: ColumnNames, graph: OperatorGraph) -> str:
    return f"outer values {_assignments(operator.assignments, names)}"


def _drop_duplicates(operator: DropDuplicates, names: ColumnNames, graph: OperatorGraph) -> str:
    keys = ", ".join(names.name(key) for key in operator.keys)
    return f"one row for each {keys}" if keys else "one row of all"


def _inner_join(operator: InnerJoin, names: ColumnNames, graph: OperatorGraph) -> str:
    crossed = operator.condition == TRUE
    return "cross join" if crossed else _on("inner join", operator.condition, names)


def _outer_join(operator: OuterJoin, names: ColumnNames, graph: OperatorGraph) -> str:
    return _on(f"{operator.kind} outer join", operator.condition, names)


def _mark_join(operator: MarkJoin, names: ColumnNames, graph: OperatorGraph) -> str:
    text = _on(f"mark join ({names.name(operator.mark)})", operator.condition, names)
    if operator.matches is None:
        return text
    return f"{text}, of these {names.expression(operator.matches)}"


def _scalar_subquery(operator: ScalarSubquery, names: ColumnNames, graph: OperatorGraph) -> str:
    return f"scalar subquery as {names.name(operator.column)}"


def _group_by(operator: GroupBy, names: ColumnNames, graph: OperatorGraph) -> str:
    keys = operator.keys
    by = f"group by {_assignments(keys, names)}" if keys else "aggregate all rows"
    found = ", ".join(_aggregation(item, names) for item in operator.aggregations)
    return f"{by}: {found}" if found else by


def _expand(operator: Expand, names: ColumnNames, graph: OperatorGraph) -> str:
    rows = (", ".join(map(names.expression, values)) for values in _differing(operator))
    columns = ", ".join(names.name(operator.columns[place]) for place in _changing(operator))
    return f"expand {columns or 'each row'} to {'; '.join(f'({row})' for row in rows)}"


def _generate(operator: Generate, names: ColumnNames, graph: OperatorGraph) -> str:
    columns = ", ".join(map(names.name, operator.columns))
    outer = "outer " if operator.outer else ""
    return f"{outer}rows of {names.expression(operator.rows)} as {columns or 'nothing'}"


def _differing(operator: Expand) -> list[tuple[Expr, ...]]:
    """The values of each projection that are not those of all."""
    changing = _changing(operator)
    return [tuple(values[place] for place in changing) for values in operator.projections]


def _changing(operator: Expand) -> list[int]:
    places = range(len(operator.columns))
    return [place for place in places if len(set(operator.values(place))) > 1]


def _window(operator: Window, names: ColumnNames, graph: OperatorGraph) -> str:
    return f"window: {', '.join(_windowed(each, names) for each in operator.functions)}"


def _opaque_columns(operator: OpaqueColumns, names: ColumnNames, graph: OperatorGraph) -> str:
    made = ", ".join(f"{names.name(each.column)} = {each.text}" for each in operator.made)
    return f"as the run gave it: {made}"


LABELS: dict[type[OperatorBase], Labeller] = {
    Scan: _scan,
    OneRow: lambda operator, names, graph: "one row without columns",
    Filter: _filter,
    RowTransform: _project,
    Distinct: lambda operator, names, graph: "distinct",
    Domain: _domain,
    DropDuplicates: _drop_duplicates,
    Expand: _expand,
    Generate: _generate,
    Sort: _sort,
    Limit: _limit,
    Sample: _sample,
    Opaque: lambda operator, names, graph: operator.name,
    OpaqueColumns: _opaque_columns,
    InnerJoin: _inner_join,
    OuterJoin: _outer_join,
    SemiJoin: lambda operator, names, graph: _on("semi join", operator.condition, names),
    AntiJoin: lambda operator, names, graph: _on("anti join", operator.condition, names),
    MarkJoin: _mark_join,
    ScalarSubquery: _scalar_subquery,
    GroupBy: _group_by,
    Window: _window,
    Union_: lambda operator, names, graph: f"union all of {len(operator.inputs)}",
    Intersect: lambda operator, names, graph: "intersect all" if operator.all else "intersect",
    Except: lambda operator, names, graph: "except all" if operator.all else "except",
}
"""Operator class: the builder of its line."""


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
    text = f"{names.name(item.column)} = {shown(item.call.function)}({distinct}{args})"
    if item.call.filter is not None:
        text += f" where {names.expression(item.call.filter)}"
    return text


def _windowed(function: WindowFunction, names: ColumnNames) -> str:
    text = _aggregation(Aggregation(function.column, function.call), names)
    if not function.call.args and function.call.function in WINDOW_ONLY:
        text = text.replace("(*)", "()")
    if function.ignore_nulls:
        text += " ignoring NULLs"
    if function.taken is not None:
        text += f" taking {names.expression(function.taken)}"
    if function.partition:
        text += f" by {', '.join(map(names.expression, function.partition))}"
    if function.order:
        text += f" in order of {', '.join(_sort_key(key, names) for key in function.order)}"
    ends = [_end(function.frame.lower, "first"), _end(function.frame.upper, "last")]
    return text if ends == ["first", "last"] else f"{text} from {ends[0]} to {ends[1]} row"


def _end(bound: Bound | None, unbounded: str) -> str:
    if bound is None:
        return unbounded
    return "current" if bound.offset is None else render(bound.offset)


def _sort_key(key: SortKey, names: ColumnNames) -> str:
    return names.expression(key.value) + ("" if key.ascending else " descending")
