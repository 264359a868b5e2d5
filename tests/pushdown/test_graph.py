"""What is an operator graph: trees under the root, as networkx sees them."""

from __future__ import annotations

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from pushdown.graph import OperatorGraph
from pushdown.operators import OneRow, Operator, Union_

ids = st.integers(0, 5)


@st.composite
def operators(draw: st.DrawFn) -> list[Operator]:
    """Operators with up to three inputs, any ids of one another, some of them missing."""
    found: list[Operator] = []
    for node in draw(st.lists(ids, unique=True, min_size=1)):
        inputs = tuple(draw(st.lists(ids, max_size=3)))
        union = Union_(id=node, inputs=inputs, branches=((),) * len(inputs), columns=())
        found.append(union if inputs else OneRow(id=node))
    return found


def is_tree(nodes: list[Operator], root: int) -> bool:
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(node.id for node in nodes)
    known = set(graph)
    graph.add_edges_from((node.id, child) for node in nodes for child in node.inputs)
    if set(graph) != known or root not in known:
        return False
    return bool(nx.is_arborescence(graph) and graph.in_degree(root) == 0)


@given(operators(), ids)
def test_graphs_are_trees_under_their_root(nodes: list[Operator], root: int) -> None:
    try:
        graph = OperatorGraph(nodes, root)
    except ValueError:
        assert not is_tree(nodes, root)
        return
    assert is_tree(nodes, root)
    assert set(graph.top_down()) == {node.id for node in nodes}
    assert graph.parent(root) is None
    for node in graph.top_down():
        assert all(graph.parent(child) == node for child in graph.inputs(node))
