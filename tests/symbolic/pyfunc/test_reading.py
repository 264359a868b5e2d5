"""Functions of users, read from their source, give what the functions themselves give."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest

from symbolic.expr import Column
from symbolic.pyfunc.lowering import NotLowered, lowered
from symbolic.pyfunc.reading import MOST_NODES, Unread, read_function
from symbolic.pyfunc.values import size
from symbolic.types import BOOLEAN, DATE, DOUBLE, LONG, STRING
from tests.engines.tables import SETTINGS
from tests.reference.expressions import compile_expr
from tests.symbolic.pyfunc import users

TYPES = {"s": STRING, "n": LONG, "x": DOUBLE, "d": DATE, "b": BOOLEAN}
VALUES: dict[str, list[Any]] = {
    "s": [
        None, "", " ", "a", "b", "abc", "ABC", " Ab\t", "1", "-12", "+7", " 42\n", "1_000", "٣",
        "²",
        "1.5", "1,5", "$1,234.50", "nan", "inf", "1e3", "x@y.org", "@", "Bob.X@Mail.Example.com",
        "CA", "ny", "N/A", "null", "The", "urgent: now", "zebra", "yes", "TRUE", "ID-ID-5",
        "555-123 4567", "15551234567", "straße", "ΑΣ", "İ", "ß", "é", "e\u0301",
        "\U0001d4b3yz", "\u00a0a\u2003", "20240101", "abcabc", "aba", "\x1c", "x" * 300,
        "ab\u2028c", "\U0001f600",
    ],
    "n": [
        None, 0, 1, -1, 2, 3, 5, 7, 9, 10, 11, 15, 42, 69, 70, 85, 99, 100, 101, -7, -10, -15,
        2**31, 2**53 + 1, 2**63 - 1, -(2**63), 10**10, 12345, 123456,
    ],
    "x": [
        None, 0.0, -0.0, 1.0, -1.5, 0.05, 0.25, 2.675, 1e16, 1e22, 1e-7, 1e300, math.inf, -math.inf,
        math.nan, 123456.789, 5e-324,
    ],
    "d": [
        None, *(datetime.date(*each) for each in [
            (1, 1, 1), (1582, 10, 4), (1970, 1, 1), (2020, 1, 1), (2024, 2, 29), (2024, 12, 25),
            (2024, 6, 30), (9999, 12, 31), (2024, 3, 2)])
    ],
    "b": [None, True, False],
}  # fmt: skip

FUNCTIONS: dict[str, FunctionType] = {
    name: function
    for name, function in vars(users).items()
    if isinstance(function, FunctionType) and name[-2:-1] == "_" and name[-1] in TYPES
}
UNREAD = {
    "is_palindrome_s": "a slice with a step",
    "reversed_s": "a slice with a step",
    "char_code_s": "a call of ord",
    "vowels_s": "GeneratorExp",
    "grade_n": "For",
    "collatz_n": "While",
    "inverse_n": "Try",
    "overflow_n": "a constant",
}
"""Functions that are not read, and why."""


def identical(one: Any, other: Any) -> bool:
    """The same value of the same type; NaN is itself, and -0.0 is not 0.0."""
    return type(one) is type(other) and repr(one) == repr(other)


def read(name: str) -> Any:
    return read_function(FUNCTIONS[name], [Column(0, name[-1], TYPES[name[-1]])])


def compared(name: str, function: Callable[[Any], Any]) -> int:
    """Compare the reading with a function on all values; how many were compared."""
    column = Column(0, name[-1], TYPES[name[-1]])
    found = compile_expr(read_function(FUNCTIONS[name], [column]), [column], SETTINGS)
    count = 0
    for value in VALUES[name[-1]]:
        try:
            expected = function(value)
        except Exception:
            continue
        count += 1
        assert identical(found((value,)), expected), (value, expected, found((value,)))
    return count


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - UNREAD))
def test_readings_give_what_functions_give(name: str) -> None:
    values = VALUES[name[-1]]
    assert compared(name, FUNCTIONS[name]) >= len(values) // 2
    assert size(read(name)) < MOST_NODES


@pytest.mark.parametrize("name", UNREAD)
def test_what_is_not_read_says_why(name: str) -> None:
    with pytest.raises(Unread, match=UNREAD[name]):
        read(name)


def test_most_functions_are_read() -> None:
    assert len(FUNCTIONS) >= 100
    assert len(UNREAD) <= 20


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - UNREAD))
def test_what_spark_says_is_the_same(name: str) -> None:
    """Judged by the reference's own functions of Spark."""
    column = Column(0, name[-1], TYPES[name[-1]])
    try:
        said = lowered(read(name), read(name).type, checked=True)
    except NotLowered:
        assert name not in SAID
        return
    found = compile_expr(said, [column], SETTINGS)
    for value in VALUES[name[-1]]:
        try:
            expected = FUNCTIONS[name](value)
        except Exception:
            continue
        if not isinstance(expected, int) or abs(expected) < 2**63:
            assert identical(found((value,)), expected), (value, expected, found((value,)))
    assert name in SAID, f"{name} is said in functions of Spark, too"


_SAID = """
    is_missing_n is_text_or_missing_s sixth_is_early_s
    add_none_n after_d all_keywords_s any_keyword_s between_s both_b bucket_n clean_or_empty_s
    compare_s decade_n even_n fill_nan_x fizz_n flag_b greeting_s gross_x holiday_d in_list_n
    initial_s is_email_s is_nan_x label_n last_four_s length_s level_n loop_break_s loop_flags_s
    mask_s middle_s minus_lambda_n mod_n none_equal_s not_a_s not_in_n not_n or_default_n
    percent_x phone_s plus_lambda_n plus_one_n positive_x quarter_d season_d sign_n state_s
    state_strict_s text_n three_b truthy_n truthy_x weekend_d without_prefix_s year_d zero_x
"""
SAID = frozenset(_SAID.split())
"""Functions whose meaning functions of Spark have exactly."""


def test_a_wrong_reading_is_noticed() -> None:
    with pytest.raises(AssertionError):
        compared("mod_n", lambda n: None if n is None else int(math.fmod(n, 7)))
    with pytest.raises(AssertionError):
        compared("zero_x", lambda x: x is not None and str(x) == "0.0")


def test_many_branches_share_what_follows() -> None:
    lines = [f"    if n == {k}:\n        total = total + {k}\n" for k in range(40)]
    text = "def many(n):\n    total = 0\n" + "".join(lines) + "    return total\n"
    function = _made(text, "many")
    assert size(read_function(function, [Column(0, "n", LONG)])) < 400


def _made(text: str, name: str) -> FunctionType:
    import linecache

    linecache.cache["<made>"] = (len(text), None, text.splitlines(keepends=True), "<made>")
    space: dict[str, Any] = {}
    exec(compile(text, "<made>", "exec", dont_inherit=True), space)
    function = space[name]
    assert isinstance(function, FunctionType)
    return function


def test_a_function_whose_source_changed_is_not_read() -> None:
    function = _made("def f(n):\n    return n + 1\n", "f")
    assert read_function(function, [Column(0, "n", LONG)])
    _made("def f(n):\n    return n + 2\n", "f")
    with pytest.raises(Unread, match="changed since it was loaded"):
        read_function(function, [Column(0, "n", LONG)])
    with pytest.raises(Unread, match="source cannot be had"):
        read_function(eval("lambda n: n"), [Column(0, "n", LONG)])
