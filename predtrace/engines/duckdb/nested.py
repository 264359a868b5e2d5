"""Functions of arrays and structs in DuckDB: how they are spelled, and where that is exact."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from predtrace.engines.sql.compiler import named
from predtrace.engines.sql.functions import Exactness
from predtrace.engines.sql.literals import number, sql_type
from predtrace.engines.sql.predicates import may_be_null
from predtrace.jobs.model import EngineSettings
from predtrace.jobs.settings import THREE_VALUED
from symbolic.expr import Call, Lambda, conjuncts
from symbolic.types import Array, Record

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


def _one_type(call: Call, settings: EngineSettings) -> str | None:
    assert isinstance(call.type, Array)
    alike = call.args and all(arg.type == call.type.element for arg in call.args)
    return None if alike else "its elements differ in type"


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
