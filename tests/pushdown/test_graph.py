"""What is an operator graph: what its root reaches without a cycle, as networkx sees it."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pushdown.graph import OperatorGraph
from pushdown.operators import (
    Assignment,
    Filter,
    InnerJoin,
    OneRow,
    Operator,
    RowTransform,
    Scan,
    Union_,
)
from symbolic.expr import TRUE, Column
from symbolic.types import INTEGER

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


def as_networkx(nodes: list[Operator]) -> nx.MultiDiGraph[int]:
    graph: nx.MultiDiGraph[int] = nx.MultiDiGraph()
    graph.add_nodes_from(node.id for node in nodes)
    graph.add_edges_from((node.id, child) for node in nodes for child in node.inputs)
    return graph


def is_dag(nodes: list[Operator], root: int) -> bool:
    graph = as_networkx(nodes)
    if set(graph) != {node.id for node in nodes} or root not in graph:
        return False
    below = {root, *nx.descendants(graph, root)}
    return nx.is_directed_acyclic_graph(graph) and below == set(graph)


@given(operators(), ids)
def test_graphs_are_what_the_root_reaches_without_a_cycle(nodes: list[Operator], root: int) -> None:
    try:
        graph = OperatorGraph(nodes, root)
    except ValueError:
        assert not is_dag(nodes, root)
        return
    assert is_dag(nodes, root)
    known = as_networkx(nodes)
    assert graph.consumers(root) == ()
    for node in graph.top_down():
        below = graph.top_down(node)
        assert sorted(below) == sorted({node, *nx.descendants(known, node)})
        assert all(below.index(a) < below.index(b) for a, b in known.edges if {a, b} <= {*below})
        assert sorted(graph.consumers(node)) == sorted(a for a, _ in known.in_edges(node))
        assert (node in graph.shared) == (known.in_degree(node) > 1)


@given(operators())
def test_trees_are_in_the_order_of_their_text(nodes: list[Operator]) -> None:
    """Left inputs and all below them come before right ones."""

    def preorder(node: int) -> list[int]:
        return [node, *(below for child in graph.inputs(node) for below in preorder(child))]

    for node in nodes:
        if is_dag(nodes, node.id):
            graph = OperatorGraph(nodes, node.id)
            if not graph.shared:
                assert list(graph.top_down()) == preorder(node.id)


def test_two_inputs_share_no_column() -> None:
    column = Column(1, "a", INTEGER)
    scan = Scan(id=1, table="t", occurrence=1, columns=(column,))
    join = InnerJoin(id=3, left=1, right=2, condition=TRUE)
    kept = Filter(id=2, input=1, condition=TRUE)
    with pytest.raises(ValueError, match="column in common"):
        OperatorGraph([scan, kept, join], 3)
    copied = (Assignment(Column(2, "a", INTEGER), column),)
    renamed = RowTransform(id=2, input=1, assignments=copied)
    assert OperatorGraph([scan, renamed, join], 3).shared == {1}


def test_a_chain_that_uses_every_frame_twice_is_walked_once() -> None:
    chain: list[Operator] = [OneRow(id=0)]
    chain += [
        Union_(id=node, inputs=(node - 1, node - 1), branches=((), ()), columns=())
        for node in range(1, 3000)
    ]
    graph = OperatorGraph(chain, 2999)
    assert graph.top_down() == tuple(range(2999, -1, -1))
