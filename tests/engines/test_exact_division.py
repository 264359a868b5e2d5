"""Quotients of decimals in DuckDB against exact arithmetic, rounded in Spark's two steps."""

from __future__ import annotations

import decimal

import duckdb
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from sqlglot import exp

from predtrace.engines.sql.exact_division import always_exact, divisible, exact_quotient
from predtrace.errors import EngineError
from symbolic.types import Decimal
from tests.reference.functions.numbers import divide_decimals
from tests.reference.values import fit_decimal
from tests.strategies import count

EXACT = decimal.Context(prec=60)


def quotient_type(left: Decimal, right: Decimal) -> Decimal:
    """Spark's result type."""
    scale = max(6, left.scale + right.precision + 1)
    precision = left.precision - left.scale + right.scale + scale
    if precision <= 38:
        return Decimal(precision, scale)
    whole = precision - scale
    return Decimal(38, max(38 - whole, min(scale, 6)))


def types(most: int = 38) -> st.SearchStrategy[Decimal]:
    return st.integers(1, most).flatmap(
        lambda precision: st.integers(0, precision).map(lambda scale: Decimal(precision, scale))
    )


def values(of: Decimal) -> st.SearchStrategy[decimal.Decimal]:
    """Of all sizes, and often with few digits: then quotients often are half-way."""
    largest = 10**of.precision - 1
    digits = st.one_of(
        st.integers(-largest, largest),
        st.integers(0, of.precision - 1).map(lambda zeros: 5 * 10**zeros),
        st.integers(0, of.precision - 1).map(lambda zeros: -(2**zeros)),
    )
    return digits.map(lambda value: decimal.Decimal(value).scaleb(-of.scale, EXACT))


CONNECTION = duckdb.connect(config={"threads": 1})


def quotient(
    dividend: decimal.Decimal, left: Decimal, divisor: decimal.Decimal, right: Decimal,
    result: Decimal,
) -> decimal.Decimal | None:  # fmt: skip
    """What DuckDB gives for a row of these; the row of NULLs beside it gives NULL."""
    value = exact_quotient(exp.column("a"), left, exp.column("b"), right, result)
    rows = f"(VALUES ({sql(dividend, left)}, {sql(divisor, right)}), (NULL, NULL)) AS t(a, b)"
    found = CONNECTION.sql(f"SELECT {value.sql('duckdb')} FROM {rows}").fetchall()
    (answer,), nothing = found
    assert nothing == (None,)
    return answer  # type: ignore[no-any-return]


def sql(value: decimal.Decimal, of: Decimal) -> str:
    return f"CAST('{value:f}' AS DECIMAL({of.precision}, {of.scale}))"


@given(data=st.data(), small=st.booleans())
@settings(max_examples=count(250))
def test_quotients_are_exact_or_fail(data: st.DataObject, small: bool) -> None:
    left, right = data.draw(types(15 if small else 38)), data.draw(types(9 if small else 38))
    result = quotient_type(left, right)
    if not divisible(left, right, result):
        with pytest.raises(EngineError, match="more digits"):
            exact_quotient(exp.null(), left, exp.null(), right, result)
        return
    dividend, divisor = data.draw(values(left)), data.draw(values(right))
    expected = fit_decimal(divide_decimals(dividend, divisor), result) if divisor else None
    try:
        found = quotient(dividend, left, divisor, right, result)
    except duckdb.InvalidInputException:
        # Says so on purpose (below): the types allow more than there is room for.
        assert not always_exact(left, right, result)
        event("more digits than there are")
        return
    assert found == expected
    event("always exact" if always_exact(left, right, result) else "exact this time")


@pytest.mark.parametrize(
    ("dividend", "divisor", "expected"),
    [
        ("0.05", "32", "0.001563"),
        ("-0.05", "32", "-0.001563"),
        ("0.05", "-32", "-0.001563"),
        ("0.01", "32", "0.000313"),
        ("1.00", "3", "0.333333"),
        ("2.00", "-3", "-0.666667"),
        ("0.00", "-3", "0.000000"),
        ("1.00", "0", None),
    ],
)
def test_halves_go_away_from_zero(dividend: str, divisor: str, expected: str | None) -> None:
    left, right, result = Decimal(15, 2), Decimal(2, 0), Decimal(19, 6)
    found = quotient(decimal.Decimal(dividend), left, decimal.Decimal(divisor), right, result)
    assert found == (None if expected is None else decimal.Decimal(expected))


def test_what_does_not_fit_is_null() -> None:
    left, right, result = Decimal(15, 2), Decimal(15, 2), Decimal(7, 6)
    one = decimal.Decimal(1)
    assert quotient(100 * one, left, one / 100, right, result) is None


def test_constants_are_no_less_exact() -> None:
    """Nothing fails while constants are folded that no row would come to."""
    money, count = Decimal(15, 2), Decimal(2, 0)
    for divisor, expected in (("0", None), ("32", decimal.Decimal("0.001563"))):
        sides = [
            exp.cast(exp.Literal.string(text), f"DECIMAL({kind.precision}, {kind.scale})")
            for text, kind in (("0.05", money), (divisor, count))
        ]
        query = exp.select(exact_quotient(sides[0], money, sides[1], count, Decimal(19, 6)))
        assert CONNECTION.sql(query.sql("duckdb")).fetchall() == [(expected,)]


def test_types_that_always_fit() -> None:
    sums, counts = Decimal(25, 2), Decimal(19, 0)
    assert always_exact(sums, counts, Decimal(19, 6))  # avg of decimal(15,2)
    assert not always_exact(Decimal(38, 4), Decimal(38, 4), Decimal(38, 6))
    assert divisible(Decimal(38, 4), Decimal(38, 4), Decimal(38, 6))
    assert not divisible(Decimal(38, 30), Decimal(38, 2), Decimal(38, 6))
