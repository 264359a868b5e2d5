"""Windows: Catalyst's ``Window`` nodes as a Window of the graph.

The analyzer makes a node of each partitioning and order in a SELECT, one above the other. They are
one operator here, since their order means nothing. A window below numbers the rows, if there are
frames of rows. A projection above drops the columns that lineage alone needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from predtrace.frontends.spark.catalyst import JavaObject, items, origin_of
from predtrace.frontends.spark.translation import Translated, Translation
from predtrace.frontends.spark.tree import Node
from predtrace.frontends.spark.window_functions import Reading, computed, read_functions
from pushdown.operators import (
    AggregateCall,
    Assignment,
    Filter,
    RowTransform,
    Window,
    WindowFunction,
)
from symbolic.expr import Column

WINDOWS = ("Window",)
"""Node classes of windows."""


def window_input(node: Node) -> Node:
    """The plan below the windows of one SELECT."""
    return _nodes(node)[0][-1].children[0]


def _nodes(node: Node) -> tuple[list[Node], list[Node]]:
    """The windows of one SELECT, from the top: none of them reads what another computes.

    Then the filters among them: the optimizer moves filters of partition keys below a window. They
    are moved back, above all windows.
    """
    windows, moved = [node], list[Node]()
    read, keys = _read_ids(node), _partition_ids(node)
    while True:
        below, filters = windows[-1].children[0], list[Node]()
        while below.cls == "Filter" and _moves(below, keys):
            filters.append(below)
            below = below.children[0]
        if below.cls not in WINDOWS or any(each.expr_id in read for each in computed(below)):
            return windows, moved
        moved += filters
        windows.append(below)
        read |= _read_ids(below)
        keys &= _partition_ids(below)


def _moves(node: Node, keys: set[int]) -> bool:
    """Whether a filter reads partition keys alone."""
    parts = (part for root in node.all_expressions() for part in root.walk())
    return _read_ids(node) <= keys and not any(part.is_subquery for part in parts)


def _partition_ids(node: Node) -> set[int]:
    keys = node.expressions("partitionSpec")
    return {key.expr_id for key in keys if key.cls == "AttributeReference"}


def _read_ids(node: Node) -> set[int]:
    parts = (part for root in node.all_expressions() for part in root.walk())
    return {part.expr_id for part in parts if part.cls == "AttributeReference"}


def translate_windows(translation: Translation, node: Node, below: Translated) -> Translated:
    """One Window for the nodes from `node` down to `window_input(node)`.

    Raises UnsupportedOperatorError for an unknown function.
    """
    windows, filters = _nodes(node)
    readings = [read_functions(translation, each, below) for each in windows]
    numbered = _numbered(translation, node, below, readings)
    functions = [each for reading in readings for each in reading.functions]
    operator = Window(
        id=translation.next_node,
        input=numbered,
        functions=(
            *(each for each in functions if not each.silent),
            *(each for each in functions if each.silent),
        ),
        origin=origin_of(node.handle),
    )
    builder = translation.builder

    def build(plans: Sequence[JavaObject]) -> JavaObject:
        plan = plans[0]
        for reading in reversed(readings):
            window = reading.node.handle
            if reading.given:
                plan = builder.windowed(window, reading.given, plan)
            if reading.by_rows and reading.numbering is not None:
                number = reading.numbering.toAttribute()
                plan = builder.windowed(window, reading.by_rows, plan, by=number)
        return plan

    added = translation.add(operator, build, (numbered,))
    shown = _without_added(translation, node, operator, added, below)
    for each in reversed(filters):
        shown = _filtered(translation, each, shown)
    return shown


def _filtered(translation: Translation, node: Node, below: Translated) -> Translated:
    (condition,) = node.all_expressions()
    operator = Filter(
        id=translation.next_node,
        input=below.node,
        condition=translation.reader(below, replaced={}).read(condition),
        origin=origin_of(node.handle),
    )
    added = translation.add(operator, translation.same_node(node), (below.node,))
    return Translated(added, below.output)


def _numbered(
    translation: Translation, node: Node, below: Translated, readings: Sequence[Reading]
) -> int:
    """The input with the numbers of its rows, as far as there are frames of rows."""
    numbering = [reading for reading in readings if reading.number is not None]
    if not numbering:
        return below.node
    operator = Window(
        id=translation.next_node,
        input=below.node,
        functions=tuple(_number(each, each.number) for each in numbering if each.number),
        origin=origin_of(node.handle),
    )
    builder = translation.builder

    def build(plans: Sequence[JavaObject]) -> JavaObject:
        plan = plans[0]
        for reading in reversed(numbering):
            plan = builder.windowed(reading.node.handle, [reading.numbering], plan)
        return plan

    return translation.add(operator, build, (below.node,))


def _number(reading: Reading, column: Column) -> WindowFunction:
    call = AggregateCall("row_number", (), column.type)
    return WindowFunction(column, call, reading.partition, reading.order, silent=True)


def _without_added(
    translation: Translation, node: Node, operator: Window, added: int, below: Translated
) -> Translated:
    """The window's output without the columns that lineage alone needs."""
    shown = {each.column.id for each in operator.functions if not each.silent}
    output = tuple(_shown(translation, below, added, shown))
    if len(output) == len(translation.output_of(added)):
        return Translated(added, output)
    given = list(items(node.handle.output()))
    drop = RowTransform(
        id=translation.next_node,
        input=added,
        assignments=tuple(Assignment(column, column) for _, column in output),
        origin=operator.origin,
    )
    builder = translation.builder
    dropped = translation.add(drop, lambda plans: builder.project(given, plans[0]), (added,))
    return Translated(dropped, output)


def _shown(
    translation: Translation, below: Translated, node: int, shown: set[int]
) -> Iterator[tuple[int, Column]]:
    """The output that the plan above sees: the input's columns, then the functions'."""
    yield from below.output
    for column in translation.output_of(node):
        if column.id in shown:
            yield translation.expr_ids[column.id], column
