"""Timestamps as text by a pattern of fields of fixed width, in DuckDB."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlglot import exp

from predtrace.engines.duckdb.zoned import OF_TIME, local
from predtrace.engines.sql.compiler import named
from predtrace.engines.sql.functions import Exactness
from predtrace.engines.sql.literals import number, text_literal
from predtrace.jobs.model import EngineSettings
from predtrace.jobs.settings import TIME_PARSER
from symbolic.expr import Call, Expr, Literal
from symbolic.types import TIMESTAMP

if TYPE_CHECKING:
    from predtrace.engines.sql.compiler import Args

_FIELDS = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}
"""Java's fields to DuckDB's."""
_PATTERN = re.compile(r"yyyy|MM|dd|HH|mm|ss|[-/:._ ]|'T'|(.)", re.DOTALL)
_FIRST, _LAST = 1, 9999
"""The years that both write with four digits."""
_TOO_FAR = "a year has more or less than four digits"


def formatted(call: Call, args: Args) -> exp.Expr:
    """DATE_FORMAT of a timestamp. The query fails for years that have not four digits."""
    pattern = _pattern(call.args[1])
    assert pattern is not None
    moment = local(args[0], call)
    text = named("strftime", moment, text_literal(pattern))
    year = named("year", moment.copy())
    branches = [
        exp.If(this=exp.Is(this=year, expression=exp.Null()), true=exp.Null()),
        exp.If(this=exp.Between(this=year.copy(), low=number(_FIRST), high=number(_LAST)),
               true=text),
    ]  # fmt: skip
    return exp.Case(ifs=branches, default=named("error", text_literal(_TOO_FAR)))


def _pattern(given: Expr) -> str | None:
    """DuckDB's pattern for one of Java's; None if it has other fields."""
    if not (isinstance(given, Literal) and isinstance(given.value, str)):
        return None
    found = ""
    for match in _PATTERN.finditer(given.value):
        if match[1] is not None:
            return None
        found += _FIELDS.get(match[0], match[0].strip("'"))
    return found or None


def _inexactness(call: Call, settings: EngineSettings) -> str | None:
    if settings.conf.get(TIME_PARSER) == "LEGACY":
        return f"{TIME_PARSER} is LEGACY"
    if _pattern(call.args[1]) is None:
        return "the pattern is not constant, or has other fields than yyyy, MM, dd, HH, mm and ss"
    if call.args[0].type != TIMESTAMP:
        return "it is exact on timestamps with a zone only"
    return OF_TIME.inexactness(call, settings)


FORMATTED = Exactness("of timestamps, by constant patterns of fields of fixed width", _inexactness)
