"""What Python's operators, built-in functions and methods mean, as users' functions use them.

A call is NULL exactly where Python raises, unless its row says otherwise. Whole numbers have no
bound.
"""

from __future__ import annotations

from collections.abc import Iterator

from symbolic.functions.base import Encoding, Function, Nulls, Semantics, Zeros
from symbolic.types import BOOLEAN, DOUBLE, LONG, STRING, DataType

_OF_TYPES = """
    add subtract multiply true_divide floor_divide modulo power negate absolute round least greatest
"""
_TESTS = """
    lt le gt ge startswith endswith contains isdigit isalpha isalnum isnumeric isdecimal isspace
    isupper islower isnan re_found
"""
_TEXTS = """
    strip lstrip rstrip lower upper title capitalize casefold swapcase replace zfill ljust rjust
    center removeprefix removesuffix slice item isoformat strftime re_sub split_item join_split
    re_group
"""
_NUMBERS = """
    int length count find rfind floor ceil year month day hour minute second weekday isoweekday
    days_between ordinal
"""
_KINDS: tuple[tuple[str, DataType | None, Nulls], ...] = (
    (_OF_TYPES, None, Nulls.PROPAGATES),
    (_TESTS, BOOLEAN, Nulls.PROPAGATES),
    (_TEXTS, STRING, Nulls.OWN),
    (_NUMBERS, LONG, Nulls.PROPAGATES),
    ("float sqrt", DOUBLE, Nulls.PROPAGATES),
    ("eq truth", BOOLEAN, Nulls.NEVER_NULL),
    ("str", STRING, Nulls.NEVER_NULL),
)
"""Names, the type of the result, and where it is NULL; some texts take a None (slices, blanks)."""


def _rows() -> Iterator[Function]:
    for names, kind, nulls in _KINDS:
        for name in names.split():
            meaning = f"Python's {name.replace('_', ' ')}"
            yield Function(
                f"{Semantics.PYTHON.value}{name}",
                kind,
                nulls,
                meaning,
                Zeros.APART,
                Semantics.PYTHON,
                Encoding.UNINTERPRETED,
            )


ROWS = tuple(_rows())
"""All are Python's, and uninterpreted."""
