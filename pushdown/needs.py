"""Which columns of every operator's output the operators above it use; the graph without others."""

from __future__ import annotations

from pushdown.graph import OperatorGraph
from pushdown.operators.base import Ids, ids_of


def needed_columns(graph: OperatorGraph, wanted: Ids | None = None) -> dict[int, Ids]:
    """By operator: the ids of its output columns that matter to the graph's output.

    Of the output's columns only those `wanted` count, if given.
    """
    output = _ids(graph, graph.root)
    needed = {graph.root: output if wanted is None else output & wanted}
    for node in graph.top_down():
        operator = graph[node]
        below = operator.needs(needed[node], *graph.input_columns(node))
        for child, ids in zip(graph.inputs(node), below, strict=True):
            needed[child] = ids & _ids(graph, child)
    return needed


def pruned(graph: OperatorGraph, top: int, wanted: Ids) -> OperatorGraph:
    """The subtree under `top` without the columns that its columns `wanted` do not need.

    Its rows are the same, as often, cut down to the columns that are left.
    """
    subtree = OperatorGraph([graph[node] for node in graph.top_down(top)], top)
    needed = needed_columns(subtree, wanted)
    return OperatorGraph([subtree[node].pruned(needed[node]) for node in needed], top)


def _ids(graph: OperatorGraph, node: int) -> Ids:
    return ids_of(graph.output(node))
