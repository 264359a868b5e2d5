"""Values as Spark compares, orders and groups them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple


class Settings(NamedTuple):
    """What a session's settings say about values."""

    zone: str
    ansi: bool


class RaisesError(Exception):
    """Spark raises an error here, or might."""


def key(value: Any) -> Any:
    """Equal for values that are equal to Spark (NULL like any other), and ordered alike."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value + 0.0)
    return value


def row_key(row: Sequence[Any]) -> tuple[Any, ...]:
    """A row's `key`, by which equal rows are found."""
    return tuple(map(key, row))


def normalized(value: Any) -> Any:
    """The value that stands for its equals: 0.0 for -0.0."""
    return value + 0.0 if isinstance(value, float) else value


def equal(left: Any, right: Any) -> bool | None:
    """``left = right``."""
    return None if left is None or right is None else bool(key(left) == key(right))


def conjunction(terms: Sequence[bool | None]) -> bool | None:
    """AND in three-valued logic."""
    if any(term is False for term in terms):
        return False
    return None if any(term is None for term in terms) else True


def disjunction(terms: Sequence[bool | None]) -> bool | None:
    """OR in three-valued logic."""
    if any(term is True for term in terms):
        return True
    return None if any(term is None for term in terms) else False


def negation(term: bool | None) -> bool | None:
    """NOT in three-valued logic."""
    return None if term is None else not term
