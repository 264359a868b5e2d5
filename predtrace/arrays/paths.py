"""All paths between two arrays: a question follows every path, and the answer is their union.

Arrays and the tables between them are a graph without cycles. The cells reached in an array are the
union of what one hop reaches from each array before it. Hops distribute over unions, so a pass
through the arrays in topological order gives the union over all paths without listing paths (there
may be exponentially many).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import networkx as nx

from predtrace.arrays.answers import Answer, combined
from predtrace.arrays.catalogue import ArrayEntry, LineageEntry
from predtrace.arrays.cells import Cells
from predtrace.arrays.ledger import Ledger
from predtrace.arrays.quality import Quality
from predtrace.arrays.query import Direction
from predtrace.errors import ArrayLineageError
from predtrace.packed.boxes import Shape

Hop = Callable[[str, Cells, Direction], Cells]
"""From cells to the related ones, by the key of a table."""


def follow_all(ledger: Ledger, start: str, end: str, cells: Cells, hop: Hop) -> Answer:
    """The cells of `end` that are related to `cells` of `start` along any path.

    If an array may have unrecorded origins (`ArrayEntry.gap`), the answer is `observed`. Raises
    ArrayLineageError if the arrays came from each other.
    """
    graph = ledger.graph()
    arrays = ledger.catalogue.arrays
    shapes = {array.name: array.shape for array in arrays}
    backward, forward = (_between(graph, *ends) for ends in ((start, end), (end, start)))
    if backward and forward and start != end:
        raise _circular(start, end)
    direction = Direction.backward if backward else Direction.forward
    nodes = backward or forward
    if not nodes:
        gaps = _gaps(arrays, graph, {start, end})
        said = (Quality.PRECISE, "")
        return combined(Cells.nothing(shapes[end]), [said, *gaps])
    ordered = _ordered(graph.subgraph(nodes))
    if direction is Direction.forward:
        ordered.reverse()
    reached, grounds = _spread(graph, ordered, shapes, {start: cells}, direction, hop)
    later = start if direction is Direction.backward else end
    return combined(reached[end], [*grounds, *_gaps(arrays, graph, {later})])


def _between(graph: nx.DiGraph, output: str, input: str) -> set[str]:
    """The arrays on any path from an output back to an input, both included."""
    if output == input:
        return {output}
    if output not in graph or input not in graph:
        return set()
    after: set[str] = nx.descendants(graph, output)
    if input not in after:
        return set()
    before: set[str] = nx.ancestors(graph, input)
    return (after & before) | {output, input}


def _ordered(graph: nx.DiGraph) -> list[str]:
    try:
        return list(nx.topological_sort(graph))
    except nx.NetworkXUnfeasible as error:
        raise _circular(*sorted(graph)[:2]) from error


def _circular(one: str, other: str) -> ArrayLineageError:
    return ArrayLineageError(
        f"{one!r} and {other!r} came from each other, so the direction is not clear; "
        "define a new array for each state"
    )


def _spread(
    graph: nx.DiGraph,
    ordered: list[str],
    shapes: Mapping[str, Shape],
    reached: dict[str, Cells],
    direction: Direction,
    hop: Hop,
) -> tuple[dict[str, Cells], list[tuple[Quality, str]]]:
    """The cells reached in every array, and the labels of the tables that were read."""
    on_the_way, grounds = set(ordered), []
    for here in ordered[1:]:
        parts = []
        for there, entries in _neighbours(graph, here, direction):
            if there in on_the_way and there in reached and len(reached[there]):
                parts += [hop(entry.table, reached[there], direction) for entry in entries]
                grounds += [(entry.quality, entry.reason) for entry in entries]
        reached[here] = Cells.union(shapes[here], parts)
    return reached, grounds


def _neighbours(
    graph: nx.DiGraph, here: str, direction: Direction
) -> Iterator[tuple[str, list[LineageEntry]]]:
    """The arrays that lie one hop before `here` in the direction of the question."""
    backward = direction is Direction.backward
    for there in graph.predecessors(here) if backward else graph.successors(here):
        yield there, graph.edges[(there, here) if backward else (here, there)]["entries"]


def _gaps(
    arrays: Iterable[ArrayEntry], graph: nx.DiGraph, ends: Iterable[str]
) -> Iterator[tuple[Quality, str]]:
    """The gaps of all arrays that these came from: what may be missing.

    A marked array may have come from cells on paths that are not recorded, so even an array that no
    recorded path leads to may be concerned.
    """
    behind = set(ends)
    for end in ends:
        if end in graph:
            behind |= nx.descendants(graph, end)
    for array in arrays:
        if array.gap and array.name in behind:
            yield Quality.OBSERVED, array.gap
