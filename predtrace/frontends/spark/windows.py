"""Windows: Catalyst's ``Window`` nodes as a Window of the graph.

The analyzer makes a node of each partitioning and order in a SELECT, one above the other. They are
one operator here, since their order means nothing. Functions that say where the lineage of others
is (`WindowFunction.beside`) are added to the nodes. A projection above drops their columns again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from predtrace.errors import UnsupportedOperatorError
from predtrace.frontends.spark.aggregates import aggregate_call
from predtrace.frontends.spark.catalyst import JavaObject, items, origin_of, place, scala_seq
from predtrace.frontends.spark.expressions import ExpressionReader, refusal
from predtrace.frontends.spark.functions_table import WINDOW
from predtrace.frontends.spark.sort_keys import sort_key
from predtrace.frontends.spark.translation import Translated, Translation
from predtrace.frontends.spark.tree import Node
from pushdown.operators import (
    AggregateCall,
    Assignment,
    Bound,
    Frame,
    RowTransform,
    SortKey,
    Window,
    WindowFunction,
)
from pushdown.operators.windows import PARTITION
from symbolic.expr import Call, Column, Expr, Literal
from symbolic.types import Integer

WINDOWS = ("Window",)
"""Node classes of windows."""
_RANK = Integer(32)
_OF_ONE_ROW = ("First", "Last", "AnyValue")
"""Aggregates that take the value of one row of the frame."""


def window_input(node: Node) -> Node:
    """The plan below the windows of one SELECT."""
    return _nodes(node)[-1].children[0]


def _nodes(node: Node) -> list[Node]:
    """The windows of one SELECT, from the top: none of them reads what another computes."""
    found = [node]
    read = _read_ids(node)
    while (below := found[-1].children[0]).cls in WINDOWS:
        if any(each.expr_id in read for each in below.expressions("windowExpressions")):
            break
        found.append(below)
        read |= _read_ids(below)
    return found


def _read_ids(node: Node) -> set[int]:
    parts = (part for root in node.all_expressions() for part in root.walk())
    return {part.expr_id for part in parts if part.cls == "AttributeReference"}


@dataclass
class _Reading:
    """One node being read: its keys, and the functions that were added to it."""

    translation: Translation
    reader: ExpressionReader
    node: Node
    partition: tuple[Expr, ...]
    order: tuple[SortKey, ...]
    functions: list[WindowFunction] = field(default_factory=list)
    added: list[JavaObject] = field(default_factory=list)

    def function(
        self, column: Column, call: AggregateCall, frame: Frame = PARTITION
    ) -> WindowFunction:
        """A function over the node's keys."""
        return WindowFunction(column, call, self.partition, self.order, frame)


def translate_windows(translation: Translation, node: Node, below: Translated) -> Translated:
    """One Window for the nodes from `node` down to `window_input(node)`.

    Raises UnsupportedOperatorError for an unknown function.
    """
    readings = [_read(translation, each, below) for each in _nodes(node)]
    functions = [each for reading in readings for each in reading.functions]
    operator = Window(
        id=translation.next_node,
        input=below.node,
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
            plan = builder.with_children(reading.node.handle, [plan])
            if reading.added:
                given = items(reading.node.handle.windowExpressions())
                plan = builder.windowed(plan, [*given, *reading.added])
        return plan

    added = translation.add(operator, build, (below.node,))
    return _without_added(translation, node, operator, added, below)


def _read(translation: Translation, node: Node, below: Translated) -> _Reading:
    reader = translation.reader(below, replaced={})
    reading = _Reading(
        translation=translation,
        reader=reader,
        node=node,
        partition=tuple(map(reader.read, node.expressions("partitionSpec"))),
        order=tuple(sort_key(reader, each) for each in node.expressions("orderSpec")),
    )
    for each in node.expressions("windowExpressions"):
        reading.functions.append(_function(reading, each))
    return reading


def _function(reading: _Reading, named: Node) -> WindowFunction:
    """A named expression of the window; raises UnsupportedOperatorError if it is unknown."""
    expression = named.children[0] if named.children else named
    if named.cls != "Alias" or expression.cls != "WindowExpression":
        raise refusal(expression)
    function, spec = expression.children
    frame = PARTITION
    if function.cls == "AggregateExpression":
        if function.children[0].cls in _OF_ONE_ROW:
            raise refusal(function.children[0], "in a window it is not traced yet")
        call = aggregate_call(reading.reader, function, named.expr_id)
        frame = _frame(reading, spec)
        nullable = not call.row.never_null
    elif function.cls in WINDOW:
        call = _call(reading.reader, function)
        nullable = bool(function.handle.nullable())
    else:
        raise refusal(function)
    column = reading.translation.column(named.expr_id, named.name, call.type, nullable)
    made = reading.function(column, call, frame)
    if call.function == "row_number":
        return replace(made, beside=(_rank(reading, spec),))
    return made


def _call(reader: ExpressionReader, function: Node) -> AggregateCall:
    id_ = WINDOW[function.cls]
    args = reader.arguments(function) if function.cls == "NTile" else ()
    return AggregateCall(id_, args, reader.asked(function, id_, args).type)


def _rank(reading: _Reading, spec: Node) -> Column:
    """The column of `rank()` over the same rows, added to the window."""
    for each in reading.functions:
        if each.silent and each.call.function == "rank":
            return each.column
    builder = reading.translation.builder
    keys = (order.handle.child() for order in reading.node.expressions("orderSpec"))
    rank = builder.call("Rank", scala_seq(builder.jvm, keys))
    return _add(reading, spec, rank, AggregateCall("rank", (), _RANK))


def _add(reading: _Reading, spec: Node, function: JavaObject, call: AggregateCall) -> Column:
    """Add a silent function over the same rows as `spec`; returns its column."""
    builder = reading.translation.builder
    expr_id = builder.new_id()
    name = call.function
    column = reading.translation.column(int(expr_id.id()), name, call.type, nullable=False)
    expression = builder.call("WindowExpression", function, spec.handle)
    reading.added.append(builder.alias(expression, name, expr_id))
    reading.functions.append(replace(reading.function(column, call), silent=True))
    return column


# -- frames


def _frame(reading: _Reading, spec: Node) -> Frame:
    frame = spec.children[-1]
    by_rows = frame.fields["frameType"]["object"].endswith("RowFrame$")
    lower, upper = frame.children
    ends = lower.cls == "UnboundedPreceding", upper.cls == "UnboundedFollowing"
    if all(ends):
        return PARTITION
    if by_rows:
        raise UnsupportedOperatorError(
            f"frames of ROWS are not traced yet; use RANGE{place(spec.handle)}"
        )
    return Frame(
        None if ends[0] else _bound(reading, lower), None if ends[1] else _bound(reading, upper)
    )


def _bound(reading: _Reading, node: Node) -> Bound:
    """A bound of a RANGE frame, with the sort keys there."""
    if node.cls == "CurrentRow":
        return Bound(tuple(key.value for key in reading.order))
    offset = reading.reader.read(node)
    if not isinstance(offset, Literal):
        raise refusal(node)
    (key,) = reading.order
    shift = offset if key.ascending else replace(offset, value=-offset.value)
    if offset.type != key.value.type:
        return Bound((), offset)
    moved = Call("add", (key.value, shift), key.value.type, getattr(key.value, "nullable", True))
    return Bound((moved,), offset)


# -- a projection above


def _without_added(
    translation: Translation, node: Node, operator: Window, added: int, below: Translated
) -> Translated:
    """The window's output without the columns of functions that were added."""
    shown = {each.column.id for each in operator.functions if not each.silent}
    output = tuple(_shown(translation, below, added, shown))
    if len(shown) == len(operator.functions):
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
