"""Functions of arrays and structs in DuckDB: how they are spelled, and where that is exact."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace
from sqlglot import exp

from predtrace.engines.duckdb.exact_types import compared_alike
from predtrace.engines.sql.compiler import literal_argument, named
from predtrace.engines.sql.functions import Exactness
from predtrace.engines.sql.literals import number, sql_type, text_literal
from predtrace.engines.sql.predicates import may_be_null
from predtrace.jobs.model import EngineSettings
from predtrace.jobs.settings import THREE_VALUED
from symbolic.expr import Call, Lambda, Literal, conjuncts
from symbolic.types import Array, Float, Record, type_name

if TYPE_CHECKING:
    from predtrace.engines.sql.compiler import Args


def array_exists(call: Call, args: Args) -> exp.Expr:
    """Whether a test is true of an element; NULL if it is of none, and NULL of some."""
    array, test = args
    found = exp.GT(this=_kept(array, test), expression=number(0))
    if not _may_be_null(call):
        return exp.paren(found, copy=False)
    unknown = test.copy()
    unknown.set("this", exp.Is(this=exp.paren(unknown.this, copy=False), expression=exp.Null()))
    open_ = exp.GT(this=_kept(array.copy(), unknown), expression=number(0))
    branches = [
        exp.If(this=found, true=exp.true()),
        exp.If(this=exp.Is(this=array.copy(), expression=exp.Null()), true=exp.Null()),
        exp.If(this=open_, true=exp.Null()),
    ]
    return exp.paren(exp.Case(ifs=branches, default=exp.false()), copy=False)


def _may_be_null(call: Call) -> bool:
    """Whether a test may be NULL of an element."""
    test = call.args[1]
    assert isinstance(test, Lambda)
    return any(map(may_be_null, conjuncts(test.body)))


def _kept(array: exp.Expr, test: exp.Expr) -> exp.Expr:
    return named("len", named("list_filter", array, test))


def transform(call: Call, args: Args) -> exp.Expr:
    """A function of each element; of its position, too, which DuckDB counts from 1."""
    array, function = args
    given = call.args[1]
    if isinstance(given, Lambda) and len(given.parameters) > 1:
        name = function.expressions[1].name
        place = exp.Sub(this=exp.column(name), expression=number(1))
        counted = exp.Cast(this=place, to=sql_type(given.parameters[1].type, "duckdb"))

        def shifted(node: exp.Expr) -> exp.Expr:
            is_place = isinstance(node, exp.Column) and node.name == name and not node.table
            return counted.copy() if is_place else node

        function = function.copy()
        function.set("this", function.this.transform(shifted))
    return named("list_transform", array, function)


def struct(call: Call, args: Args) -> exp.Expr:
    """A struct with the field names of the call's type."""
    assert isinstance(call.type, Record)
    fields = zip(call.type.fields, args, strict=True)
    return exp.Struct(
        expressions=[
            exp.PropertyEQ(this=exp.Identifier(this=field.name, quoted=True), expression=value)
            for field, value in fields
        ]
    )


def size(call: Call, args: Args) -> exp.Expr:
    """The number of elements."""
    return exp.Cast(this=named("len", *args), to=sql_type(call.type, "duckdb"))


def item(call: Call, args: Args) -> exp.Expr:
    """The element at a place counted from 0; NULL where there is none."""
    array, place = args
    after = exp.Add(
        this=exp.Cast(this=place, to=exp.DataType.build("BIGINT")), expression=number(1)
    )
    found = named("list_extract", array, exp.paren(after, copy=False))
    within = exp.GTE(this=place.copy(), expression=number(0))
    return exp.Case(ifs=[exp.If(this=within, true=found)])


def contains(call: Call, args: Args) -> exp.Expr:
    """Whether a value is an element; NULL if it is none, and NULL is one."""
    array, value = args
    some_null = exp.GT(this=named("len", array), expression=named("list_count", array.copy()))
    branches = [
        exp.If(this=exp.Is(this=exp.paren(value), expression=exp.Null()), true=exp.Null()),
        exp.If(this=named("list_contains", array.copy(), value.copy()), true=exp.true()),
        exp.If(this=some_null, true=exp.Null()),
        exp.If(this=exp.Is(this=exp.paren(array), expression=exp.Null()), true=exp.Null()),
    ]
    return exp.paren(exp.Case(ifs=branches, default=exp.false()), copy=False)


def position(call: Call, args: Args) -> exp.Expr:
    """The place of a value, counted from 1; 0 if it is no element."""
    found = named("coalesce", named("list_position", *args), number(0))
    present = [exp.Not(this=exp.Is(this=exp.paren(a), expression=exp.Null())) for a in args]
    whole = exp.Case(ifs=[exp.If(this=exp.and_(*present), true=found)])
    return exp.Cast(this=whole, to=sql_type(call.type, "duckdb"))


def sorted_(call: Call, args: Args) -> exp.Expr:
    """The elements in order: NULLs first, and last in descending order."""
    ascending = len(args) < 2 or literal_argument(call, 1)
    order = ("ASC", "NULLS FIRST") if ascending else ("DESC", "NULLS LAST")
    return named("list_sort", args[0], *map(text_literal, order))


def distinct(call: Call, args: Args) -> exp.Expr:
    """Each element at its first place."""
    element, place = (exp.to_identifier(name) for name in ("element", "place"))
    first = named("list_position", args[0].copy(), exp.column("element"))
    test = exp.EQ(this=first, expression=exp.column("place"))
    return named("list_filter", args[0], exp.Lambda(this=test, expressions=[element, place]))


def _one_type(call: Call, settings: EngineSettings) -> str | None:
    assert isinstance(call.type, Array)
    alike = call.args and all(arg.type == call.type.element for arg in call.args)
    return None if alike else "its elements differ in type"


def _of_array(call: Call, settings: EngineSettings) -> str | None:
    return None if isinstance(call.args[0].type, Array) else "it is exact on arrays only"


def _compared(call: Call, settings: EngineSettings) -> str | None:
    array = call.args[0].type
    assert isinstance(array, Array)
    values = [arg.type for arg in call.args[1:]]
    if isinstance(array.element, Float) or not compared_alike(array.element):
        return f"{type_name(array.element)} values are compared otherwise"
    return None if all(v == array.element for v in values) else "the value is of another type"


def _sorted(call: Call, settings: EngineSettings) -> str | None:
    constant = all(isinstance(arg, Literal) for arg in call.args[1:])
    if not constant:
        return "the direction is not constant"
    return _compared(replace(call, args=call.args[:1]), settings)


def _one_parameter(call: Call, settings: EngineSettings) -> str | None:
    test = call.args[1]
    one = isinstance(test, Lambda) and len(test.parameters) == 1
    return None if one else "it is exact on the element alone"


def _three_valued(call: Call, settings: EngineSettings) -> str | None:
    two_valued = settings.conf.get(THREE_VALUED) == "false"
    return f"{THREE_VALUED} is false" if two_valued and _may_be_null(call) else None


def _names_apart(call: Call, settings: EngineSettings) -> str | None:
    record = call.args[0].type if call.function == "get_field" else call.type
    assert isinstance(record, Record)
    names = {field.name.casefold() for field in record.fields}
    return None if len(names) == len(record.fields) else "DuckDB takes its fields for one"


EXISTS = Exactness("where NULL is not taken for false", _three_valued)
ELEMENTS = Exactness("where the elements have one type", _one_type)
FIELDS = Exactness("where the fields differ in more than case", _names_apart)
OF_ARRAY = Exactness("on arrays", _of_array)
ELEMENTS_COMPARED = Exactness("where the elements are compared alike", _compared)
SORTED = Exactness("where the elements are compared alike, in a constant direction", _sorted)
ONE_PARAMETER = Exactness("with a test of the element alone", _one_parameter)
