"""What Python's operators, built-in functions and methods mean, as users' functions use them.

A call is NULL exactly where Python raises, unless its row says that it is never NULL. Whole numbers
have no bound.
"""

from __future__ import annotations

from functools import partial

from symbolic.functions.base import Encoding, Function, Nulls, Semantics, Zeros
from symbolic.types import BOOLEAN, DOUBLE, LONG, STRING

_PROPAGATES, _NEVER = Nulls.PROPAGATES, Nulls.NEVER_NULL
_OWN = Nulls.OWN
"""Some texts take a None: the end of a slice, the blanks at which a text is split."""

_python = partial(
    Function, semantics=Semantics.PYTHON, encoding=Encoding.UNINTERPRETED, zeros=Zeros.APART
)

ROWS = (
    _python("python.add", None, _PROPAGATES, "a + b"),
    _python("python.subtract", None, _PROPAGATES, "a - b"),
    _python("python.multiply", None, _PROPAGATES, "a * b"),
    _python("python.true_divide", None, _PROPAGATES, "a / b"),
    _python("python.floor_divide", None, _PROPAGATES, "a // b"),
    _python("python.modulo", None, _PROPAGATES, "a % b, sign of b"),
    _python("python.power", None, _PROPAGATES, "a ** b"),
    _python("python.negate", None, _PROPAGATES, "-a"),
    _python("python.absolute", None, _PROPAGATES, "abs(a)"),
    _python("python.round", None, _PROPAGATES, "round(a), or to n digits"),
    _python("python.least", None, _PROPAGATES, "min(a, b, …)"),
    _python("python.greatest", None, _PROPAGATES, "max(a, b, …)"),
    _python("python.lt", BOOLEAN, _PROPAGATES, "a < b"),
    _python("python.le", BOOLEAN, _PROPAGATES, "a <= b"),
    _python("python.gt", BOOLEAN, _PROPAGATES, "a > b"),
    _python("python.ge", BOOLEAN, _PROPAGATES, "a >= b"),
    _python("python.startswith", BOOLEAN, _PROPAGATES, "a.startswith(…)"),
    _python("python.endswith", BOOLEAN, _PROPAGATES, "a.endswith(…)"),
    _python("python.contains", BOOLEAN, _PROPAGATES, "b in a, of texts"),
    _python("python.isdigit", BOOLEAN, _PROPAGATES, "a.isdigit(…)"),
    _python("python.isalpha", BOOLEAN, _PROPAGATES, "a.isalpha(…)"),
    _python("python.isalnum", BOOLEAN, _PROPAGATES, "a.isalnum(…)"),
    _python("python.isnumeric", BOOLEAN, _PROPAGATES, "a.isnumeric(…)"),
    _python("python.isdecimal", BOOLEAN, _PROPAGATES, "a.isdecimal(…)"),
    _python("python.isspace", BOOLEAN, _PROPAGATES, "a.isspace(…)"),
    _python("python.isupper", BOOLEAN, _PROPAGATES, "a.isupper(…)"),
    _python("python.islower", BOOLEAN, _PROPAGATES, "a.islower(…)"),
    _python("python.isnan", BOOLEAN, _PROPAGATES, "math.isnan(a)"),
    _python(
        "python.re_found",
        BOOLEAN,
        _PROPAGATES,
        "re.search(…) is not None",
    ),
    _python("python.strip", STRING, _OWN, "a.strip(…)"),
    _python("python.lstrip", STRING, _OWN, "a.lstrip(…)"),
    _python("python.rstrip", STRING, _OWN, "a.rstrip(…)"),
    _python("python.lower", STRING, _OWN, "a.lower(…)"),
    _python("python.upper", STRING, _OWN, "a.upper(…)"),
    _python("python.title", STRING, _OWN, "a.title(…)"),
    _python("python.capitalize", STRING, _OWN, "a.capitalize(…)"),
    _python("python.casefold", STRING, _OWN, "a.casefold(…)"),
    _python("python.swapcase", STRING, _OWN, "a.swapcase(…)"),
    _python("python.replace", STRING, _OWN, "a.replace(…)"),
    _python("python.zfill", STRING, _OWN, "a.zfill(…)"),
    _python("python.ljust", STRING, _OWN, "a.ljust(…)"),
    _python("python.rjust", STRING, _OWN, "a.rjust(…)"),
    _python("python.center", STRING, _OWN, "a.center(…)"),
    _python("python.removeprefix", STRING, _OWN, "a.removeprefix(…)"),
    _python("python.removesuffix", STRING, _OWN, "a.removesuffix(…)"),
    _python("python.slice", STRING, _OWN, "a[b:c] of a text"),
    _python("python.item", STRING, _OWN, "a[b] of a text"),
    _python("python.isoformat", STRING, _OWN, "a.isoformat(…)"),
    _python("python.strftime", STRING, _OWN, "a.strftime(…)"),
    _python("python.re_sub", STRING, _OWN, "re.sub of a pattern, with flags, by a text"),
    _python("python.split_item", STRING, _OWN, "a.split(b)[c]"),
    _python("python.join_split", STRING, _OWN, "c.join(a.split(b))"),
    _python("python.re_group", STRING, _OWN, "a group of what a regular expression found"),
    _python("python.int", LONG, _PROPAGATES, "int(a)"),
    _python("python.length", LONG, _PROPAGATES, "len(a) of a text"),
    _python("python.count", LONG, _PROPAGATES, "a.count(…)"),
    _python("python.find", LONG, _PROPAGATES, "a.find(…)"),
    _python("python.rfind", LONG, _PROPAGATES, "a.rfind(…)"),
    _python("python.floor", LONG, _PROPAGATES, "math.floor(a)"),
    _python("python.ceil", LONG, _PROPAGATES, "math.ceil(a)"),
    _python("python.year", LONG, _PROPAGATES, "a.year"),
    _python("python.month", LONG, _PROPAGATES, "a.month"),
    _python("python.day", LONG, _PROPAGATES, "a.day"),
    _python("python.hour", LONG, _PROPAGATES, "a.hour"),
    _python("python.minute", LONG, _PROPAGATES, "a.minute"),
    _python("python.second", LONG, _PROPAGATES, "a.second"),
    _python("python.weekday", LONG, _PROPAGATES, "a.weekday(…)"),
    _python("python.isoweekday", LONG, _PROPAGATES, "a.isoweekday(…)"),
    _python("python.days_between", LONG, _PROPAGATES, "(a - b).days"),
    _python("python.ordinal", LONG, _PROPAGATES, "a.toordinal()"),
    _python("python.float", DOUBLE, _PROPAGATES, "float(a)"),
    _python("python.sqrt", DOUBLE, _PROPAGATES, "math.sqrt(a)"),
    _python("python.eq", BOOLEAN, _NEVER, "a == b"),
    _python("python.truth", BOOLEAN, _NEVER, "bool(a)"),
    _python("python.str", STRING, _NEVER, "str(a)"),
)
"""All are Python's, and uninterpreted."""
