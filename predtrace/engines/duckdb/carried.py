"""Spark's functions without a row of their own that DuckDB evaluates: by their Catalyst class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from predtrace.engines.duckdb.texts import joined_by_constant
from predtrace.engines.sql.compiler import named
from predtrace.engines.sql.functions import Evaluated, Exactness, call_inexactness
from predtrace.engines.sql.literals import number, sql_type
from predtrace.jobs.model import EngineSettings
from symbolic.expr import Call
from symbolic.functions.carried import Carried, carried
from symbolic.types import Array, String

if TYPE_CHECKING:
    from predtrace.engines.sql.compiler import Args, Builder


def _of(call: Call) -> Carried:
    found = carried(call.function)
    assert found is not None
    return found


def _size(call: Call, args: Args) -> exp.Expr:
    """The number of elements; of NULL it is -1 under an old setting."""
    count = exp.Cast(this=named("len", *args), to=sql_type(call.type, "duckdb"))
    if _of(call).parameter("legacySizeOfNull") == "true":
        return named("coalesce", count, number(-1))
    return count


def _sized(call: Call, settings: EngineSettings) -> str | None:
    return None if isinstance(call.args[0].type, Array) else "it is exact on arrays only"


def _array_join(call: Call, args: Args) -> exp.Expr:
    """The elements joined by a separator, without NULLs."""
    return named("array_to_string", *args)


def _joined(call: Call, settings: EngineSettings) -> str | None:
    if len(call.args) > 2:
        return "it is exact where NULLs are left out only"
    of_text = isinstance(call.args[0].type, Array) and call.args[0].type.element == String()
    return joined_by_constant(call.args[1]) if of_text else "it is exact on arrays of text only"


ROWS: Mapping[str, Evaluated[Builder, Call]] = {
    "Size": Evaluated(_size, Exactness("on arrays", _sized)),
    "ArrayJoin": Evaluated(_array_join, Exactness("on arrays of text", _joined)),
}
"""Catalyst class to how DuckDB evaluates it."""


def _row(call: Call) -> Evaluated[Builder, Call] | None:
    return ROWS.get(_of(call).expression.rsplit(".", 1)[-1])


def build(call: Call, args: Args) -> exp.Expr:
    """The spelling of the call's class."""
    row = _row(call)
    assert row is not None
    return row.spelling(call, args)


def _inexactness(call: Call, settings: EngineSettings) -> str | None:
    row = _row(call)
    if row is None:
        return "it is one of Spark's that nobody has compared"
    return call_inexactness(row, call, settings)


CARRIED = Exactness("for the classes that were compared", _inexactness)
