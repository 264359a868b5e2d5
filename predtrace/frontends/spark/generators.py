"""Generators (``explode`` and its like): their rows as an array, where an expression has them.

A generator with a row in `GENERATORS` is read as an array of the rows that it makes. Every other
deterministic one is opaque: known by Spark's name for it, and by its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from predtrace.frontends.spark.catalyst import origin_of
from predtrace.frontends.spark.collations import value_type
from predtrace.frontends.spark.expressions import ExpressionReader, refusal
from predtrace.frontends.spark.pass_through import finish
from predtrace.frontends.spark.registry import translates
from predtrace.frontends.spark.table_functions import TABLE_FUNCTION, table_function
from predtrace.frontends.spark.translation import Prepared, Translated, Translation
from predtrace.frontends.spark.tree import Node
from predtrace.jobs.checks import function_problem
from pushdown import operators as ops
from symbolic import types as t
from symbolic.expr import Call, Column, Expr, Lambda, Literal, Variable
from symbolic.functions import Carried


class Made(NamedTuple):
    """The rows that a generator makes: see the fields of `pushdown.operators.Generate`."""

    rows: Expr
    fields: tuple[str, ...] = ()
    opaque: bool = False


def _explode(args: Sequence[Expr], columns: Sequence[Column]) -> Made:
    """The elements of an array, or the entries of a map."""
    (given,) = args
    if isinstance(given.type, t.Map):
        return Made(_entries(given), (_KEY, _VALUE))
    return Made(given)


def _entries(given: Expr) -> Expr:
    assert isinstance(given.type, t.Map)
    fields = (t.Field(_KEY, given.type.key), t.Field(_VALUE, given.type.value))
    return Call("map_entries", (given,), t.Array(t.Record(fields)))


def _with_places(args: Sequence[Expr], columns: Sequence[Column]) -> Made:
    """The same with their positions, from 0."""
    made = _explode(args, columns)
    assert isinstance(made.rows.type, t.Array)
    item = Variable(0, "item", made.rows.type.element)
    place = Variable(1, "place", t.INTEGER, nullable=False)
    values: list[Expr] = [_field(item, name) for name in made.fields]
    return _of_structs(made.rows, (item, place), (place, *(values or [item])))


def _of_structs(array: Expr, parameters: tuple[Variable, ...], values: Sequence[Expr]) -> Made:
    made = _struct(values)
    rows = Call("transform", (array, Lambda(parameters, made)), t.Array(made.type))
    return Made(rows, _numbers(values))


def _inline(args: Sequence[Expr], columns: Sequence[Column]) -> Made:
    """The fields of the structs in an array."""
    (given,) = args
    assert isinstance(given.type, t.Array)
    assert isinstance(given.type.element, t.Record)
    return Made(given, tuple(field.name for field in given.type.element.fields))


def _stack(args: Sequence[Expr], columns: Sequence[Column]) -> Made:
    """As many rows as the first argument says, of the others in their order; the rest is NULL."""
    count, *values = args
    assert isinstance(count, Literal)
    width = len(columns)
    rest = [Literal(None, t.NULL)] * (int(count.value) * width - len(values))
    cells = [*values, *rest]
    rows = [
        _struct(
            [
                Literal(None, column.type) if isinstance(cell.type, t.Null) else cell
                for cell, column in zip(cells[start : start + width], columns, strict=True)
            ]
        )
        for start in range(0, len(cells), width)
    ]
    return Made(Call("make_array", tuple(rows), t.Array(rows[0].type)), _numbers(columns))


def _struct(values: Sequence[Expr]) -> Call:
    names = zip(_numbers(values), values, strict=True)
    record = t.Record(tuple(t.Field(name, value.type) for name, value in names))
    return Call("make_struct", tuple(values), record, nullable=False)


def _numbers(values: Sequence[object]) -> tuple[str, ...]:
    return tuple(f"c{place}" for place in range(len(values)))


def _field(value: Expr, name: str) -> Call:
    assert isinstance(value.type, t.Record)
    kind = next(field.type for field in value.type.fields if field.name == name)
    return Call("get_field", (value, Literal(name, t.STRING)), kind)


_KEY, _VALUE = "key", "value"
GENERATORS: dict[str, Callable[[Sequence[Expr], Sequence[Column]], Made]] = {
    "Explode": _explode,
    "PosExplode": _with_places,
    "Inline": _inline,
    "Stack": _stack,
}
"""Catalyst class of a generator: its rows, of its arguments and columns."""


@translates("Generate", to="Generate, Opaque", keeps_columns=True)
def _generate(translation: Translation, prepared: Prepared) -> Translated:
    (below,) = prepared.inputs
    node, generator = prepared.node, prepared.one("generator")
    assert generator is not None
    if generator.cls == TABLE_FUNCTION:
        return table_function(translation, prepared, generator)
    reader = translation.reader(below, replaced=prepared.replaced)
    attributes = prepared.many("generatorOutput")
    columns = tuple(
        translation.column(one.expr_id, one.name, value_type(one, one.fields["dataType"]))
        for one in attributes
    )
    made = _rows(reader, generator, columns)
    operator = ops.Generate(
        id=translation.next_node,
        input=below.node,
        rows=made.rows,
        columns=columns,
        fields=made.fields,
        outer=bool(node.fields["outer"]),
        opaque=made.opaque,
        origin=origin_of(node.handle),
    )
    added = zip((one.expr_id for one in attributes), columns, strict=True)
    return finish(translation, prepared, operator, (below,), tuple(added))


def _rows(reader: ExpressionReader, generator: Node, columns: Sequence[Column]) -> Made:
    args = reader.arguments(generator)
    if generator.cls in GENERATORS:
        made = GENERATORS[generator.cls](args, columns)
        if len({name.casefold() for name in made.fields}) == len(made.fields):
            return made
    if not generator.handle.deterministic():
        raise refusal(generator)
    function = Carried(str(generator.handle.prettyName()), generator.cls)
    if function_problem(function.id) is not None:
        raise refusal(generator)
    names = _numbers(columns)
    fields = zip(names, columns, strict=True)
    record = t.Record(tuple(t.Field(name, column.type) for name, column in fields))
    return Made(Call(function.id, args, t.Array(record)), names, opaque=True)
