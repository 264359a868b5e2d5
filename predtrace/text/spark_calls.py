"""Calls of Spark's own functions as SQL, by the name that Spark's registry has for them.

Names are rendered as identifiers, everything else as constants: a function from a file cannot
bring SQL of its own along.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from sqlglot import exp

from symbolic.functions import Carried

_UNIT_NAMES = "YEAR QUARTER MONTH WEEK DAY DAYOFYEAR HOUR MINUTE SECOND MILLISECOND MICROSECOND"
UNITS = frozenset(_UNIT_NAMES.split())
"""What timestamps are counted in."""


def spark_call(function: Carried, args: Sequence[exp.Expr]) -> exp.Expr:
    """The function of these arguments. Raises ValueError for parameters that it cannot have."""
    before, after = _AROUND.get(function.name, ((), ()))
    first = [part for name in before for part in _spelled(function, name)]
    last = [part for name in after for part in _spelled(function, name)]
    name = exp.Identifier(this=function.name, quoted=function.name not in SYNTAX)
    return exp.Anonymous(this=name, expressions=[*first, *args, *last])


def spelled_parameters(name: str) -> tuple[str, ...]:
    """The parameters of a function that stand among its arguments in SQL."""
    return sum(_AROUND.get(name, ()), ())


def options_of(function: Carried) -> dict[str, str]:
    """The options that a function is made with. Raises ValueError for what are none."""
    text = function.parameter("options") or "{}"
    try:
        return msgspec.json.decode(text, type=dict[str, str])
    except msgspec.DecodeError as error:
        raise ValueError(f"{text!r} is no object of options") from error


def _spelled(function: Carried, parameter: str) -> list[exp.Expr]:
    """A parameter as arguments: none, if the function was made without it."""
    if parameter == "options":
        pairs = sorted(options_of(function).items())
        parts = [exp.Literal.string(part) for pair in pairs for part in pair]
        return [exp.Anonymous(this="map", expressions=parts)] if parts else []
    value = function.parameter(parameter)
    if parameter == "unit":
        if value not in UNITS:
            raise ValueError(f"{value!r} is no unit of time")
        return [exp.var(value)]
    return [] if value is None else [exp.Literal.string(value)]


SYNTAX = frozenset({"timestampadd", "timestampdiff"})
"""Names of Spark's grammar, which its registry does not have."""
_AROUND: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    **dict.fromkeys(SYNTAX, (("unit",), ())),
    **dict.fromkeys(("to_json", "to_csv", "to_xml"), ((), ("options",))),
    **dict.fromkeys(("schema_of_json", "schema_of_csv", "schema_of_xml"), ((), ("options",))),
    **dict.fromkeys(("variant_get", "try_variant_get"), ((), ("targetType",))),
    **dict.fromkeys(("from_json", "from_csv", "from_xml"), ((), ("schema", "options"))),
}
"""Parameters before and after the arguments, by the function's name."""
