"""Functions of one ``Window`` node of Catalyst, with the functions that lineage needs beside them.

What says where the lineage of a function is (`WindowFunction.beside`) is computed by further
functions over the same rows. Frames of rows are frames of the rows' numbers, which a window below
gives.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from msgspec.structs import replace

from predtrace.frontends.spark.aggregates import aggregate_call
from predtrace.frontends.spark.catalyst import JavaObject, scala_seq
from predtrace.frontends.spark.expressions import ExpressionReader, refusal
from predtrace.frontends.spark.functions_table import WINDOW
from predtrace.frontends.spark.sort_keys import sort_key
from predtrace.frontends.spark.translation import Translated, Translation
from predtrace.frontends.spark.tree import Node
from pushdown.operators import AggregateCall, Bound, Frame, SortKey, WindowFunction
from pushdown.operators.windows import PARTITION
from symbolic.expr import TRUE, Call, Column, Expr, Literal
from symbolic.functions import WINDOW_ONLY, Draws, Reach
from symbolic.types import (
    DataType,
    Date,
    DayTimeInterval,
    Integer,
    Timestamp,
    YearMonthInterval,
)

_NUMBER = Integer(32)
_OTHER_WAY = {"lag": "lead", "lead": "lag"}


@dataclass
class Reading:
    """One node: its keys and functions, and the expressions for the nodes that it becomes.

    `given` are the expressions over the node's own order, `by_rows` the ones over the order of
    `number`, the column of the rows' numbers. `numbering` is the expression that gives that column.
    """

    translation: Translation
    reader: ExpressionReader
    node: Node
    partition: tuple[Expr, ...]
    order: tuple[SortKey, ...]
    functions: list[WindowFunction] = field(default_factory=list)
    given: list[JavaObject] = field(default_factory=list)
    by_rows: list[JavaObject] = field(default_factory=list)
    number: Column | None = None
    numbering: JavaObject | None = None

    def order_of(self, frame: Frame) -> tuple[SortKey, ...]:
        """The sort keys of functions with this frame."""
        if not frame.by_rows:
            return self.order
        assert self.number is not None
        return (SortKey(self.number),)


def read_functions(translation: Translation, node: Node, below: Translated) -> Reading:
    """The functions of a node; raises UnsupportedOperatorError if one is unknown."""
    reader = translation.reader(below, replaced={})
    reading = Reading(
        translation=translation,
        reader=reader,
        node=node,
        partition=tuple(map(reader.read, node.expressions("partitionSpec"))),
        order=tuple(sort_key(reader, each) for each in node.expressions("orderSpec")),
    )
    for named in computed(node):
        _read(reading, named)
    return reading


def computed(node: Node) -> Iterator[Node]:
    """The functions of a node, by names.

    Columns that it passes on are left out: in a correlated subquery it names the column that is
    compared with the outer row's.
    """
    return (e for e in node.expressions("windowExpressions") if e.cls != "AttributeReference")


def _read(reading: Reading, named: Node) -> None:
    expression = named.children[0] if named.children else named
    if named.cls != "Alias" or expression.cls != "WindowExpression":
        raise refusal(expression)
    function, spec = expression.children
    of_group = function.cls == "AggregateExpression"
    inner = function.children[0] if of_group else function
    ignore_nulls = False
    if inner.cls in WINDOW:
        if len(function.children) > 1 and of_group:
            raise refusal(inner, "with FILTER it is not traced in a window")
        ignore_nulls = bool(inner.fields.get("ignoreNulls"))
        call, nullable = _call(reading.reader, inner), bool(function.handle.nullable())
    elif of_group:
        call = aggregate_call(reading.reader, function, named.expr_id)
        nullable = not call.row.never_null
    else:
        raise refusal(function)
    column = reading.translation.column(named.expr_id, named.name, call.type, nullable)
    frame = PARTITION if _sees_no_frame(call) else _frame(reading, spec)
    made = WindowFunction(
        column=column,
        call=call,
        partition=reading.partition,
        order=reading.order_of(frame),
        frame=frame,
        ignore_nulls=ignore_nulls,
    )
    _keep(reading, frame, _alias(reading, function.handle, spec, frame, named=named))
    reading.functions.append(_with_beside(reading, made, function, spec))


def _sees_no_frame(call: AggregateCall) -> bool:
    row = WINDOW_ONLY.get(call.function)
    return row is not None and row.reach is not Reach.FRAME


def _call(reader: ExpressionReader, function: Node) -> AggregateCall:
    id_ = WINDOW[function.cls]
    args = tuple(reader.read(child) for child in function.children)
    if WINDOW_ONLY[id_].draws in (Draws.BEFORE, Draws.BEFORE_AND_TIES):
        args = ()
    elif id_ in _OTHER_WAY:
        id_, args = _forwards(function, id_, args)
    elif WINDOW_ONLY[id_].draws is Draws.GIVER:
        # The last argument may say again that NULLs are ignored.
        args = args[: 2 if id_ == "nth_value" else 1]
    return AggregateCall(id_, args, reader.asked(function, id_, args).type)


def _forwards(function: Node, id_: str, args: tuple[Expr, ...]) -> tuple[str, tuple[Expr, ...]]:
    """The offset made positive: ``lag(x, -1)`` is ``lead(x, 1)``."""
    value, offset, default = args
    if not isinstance(offset, Literal):
        raise refusal(function, "its offset is no constant")
    if offset.value < 0:
        id_, offset = _OTHER_WAY[id_], replace(offset, value=-offset.value)
    return id_, (value, offset, default)


# -- functions beside others


def _with_beside(
    reading: Reading, made: WindowFunction, function: Node, spec: Node
) -> WindowFunction:
    """The function, with the functions that say where its lineage is added to the node."""
    match made.draws:
        case Draws.BEFORE_AND_TIES:
            return replace(made, beside=(_rank(reading, spec),))
        case Draws.GIVER:
            keys = [order.handle.child() for order in reading.node.expressions("orderSpec")]
            giver = tuple(key.value for key in reading.order)
            there = reading.translation.builder.true()
            found = zip((TRUE, *giver), (there, *keys), strict=True)
            beside = tuple(_taken(reading, made, function, spec, *each) for each in found)
            return replace(made, beside=beside, giver=giver)
    return made


def _rank(reading: Reading, spec: Node) -> Column:
    """The column of `rank()` over the same rows."""
    for each in reading.functions:
        if each.silent and each.call.function == "rank":
            return each.column
    builder = reading.translation.builder
    keys = (order.handle.child() for order in reading.node.expressions("orderSpec"))
    rank = builder.call("Rank", scala_seq(builder.jvm, keys))
    made = AggregateCall("rank", (), _NUMBER)
    column = _add(reading, spec, PARTITION, rank, "rank", made, nullable=False)
    reading.functions.append(
        WindowFunction(column, made, reading.partition, reading.order, silent=True)
    )
    return column


def _taken(
    reading: Reading,
    made: WindowFunction,
    function: Node,
    spec: Node,
    taken: Expr,
    value: JavaObject,
) -> Column:
    """The column of an expression's value in the row that gives a function its value."""
    builder = reading.translation.builder
    call = replace(made.call, type=taken.type, args=made.call.args[:2])
    found = builder.taken(function.handle, value, ignore_nulls=made.ignore_nulls)
    name = f"{made.call.function} of {getattr(taken, 'name', 'row')}"
    column = _add(reading, spec, made.frame, found, name, call, inside=made.ignore_nulls)
    reading.functions.append(
        replace(made, column=column, call=call, taken=taken, silent=True, beside=(), giver=())
    )
    return column


def _add(
    reading: Reading,
    spec: Node,
    frame: Frame,
    function: JavaObject,
    name: str,
    call: AggregateCall,
    *,
    nullable: bool = True,
    inside: bool = False,
) -> Column:
    """Add a function over the same rows as `spec`; returns its column.

    If the value is `inside` a struct, the struct's only field is taken.
    """
    builder = reading.translation.builder
    expr_id = builder.new_id()
    column = reading.translation.column(int(expr_id.id()), name, call.type, nullable)
    _keep(
        reading,
        frame,
        _alias(reading, function, spec, frame, name=name, id_=expr_id, inside=inside),
    )
    return column


def _keep(reading: Reading, frame: Frame, named: JavaObject) -> None:
    (reading.by_rows if frame.by_rows else reading.given).append(named)


def _alias(
    reading: Reading,
    function: JavaObject,
    spec: Node,
    frame: Frame,
    *,
    named: Node | None = None,
    name: str = "",
    id_: JavaObject = None,
    inside: bool = False,
) -> JavaObject:
    """The named expression of a function over the rows of `spec`, or over the rows' numbers."""
    builder = reading.translation.builder
    if named is not None and not frame.by_rows:
        return named.handle
    over = spec.handle
    if frame.by_rows:
        assert reading.numbering is not None
        over = builder.ordered_by(over, reading.numbering.toAttribute())
    expression = builder.call("WindowExpression", function, over)
    if inside:
        expression = builder.only_field(expression)
    if named is not None:
        return builder.alias(expression, named.name, named.handle.exprId())
    return builder.alias(expression, name, id_)


# -- frames


def _frame(reading: Reading, spec: Node) -> Frame:
    frame = spec.children[-1]
    by_rows = frame.fields["frameType"]["object"].endswith("RowFrame$")
    lower, upper = frame.children
    ends = lower.cls == "UnboundedPreceding", upper.cls == "UnboundedFollowing"
    if all(ends):
        return PARTITION
    if by_rows:
        _number(reading)
    return Frame(
        None if ends[0] else _bound(reading, lower, by_rows),
        None if ends[1] else _bound(reading, upper, by_rows),
        by_rows,
    )


def _number(reading: Reading) -> None:
    """Number the rows of each partition, below the window."""
    if reading.number is None:
        builder = reading.translation.builder
        expr_id = builder.new_id()
        name = "row_number"
        column = reading.translation.column(int(expr_id.id()), name, _NUMBER, nullable=False)
        reading.number = column
        reading.numbering = builder.alias(builder.row_number(reading.node.handle), name, expr_id)


def _bound(reading: Reading, node: Node, by_rows: bool) -> Bound:
    """A bound of a frame, with the sort keys there."""
    keys = (SortKey(reading.number),) if by_rows and reading.number else reading.order
    if node.cls == "CurrentRow":
        return Bound(tuple(key.value for key in keys))
    offset = reading.reader.read(node)
    if not isinstance(offset, Literal):
        raise refusal(node)
    (key,) = keys
    kind = key.value.type
    move = "add" if offset.type == kind else _MOVES.get((type(kind), type(offset.type)))
    if move is None:
        return Bound((), offset)
    shift = offset if key.ascending else replace(offset, value=-offset.value)
    moved = Call(move, (key.value, shift), kind, getattr(key.value, "nullable", True))
    return Bound((moved,), offset)


_MOVES: dict[tuple[type[DataType], type[DataType]], str] = {
    (Date, Integer): "date_add",
    (Date, YearMonthInterval): "date_add_interval",
    (Date, DayTimeInterval): "date_add_interval",
    (Timestamp, YearMonthInterval): "timestamp_add_interval",
    (Timestamp, DayTimeInterval): "timestamp_add_interval",
}
"""The function that adds an offset to a sort key of another type."""
