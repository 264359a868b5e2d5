"""Random expressions over given columns: predicates, and values of given types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from hypothesis import strategies as st

from symbolic.expr import TRUE, Call, Column, Expr, Literal, call, conjunction
from symbolic.types import (
    BOOLEAN,
    DATE,
    INTEGER,
    LONG,
    STRING,
    DataType,
    Date,
    Decimal,
    Float,
    Integer,
    String,
)
from tests.strategies.values import present_values, values

T = TypeVar("T")
_COMPARISONS = ("eq", "eq", "lt", "le", "gt", "ge", "nullsafe_eq")
_PATTERNS = ("a%", "%b", "_", "%", "a\\%%", "%\\_%", "", "a_b")


class Draw(Protocol):
    """Hypothesis's `draw`."""

    def __call__(self, strategy: st.SearchStrategy[T]) -> T: ...


def one_of(draw: Draw, items: Sequence[T]) -> T:
    """One of the items, at random."""
    return draw(st.sampled_from(list(items)))


def likely(draw: Draw, chance: int) -> bool:
    """True in one of `chance` cases; False is what failing examples shrink to."""
    return draw(st.integers(1, chance)) == chance


def literal(draw: Draw, data_type: DataType, nullable: bool = False) -> Literal:
    """A constant of the type."""
    value: Any = draw(values(data_type) if nullable else present_values(data_type))
    return Literal(value, data_type)


def predicate(draw: Draw, columns: Sequence[Column], depth: int = 2) -> Expr:
    """A Boolean expression over the columns (of which there may be none)."""
    if not columns:
        return TRUE
    kind = one_of(draw, ("leaf", "leaf", "leaf", "and", "or", "not") if depth else ("leaf",))
    if kind == "leaf":
        return _leaf(draw, columns)
    first = predicate(draw, columns, depth - 1)
    if kind == "not":
        return call("not", first)
    return Call(kind, (first, predicate(draw, columns, depth - 1)), BOOLEAN)


def _leaf(draw: Draw, columns: Sequence[Column]) -> Expr:
    column = one_of(draw, columns)
    kind = one_of(draw, ("compare", "compare", "compare", "null", "in", "own"))
    match kind:
        case "null":
            return call(one_of(draw, ("is_null", "is_not_null")), column)
        case "in":
            items = [literal(draw, column.type, nullable=likely(draw, 4)) for _ in range(2)]
            return call("in", column, *items)
        case "own" if isinstance(column.type, String):
            escape = Literal("\\", STRING)
            return call("like", column, Literal(one_of(draw, _PATTERNS), STRING), escape)
        case "own" if column.type == BOOLEAN:
            return column
    left: Expr = column
    if likely(draw, 4):
        left = value_of(draw, column.type, columns)
    return call(one_of(draw, _COMPARISONS), left, value_of(draw, column.type, columns, depth=0))


def join_condition(draw: Draw, left: Sequence[Column], right: Sequence[Column]) -> Expr:
    """A condition over two inputs: mostly equalities, sometimes anything, sometimes TRUE."""
    pairs = [(a, b) for a in left for b in right if a.type == b.type]
    terms: list[Expr] = []
    for _ in range(one_of(draw, (0, 1, 1, 1, 2)) if pairs else 0):
        first, second = one_of(draw, pairs)
        terms.append(call(one_of(draw, ("eq", "eq", "eq", "nullsafe_eq", "lt")), first, second))
    if likely(draw, 4):
        terms.append(predicate(draw, (*left, *right), depth=1))
    return conjunction(*terms)


def value_of(
    draw: Draw, data_type: DataType, columns: Sequence[Column], depth: int = 1
) -> Expr:  # fmt: skip
    """An expression of exactly this type."""
    fitting = [column for column in columns if column.type == data_type]
    kinds = ["literal"] + ["column"] * 3 * bool(fitting) + ["computed", "computed"] * bool(depth)
    match one_of(draw, kinds):
        case "literal":
            return literal(draw, data_type, nullable=likely(draw, 4))
        case "column":
            return one_of(draw, fitting)
    return _computed(draw, data_type, columns)


def _computed(draw: Draw, data_type: DataType, columns: Sequence[Column]) -> Expr:
    def part(part_type: DataType = data_type) -> Expr:
        return value_of(draw, part_type, columns, depth=0)

    general = one_of(draw, ("case", "coalesce", "own", "own"))
    if general == "case":
        condition = predicate(draw, columns, depth=0)
        return Call("case", (condition, part(), part()), data_type)
    match data_type:
        case Integer() if general == "own":
            if data_type == INTEGER and likely(draw, 3):
                return Call("year", (part(DATE),), INTEGER)
            if data_type == LONG:
                return Call("cast", (part(INTEGER),), LONG)
            function = one_of(draw, ("add", "subtract", "multiply"))
            return Call(function, (part(), part()), data_type)
        case String() if general == "own":
            return _text(draw, part)
        case Date() if general == "own":
            days = Literal(draw(st.integers(-2, 31)), INTEGER)
            return Call("date_add", (part(), days), data_type)
        case Float() if general == "own":
            return Call("add", (part(), part()), data_type)
        case Decimal() if general == "own":
            return Call("negate", (part(),), data_type)
    return Call("coalesce", (part(), part()), data_type)


def _text(draw: Draw, part: Any) -> Expr:
    match one_of(draw, ("upper", "concat", "substring", "cast")):
        case "upper":
            return Call("upper", (part(),), STRING)
        case "concat":
            return Call("concat", (part(), part()), STRING)
        case "cast":
            return Call("cast", (part(INTEGER),), STRING)
    start, length = Literal(draw(st.integers(-2, 3)), INTEGER), Literal(1, INTEGER)
    return Call("substring", (part(), start, length), STRING)
