"""SQL predicates over the output columns, as typed expressions.

The text is parsed to a tree, and only comparisons, logic, LIKE, IN, BETWEEN and IS over
columns and constants are taken from it; it never reaches an engine as text.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
from collections.abc import Callable
from typing import Any

from predtrace.engines.predicates import family
from predtrace.errors import TargetError
from predtrace.target_values import convert
from symbolic.expr import Call, Column, Expr, Literal, call, conjunction, disjunction, same
from symbolic.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    NULL,
    STRING,
    TIMESTAMP,
    DataType,
    Decimal,
    Float,
    Integer,
    Null,
    String,
    Timestamp,
    is_numeric,
    type_name,
)

_COMPARISONS = {"EQ": "eq", "LT": "lt", "LTE": "le", "GT": "gt", "GTE": "ge"}
_PRECISION = 38


def parse_predicate(
    text: str,
    find: Callable[[str], Column],
    instant: Callable[[dt.datetime], dt.datetime],
) -> Expr:
    """The predicate as an expression over the output columns.

    `find` gives a column by name (or raises TargetError), `instant` a zoned timestamp in
    UTC. Raises TargetError for text that is no SQL or uses more than this module takes.
    """
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        # As the only condition of a query: a second statement or clause is an error.
        tree = sqlglot.parse_one(text, read="spark", into=sqlglot.exp.Condition)
    except SqlglotError as error:
        reason = str(error).splitlines()[0]
        raise TargetError(f"the target predicate {text!r} cannot be parsed: {reason}") from error
    return _Reader(text, find, instant).condition(tree)


class _Reader:
    def __init__(
        self,
        text: str,
        find: Callable[[str], Column],
        instant: Callable[[dt.datetime], dt.datetime],
    ) -> None:
        self._text = text
        self._find = find
        self._instant = instant

    def condition(self, tree: Any) -> Expr:
        """A tree in Boolean position."""
        name = type(tree).__name__
        if name == "Paren":
            return self.condition(tree.this)
        if name == "And":
            return conjunction(self.condition(tree.this), self.condition(tree.expression))
        if name == "Or":
            return disjunction(self.condition(tree.this), self.condition(tree.expression))
        if name == "Not":
            return call("not", self.condition(tree.this))
        if name in _COMPARISONS:
            return self._comparison(_COMPARISONS[name], tree.this, tree.expression)
        if name == "NEQ":
            return call("not", self._comparison("eq", tree.this, tree.expression))
        if name == "NullSafeEQ":
            return same(*self._alike(tree.this, tree.expression))
        if name == "NullSafeNEQ":
            return call("not", same(*self._alike(tree.this, tree.expression)))
        handler = _CONDITIONS.get(name)
        if handler is not None:
            found = handler(self, tree)
            # NOT LIKE is a mark on the node.
            negated = tree.args.get("negate") or tree.this.args.get("negate")
            return call("not", found) if negated else found
        value = self.value(tree)
        if value.type != BOOLEAN and not isinstance(value.type, Null):
            raise TargetError(
                f"the target predicate {self._text!r} must be a condition, but {tree.sql('spark')} "
                f"is {type_name(value.type)}; give a whole row as a tuple"
            )
        return value

    def value(self, tree: Any) -> Expr:
        """A column or constant."""
        name = type(tree).__name__
        if name == "Paren":
            return self.value(tree.this)
        if name == "Column":
            return self._column(tree)
        if name == "Literal":
            return _constant(tree.this) if not tree.is_string else Literal(tree.this, STRING)
        if name == "Neg" and type(tree.this).__name__ == "Literal" and not tree.this.is_string:
            return _constant(f"-{tree.this.this}")
        if name == "Boolean":
            return Literal(bool(tree.this), BOOLEAN)
        if name == "Null":
            return Literal(None, NULL)
        if name in ("Cast", "TryCast"):
            return self._typed(tree)
        raise self._refuse(tree)

    def _column(self, tree: Any) -> Column:
        if tree.table:
            name = tree.sql("spark")
            raise TargetError(
                f"{name} in the target predicate is not a plain column name; write a name with "
                f"dots in backticks: `{name.replace('`', '')}`"
            )
        return self._find(tree.name)

    def _typed(self, tree: Any) -> Expr:
        """DATE '…', TIMESTAMP '…' and casts of texts to these."""
        inner = tree.this
        if type(inner).__name__ != "Literal" or not inner.is_string:
            raise self._refuse(tree)
        kind = tree.to.this.value
        if kind == "DATE":
            return Literal(convert(inner.this, DATE, "DATE"), DATE)
        if kind in ("TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMPLTZ"):
            return Literal(self._instant(convert(inner.this, TIMESTAMP, "TIMESTAMP")), TIMESTAMP)
        raise self._refuse(tree)

    def _comparison(self, function: str, left: Any, right: Any) -> Expr:
        return call(function, *self._alike(left, right))

    def _alike(self, left: Any, right: Any) -> tuple[Expr, Expr]:
        one, other = self.value(left), self.value(right)
        if isinstance(one, Literal) and not isinstance(other, Literal):
            return self._common(self._as(one, other), other)
        if isinstance(other, Literal) and not isinstance(one, Literal):
            return self._common(one, self._as(other, one))
        return self._common(one, other)

    def _as(self, constant: Literal, column: Expr) -> Expr:
        """A constant as a value of the column's type, or as one that compares with it."""
        assert isinstance(column, Column)
        if constant.value is None:
            return Literal(None, column.type)
        if is_numeric(column.type) and is_numeric(constant.type):
            return _number_for(constant, column.type)
        value = convert(constant.value, column.type, column.name)
        if isinstance(column.type, Timestamp) and column.type.zoned:
            value = self._instant(value)
        return Literal(value, column.type)

    def _common(self, one: Expr, other: Expr) -> tuple[Expr, Expr]:
        if Null in (type(one.type), type(other.type)) or family(one.type) == family(other.type):
            return one, other
        if is_numeric(one.type) and is_numeric(other.type):
            common = _common_number(one.type, other.type)
            return _cast(one, common), _cast(other, common)
        raise TargetError(
            f"the target predicate {self._text!r} compares {type_name(one.type)} "
            f"with {type_name(other.type)}"
        )

    def _is(self, tree: Any) -> Expr:
        right = type(tree.expression).__name__
        if right == "Null":
            return call("is_null", self.value(tree.this))
        if right == "Boolean":
            return same(self.condition(tree.this), Literal(bool(tree.expression.this), BOOLEAN))
        raise self._refuse(tree)

    def _in(self, tree: Any) -> Expr:
        items = tree.expressions
        if not items or tree.args.get("query") or tree.args.get("unnest"):
            raise self._refuse(tree)
        return disjunction(*(self._comparison("eq", tree.this, item) for item in items))

    def _between(self, tree: Any) -> Expr:
        low = self._comparison("ge", tree.this, tree.args["low"])
        return conjunction(low, self._comparison("le", tree.this, tree.args["high"]))

    def _like(self, tree: Any, escape: str = "\\") -> Expr:
        value, pattern = self.value(tree.this), self.value(tree.expression)
        if not (isinstance(value.type, String) and isinstance(pattern.type, String)):
            raise TargetError(f"LIKE in the target predicate {self._text!r} needs text")
        return call("like", value, pattern, Literal(escape, STRING))

    def _escaped_like(self, tree: Any) -> Expr:
        if type(tree.this).__name__ != "Like" or not tree.expression.is_string:
            raise self._refuse(tree)
        return self._like(tree.this, tree.expression.this)

    def _refuse(self, tree: Any) -> TargetError:
        return TargetError(
            f"the target predicate may compare output columns with constants (=, <, LIKE, IN, "
            f"BETWEEN, IS NULL, AND, OR, NOT); it has {tree.sql('spark')}"
        )


_CONDITIONS: dict[str, Callable[[_Reader, Any], Expr]] = {
    "Is": _Reader._is,
    "In": _Reader._in,
    "Between": _Reader._between,
    "Like": _Reader._like,
    "Escape": _Reader._escaped_like,
}


def _constant(text: str) -> Literal:
    """A number as written: whole, decimal, or (with an exponent) floating."""
    if "e" in text.lower():
        if not math.isfinite(float(text)):
            raise TargetError(f"the number {text} is too large")
        return Literal(float(text), DOUBLE)
    number = decimal.Decimal(text)
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    scale = max(-exponent, 0)
    digits = max(len(number.as_tuple().digits), scale + 1)
    if digits > _PRECISION:
        raise TargetError(f"the number {text} has more than {_PRECISION} digits")
    return Literal(number, Decimal(digits, scale))


def _number_for(constant: Literal, data_type: DataType) -> Literal:
    """A number to compare a column of the type with: exact, in a type of the same kind."""
    value = constant.value
    if isinstance(data_type, Float):
        return Literal(float(value), DOUBLE)
    if isinstance(value, float):
        value = decimal.Decimal(repr(value))
    if isinstance(data_type, Integer) and value == value.to_integral_value():
        whole = int(value)
        if -(2**63) <= whole < 2**63:
            return Literal(whole, Integer(64))
    exponent = value.as_tuple().exponent
    scale = max(-exponent, 0) if isinstance(exponent, int) else 0
    digits = max(len(value.as_tuple().digits), scale + 1)
    return Literal(value, Decimal(min(digits, _PRECISION), scale))


def _common_number(one: DataType, other: DataType) -> DataType:
    if isinstance(one, Float) or isinstance(other, Float):
        return DOUBLE
    exact = [_as_decimal(one), _as_decimal(other)]
    scale = max(t.scale for t in exact)
    return Decimal(min(max(t.precision - t.scale for t in exact) + scale, _PRECISION), scale)


def _as_decimal(data_type: DataType) -> Decimal:
    return data_type if isinstance(data_type, Decimal) else Decimal(19, 0)


def _cast(expr: Expr, data_type: DataType) -> Expr:
    if isinstance(expr, Literal) and isinstance(data_type, Decimal) and expr.value is not None:
        return Literal(decimal.Decimal(expr.value), data_type)
    return expr if expr.type == data_type else Call("cast", (expr,), data_type)
