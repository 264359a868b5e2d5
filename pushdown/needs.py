"""Which columns of every operator's output the operators above it use; the graph without others."""

from __future__ import annotations

import msgspec

from pushdown import operators as ops
from pushdown.graph import OperatorGraph
from symbolic.expr import column_ids

Ids = frozenset[int]


def needed_columns(graph: OperatorGraph, wanted: Ids | None = None) -> dict[int, Ids]:
    """By operator: the ids of its output columns that matter to the graph's output.

    Of the output's columns only those `wanted` count, if given.
    """
    output = _ids(graph, graph.root)
    needed = {graph.root: output if wanted is None else output & wanted}
    for node in graph.top_down():
        operator = graph[node]
        below = _inputs_need(graph, operator, needed[node])
        for child, ids in zip(graph.inputs(node), below, strict=True):
            needed[child] = ids & _ids(graph, child)
    return needed


def pruned(graph: OperatorGraph, top: int, wanted: Ids) -> OperatorGraph:
    """The subtree under `top` without the columns that its columns `wanted` do not need.

    Its rows are the same, as often, cut down to the columns that are left.
    """
    subtree = OperatorGraph([graph[node] for node in graph.top_down(top)], top)
    needed = needed_columns(subtree, wanted)
    return OperatorGraph([_pruned(subtree[node], needed[node]) for node in needed], top)


def _pruned(operator: ops.Operator, needed: Ids) -> ops.Operator:
    match operator:
        case ops.Scan(columns=columns):
            kept = tuple(column for column in columns if column.id in needed)
            return msgspec.structs.replace(operator, columns=kept)
        case ops.RowTransform(assignments=assignments):
            return msgspec.structs.replace(
                operator, assignments=tuple(a for a in assignments if a.column.id in needed)
            )
        case ops.GroupBy(aggregations=aggregations):
            return msgspec.structs.replace(
                operator, aggregations=tuple(a for a in aggregations if a.column.id in needed)
            )
        case ops.Union_(columns=columns, branches=branches):
            places = [place for place, column in enumerate(columns) if column.id in needed]
            return msgspec.structs.replace(
                operator,
                columns=tuple(columns[place] for place in places),
                branches=tuple(tuple(branch[place] for place in places) for branch in branches),
            )
    return operator


def _ids(graph: OperatorGraph, node: int) -> Ids:
    return frozenset(column.id for column in graph.output(node))


def _inputs_need(graph: OperatorGraph, operator: ops.Operator, needed: Ids) -> tuple[Ids, ...]:
    match operator:
        case ops.Scan() | ops.OneRow():
            return ()
        case ops.Filter(condition=condition):
            return (needed | column_ids(condition),)
        case ops.RowTransform(assignments=assignments):
            return (column_ids(*(a.value for a in assignments if a.column.id in needed)),)
        case ops.InnerJoin() | ops.OuterJoin() | ops.SemiJoin() | ops.AntiJoin() | ops.MarkJoin():
            both = needed | column_ids(*ops.conditions_of(operator).values())
            return (both, both)
        case ops.ScalarSubquery(right=right):
            return (needed, _ids(graph, right))
        case ops.GroupBy():
            return (_group_needs(operator, needed),)
        case ops.Sort(keys=keys):
            return (needed | column_ids(*(key.value for key in keys)),)
        case ops.Limit():
            return (needed,)
        case ops.Union_(branches=branches, columns=columns):
            return tuple(
                frozenset(
                    fed.id
                    for fed, column in zip(branch, columns, strict=True)
                    if column.id in needed
                )
                for branch in branches
            )
        case _:  # comparing whole rows needs all columns
            return tuple(_ids(graph, child) for child in graph.inputs(operator.id))


def _group_needs(operator: ops.GroupBy, needed: Ids) -> Ids:
    ids = column_ids(*(key.value for key in operator.keys))
    for aggregation in operator.aggregations:
        if aggregation.column.id in needed:
            call = aggregation.call
            ids |= column_ids(*call.args, *([call.filter] if call.filter is not None else []))
    return ids
