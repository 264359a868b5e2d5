"""The output columns of every operator that the operators above use, and graphs pruned to them."""

from __future__ import annotations

from pushdown.graph import OperatorGraph
from pushdown.operators.base import Ids, ids_of


def needed_columns(graph: OperatorGraph, wanted: Ids | None = None) -> dict[int, Ids]:
    """The ids of the output columns of each operator that matter to the graph's output.

    If `wanted` is given, only these columns of the output count.
    """
    output = _ids(graph, graph.root)
    needed = {graph.root: output if wanted is None else output & wanted}
    for node in graph.top_down():
        operator = graph[node]
        below = operator.needs(needed[node], *graph.input_columns(node))
        for child, ids in zip(graph.inputs(node), below, strict=True):
            needed[child] = needed.get(child, frozenset()) | ids & _ids(graph, child)
    return needed


def pruned(graph: OperatorGraph, top: int, wanted: Ids) -> OperatorGraph:
    """The subtree under `top` without the columns that its columns `wanted` do not need.

    Its rows are the same rows, equally often, with only the remaining columns.
    """
    subtree = OperatorGraph([graph[node] for node in graph.top_down(top)], top)
    needed = needed_columns(subtree, wanted)
    return OperatorGraph([subtree[node].pruned(needed[node]) for node in needed], top)


def _ids(graph: OperatorGraph, node: int) -> Ids:
    return ids_of(graph.output(node))
