"""Functions of texts in DuckDB: how they are spelled, and where that is exact."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from predtrace.engines.duckdb.exact_types import compared_alike
from predtrace.engines.sql.compiler import named
from predtrace.engines.sql.functions import Exactness
from predtrace.engines.sql.literals import number, sql_type, text_literal
from predtrace.jobs.model import EngineSettings
from symbolic.expr import Call, Expr, Literal
from symbolic.types import Array, Binary, Integer, String

if TYPE_CHECKING:
    from predtrace.engines.sql.compiler import Args, Builder

ICU = "spark.sql.icu.caseMappings.enabled"
_FEW = 10_000
"""Texts are made this long, not longer."""
_FEW_BITS = 16
_SHA256 = (0, 256)


def in_case(name: str) -> Builder:
    """LOWER and UPPER: by DuckDB for text of ASCII alone, else by the restated function."""

    def build(call: Call, args: Args) -> exp.Expr:
        text = args[0]
        # As many bytes as letters.
        ascii_ = exp.EQ(this=named("strlen", text), expression=named("length", text.copy()))
        return exp.Case(
            ifs=[exp.If(this=ascii_, true=named(name, text.copy()))],
            default=named(f"spark_{name}", text.copy()),
        )

    return build


def padded(name: str) -> Builder:
    """LPAD and RPAD; cut off at the length, which is also all if there is nothing to pad with."""

    def build(call: Call, args: Args) -> exp.Expr:
        text, length, filling = args
        fill = named(name, text, length, filling)
        cut = named("substring", text.copy(), number(1), length.copy())
        branches = [
            exp.If(this=exp.LTE(this=length.copy(), expression=number(0)), true=text_literal("")),
            exp.If(this=exp.EQ(this=filling.copy(), expression=text_literal("")), true=cut),
        ]
        present = [_is_present(arg) for arg in args]
        whole = exp.Case(ifs=branches, default=fill)
        return exp.Case(ifs=[exp.If(this=exp.and_(*present), true=whole)])

    return build


def _is_present(value: exp.Expr) -> exp.Expr:
    return exp.Not(this=exp.Is(this=exp.paren(value), expression=exp.Null()))


def position(call: Call, args: Args) -> exp.Expr:
    """LOCATE: the place of a text in another one, from a constant place on; 0 if it is not in it.

    An empty text is at place 1, wherever the search begins.
    """
    sought, text, start = args
    assert isinstance(call.args[2], Literal)
    if call.args[2].value == 1:
        return exp.Cast(this=named("instr", text, sought), to=sql_type(call.type, "duckdb"))
    found = named("instr", named("substring", text, start), sought)
    skipped = exp.paren(exp.Sub(this=start.copy(), expression=number(1)), copy=False)
    branches = [
        exp.If(this=exp.EQ(this=sought.copy(), expression=text_literal("")), true=number(1)),
        exp.If(this=exp.GT(this=found, expression=number(0)), true=exp.Add(
            this=found.copy(), expression=skipped)),
        exp.If(this=exp.EQ(this=found.copy(), expression=number(0)), true=number(0)),
    ]  # fmt: skip
    present = exp.and_(_is_present(text), _is_present(sought))
    whole = exp.Case(ifs=[exp.If(this=present, true=exp.Case(ifs=branches))])
    return exp.Cast(this=whole, to=sql_type(call.type, "duckdb"))


def reverse(call: Call, args: Args) -> exp.Expr:
    """A text or an array from its end to its beginning."""
    if isinstance(call.type, Array):
        return named("list_reverse", *args)
    # DuckDB's reverse() keeps letters with their accents.
    letters = named("list_reverse", named("string_split", args[0], text_literal("")))
    return named("array_to_string", letters, text_literal(""))


def concat_ws(call: Call, args: Args) -> exp.Expr:
    """Texts, and the elements of arrays, joined by a separator; NULLs are left out."""
    separator, *rest = args
    if all(isinstance(arg.type, String) for arg in call.args):
        return named("concat_ws", *args)
    lists = [
        value if isinstance(arg.type, Array) else named("list_value", value)
        for arg, value in zip(call.args[1:], rest, strict=True)
    ]
    joined = named("array_to_string", named("list_concat", *lists), separator)
    whole = named("coalesce", joined, text_literal(""))
    return exp.Case(ifs=[exp.If(this=_is_present(separator), true=whole)])


def sha2(call: Call, args: Args) -> exp.Expr:
    """SHA-256, in hexadecimal digits."""
    return named("sha256", args[0])


def split(call: Call, args: Args) -> exp.Expr:
    """The parts of a text between a constant one that is no pattern."""
    return named("string_split", args[0], text_literal(_plain(call.args[1]) or ""))


def _of_one(call: Call, settings: EngineSettings) -> str | None:
    if not all(isinstance(arg.type, String) and compared_alike(arg.type) for arg in call.args):
        return "it is exact on binary text only"
    mapped = settings.conf.get(ICU, "true")
    return None if mapped == "true" else f"{ICU} is {mapped}"


def _padded(call: Call, settings: EngineSettings) -> str | None:
    if len(call.args) < 3 or not all(isinstance(call.args[i].type, String) for i in (0, 2)):
        return "it is exact on text only"
    return _few(call.args[1])


def _repeated(call: Call, settings: EngineSettings) -> str | None:
    if not isinstance(call.args[0].type, String):
        return "it is exact on text only"
    return _few(call.args[1])


def _few(length: Expr) -> str | None:
    if isinstance(length, Literal) and (length.value is None or length.value <= _FEW):
        return None
    # Spark casts a shorter integer to INT.
    inner = length.args[0] if isinstance(length, Call) and length.function == "cast" else length
    if isinstance(inner.type, Integer) and inner.type.bits <= _FEW_BITS:
        return None
    return "the text may become too long"


def _located(call: Call, settings: EngineSettings) -> str | None:
    start = call.args[2] if len(call.args) == 3 else None
    if not (isinstance(start, Literal) and isinstance(start.value, int) and start.value >= 1):
        return "it is exact from a constant place, counted from 1, only"
    texts = (arg.type for arg in call.args[:2])
    if all(isinstance(each, String) and compared_alike(each) for each in texts):
        return None
    return "it is exact on binary text only"


def _constants(call: Call, settings: EngineSettings) -> str | None:
    if all(isinstance(arg, Literal) for arg in call.args[1:]):
        return None if isinstance(call.args[0].type, String) else "it is exact on text only"
    return "the letters are not constant"


def _joined(call: Call, settings: EngineSettings) -> str | None:
    kinds = (arg.type.element if isinstance(arg.type, Array) else arg.type for arg in call.args)
    if not all(isinstance(kind, String) for kind in kinds) or len(call.args) < 2:
        return "it is exact on text and arrays of text only"
    of_arrays = any(isinstance(arg.type, Array) for arg in call.args)
    return joined_by_constant(call.args[0]) if of_arrays else None


def joined_by_constant(separator: Expr) -> str | None:
    """Judge what the elements of an array are joined by."""
    constant = isinstance(separator, Literal) and separator.value is not None
    return None if constant else "the separator is not constant"


def _hashed(call: Call, settings: EngineSettings) -> str | None:
    value, *bits = call.args
    if not isinstance(value.type, (Binary, String)):
        return "it is exact on binary values only"
    if bits and not (isinstance(bits[0], Literal) and bits[0].value in _SHA256):
        return "DuckDB has SHA-256 only"
    return None


def _plain(pattern: Expr) -> str | None:
    """The text that alone matches a pattern; None if there is none."""
    if not (isinstance(pattern, Literal) and isinstance(pattern.value, str)):
        return None
    found, letters = "", iter(pattern.value)
    for letter in letters:
        if letter == "\\":
            letter = next(letters, "")
            if not letter or letter.isalnum() or not letter.isascii():
                return None
        elif letter in "^$.|?*+()[]{}":
            return None
        found += letter
    return found or None


def _parted(call: Call, settings: EngineSettings) -> str | None:
    limit = call.args[2] if len(call.args) > 2 else Literal(-1, Integer(32))
    if not (isinstance(limit, Literal) and isinstance(limit.value, int) and limit.value < 0):
        return "it is exact without a limit only"
    if not (isinstance(call.args[0].type, String) and compared_alike(call.args[0].type)):
        return "it is exact on binary text only"
    return None if _plain(call.args[1]) else "it is exact with a constant text, no pattern, only"


CASES = Exactness("on binary text, with the case mappings of ICU", _of_one)
PADDED = Exactness("on text, to a constant length or one of 16 bits", _padded)
REPEATED = Exactness("on text, a constant number of times or one of 16 bits", _repeated)
LOCATED = Exactness("on binary text, from a constant place", _located)
CONSTANTS = Exactness("on text, with constant letters", _constants)
JOINED = Exactness("on text and arrays of text", _joined)
HASHED = Exactness("on binary values; sha2 of 256 bits", _hashed)
PARTED = Exactness("with a constant text that is no pattern", _parted)
