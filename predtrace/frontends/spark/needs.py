"""Which columns of every operator's output the operators above it use."""

from __future__ import annotations

from pushdown import operators as ops
from pushdown.graph import OperatorGraph
from symbolic.expr import column_ids

Ids = frozenset[int]


def needed_columns(graph: OperatorGraph) -> dict[int, Ids]:
    """By operator: the ids of its output columns that matter to the pipeline's output."""
    needed = {graph.root: _ids(graph, graph.root)}
    for node in graph.top_down():
        operator = graph[node]
        wanted = _inputs_need(graph, operator, needed[node])
        for child, ids in zip(graph.inputs(node), wanted, strict=True):
            needed[child] = ids & _ids(graph, child)
    return needed


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
            both = needed | column_ids(operator.condition)
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
