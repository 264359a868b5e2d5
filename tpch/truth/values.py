"""Values as Spark computes and compares them: NULL is None, decimals are exact."""

from __future__ import annotations

import datetime
import decimal
import math
import re
import statistics
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from sqlglot import exp

CONTEXT = decimal.Context(prec=60, rounding=decimal.ROUND_HALF_UP)
_MORE_DIGITS = 4
"""So many digits more than its argument has the average of a decimal."""


def key(value: Any) -> Any:
    """Equal for equal values; NULL is equal to NULL."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


def alike(left: Any, right: Any) -> tuple[Any, Any]:
    """Two values of comparable types: text beside a date or number is read as one."""
    if isinstance(left, str) and not isinstance(right, str):
        return _read_as(left, right), right
    if isinstance(right, str) and not isinstance(left, str):
        return left, _read_as(right, left)
    if isinstance(left, float) != isinstance(right, float):
        return float(left), float(right)
    return left, right


def _read_as(text: str, other: Any) -> Any:
    if isinstance(other, datetime.date):
        return datetime.date.fromisoformat(text)
    return float(text) if isinstance(other, float) else Decimal(text)


def compare(test: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool | None]:
    """A comparison in three-valued logic."""

    def compared(left: Any, right: Any) -> bool | None:
        if left is None or right is None:
            return None
        return test(*alike(left, right))

    return compared


def conjunction(terms: Sequence[bool | None]) -> bool | None:
    """AND."""
    if False in terms:
        return False
    return None if None in terms else True


def disjunction(terms: Sequence[bool | None]) -> bool | None:
    """OR."""
    if True in terms:
        return True
    return None if None in terms else False


def negation(term: bool | None) -> bool | None:
    """NOT."""
    return None if term is None else not term


def plain(compute: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is NULL if an argument is."""
    return lambda *args: None if None in args else compute(*args)


def _numbers(left: Any, right: Any) -> tuple[Any, Any]:
    if isinstance(left, float) or isinstance(right, float):
        return float(left), float(right)
    return left, right


def add(left: Any, right: Any) -> Any:
    """Numbers, or a date and days."""
    if isinstance(left, datetime.date):
        return left + (right if isinstance(right, datetime.timedelta) else days(right))
    left, right = _numbers(left, right)
    return CONTEXT.add(left, right) if isinstance(left, Decimal | int) and isinstance(
        right, Decimal) else left + right  # fmt: skip


def days(number: Any) -> datetime.timedelta:
    """So many days."""
    return datetime.timedelta(days=int(number))


def subtract(left: Any, right: Any) -> Any:
    """Numbers, or days from a date."""
    if isinstance(left, datetime.date):
        return left - (right if isinstance(right, datetime.timedelta) else days(right))
    left, right = _numbers(left, right)
    return left - right if isinstance(left, float | int) and isinstance(
        right, float | int) else CONTEXT.subtract(Decimal(left), Decimal(right))  # fmt: skip


def multiply(left: Any, right: Any) -> Any:
    """Numbers."""
    left, right = _numbers(left, right)
    return left * right if isinstance(left, float | int) and isinstance(
        right, float | int) else CONTEXT.multiply(Decimal(left), Decimal(right))  # fmt: skip


def divide(left: Any, right: Any) -> Any:
    """A division by zero is NULL; of integers a double."""
    if right == 0:
        return None
    left, right = _numbers(left, right)
    if isinstance(left, Decimal) or isinstance(right, Decimal):
        return CONTEXT.divide(Decimal(left), Decimal(right))
    return left / right


def cast(value: Any, to: exp.DataType) -> Any:
    """CAST to the types that the texts use."""
    kinds = exp.DataType.Type
    if value is None:
        return None
    if to.this in (kinds.DATE, kinds.TIMESTAMP):
        return datetime.date.fromisoformat(value[:10]) if isinstance(value, str) else value
    if to.this == kinds.DECIMAL:
        precision = [int(part.name) for part in to.expressions]
        scale = precision[1] if len(precision) > 1 else 0
        return CONTEXT.quantize(Decimal(value), Decimal(1).scaleb(-scale))
    if to.this in (kinds.INT, kinds.BIGINT):
        return int(value)
    if to.this in (kinds.DOUBLE, kinds.FLOAT):
        return float(value)
    if to.this in (kinds.VARCHAR, kinds.TEXT, kinds.CHAR):
        return str(value)
    raise NotImplementedError(f"CAST AS {to.sql()}")


def rounded(value: Any, digits: int = 0) -> Any:
    """ROUND, half up."""
    exact = CONTEXT.quantize(Decimal(value), Decimal(1).scaleb(-digits))
    return float(exact) if isinstance(value, float) else exact


def substring(text: str, start: int, length: int) -> str:
    """SUBSTRING, counting from 1."""
    return text[start - 1 : start - 1 + length]


def like(text: str, pattern: str) -> bool:
    """LIKE without an escape character."""
    parts = (".*" if c == "%" else "." if c == "_" else re.escape(c) for c in pattern)
    return re.fullmatch("".join(parts), text, re.DOTALL) is not None


def total(values: Sequence[Any]) -> Any:
    """SUM of values that are not NULL."""
    if not values:
        return None
    if any(isinstance(value, float) for value in values):
        return math.fsum(values)
    found = values[0]
    for value in values[1:]:
        found = add(found, value)
    return found


def average(values: Sequence[Any]) -> Any:
    """AVG: a double; of decimals a decimal of four more digits."""
    if not values:
        return None
    if not any(isinstance(value, Decimal) for value in values):
        return math.fsum(values) / len(values)
    digits = max(-int(Decimal(value).as_tuple().exponent) for value in values)
    exact = CONTEXT.divide(Decimal(total(values)), Decimal(len(values)))
    return CONTEXT.quantize(exact, Decimal(1).scaleb(-digits - _MORE_DIGITS))


def deviation(values: Sequence[Any]) -> Any:
    """STDDEV_SAMP: NULL for fewer than two values."""
    if len(values) < 2:
        return None
    return statistics.stdev(map(float, values))


def least(values: Sequence[Any]) -> Any:
    """MIN."""
    return min(values, default=None)


def greatest(values: Sequence[Any]) -> Any:
    """MAX."""
    return max(values, default=None)


AGGREGATES: dict[type[exp.Expr], Callable[[Sequence[Any]], Any]] = {
    exp.Sum: total,
    exp.Avg: average,
    exp.Count: len,
    exp.Min: least,
    exp.Max: greatest,
    exp.StddevSamp: deviation,
}
"""Each gets the values that are not NULL."""
ATTAINED = (exp.Min, exp.Max)
"""Under the minimal reading, a group with no other aggregates is made of the rows that attain
them."""
