"""SQL predicates over the output columns, as typed expressions.

The text is parsed to a tree, and only comparisons, logic, LIKE, IN, BETWEEN and IS over
columns and constants are taken from it; it never reaches an engine as text.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

from predtrace.errors import TargetError
from predtrace.jobs.model import EngineSettings
from predtrace.targets.comparisons import alike, is_time, number, whole_bound
from predtrace.targets.values import convert
from symbolic.expr import Column, Expr, Literal, call, conjunction, disjunction, same
from symbolic.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    NULL,
    STRING,
    TIMESTAMP,
    DataType,
    Integer,
    String,
    Timestamp,
    type_name,
)

_COMPARISONS = {"EQ": "eq", "LT": "lt", "LTE": "le", "GT": "gt", "GTE": "ge"}
_TIMES: dict[str, DataType] = {
    "DATE": DATE,
    "TIMESTAMP": TIMESTAMP,
    "TIMESTAMPTZ": TIMESTAMP,
    "TIMESTAMPLTZ": TIMESTAMP,
    "TIMESTAMPNTZ": Timestamp(zoned=False),
}
"""Constants that have a type before their text, by sqlglot's name for the type."""
_LETTERS: dict[str, DataType] = {
    "TINYINT": Integer(8),
    "SMALLINT": Integer(16),
    "BIGINT": Integer(64),
    "DOUBLE": DOUBLE,
}
"""Numbers with a letter behind them (Y, S, L, D), by sqlglot's name of the type."""
_TIMESTAMP_TYPE = "spark.sql.timestampType"
"""The saved setting that changes what the text of a constant means: other settings of the parser
are not saved, and texts are read by their defaults."""


def parse_predicate(
    text: str,
    find: Callable[[str], Column],
    instant: Callable[[dt.datetime], dt.datetime],
    settings: EngineSettings,
) -> Expr:
    """The predicate as an expression over the output columns, as Spark reads the text.

    `find` returns a column by name (or raises TargetError), `instant` a zoned timestamp in UTC.
    Raises TargetError for text that is not SQL or uses more than this module supports.
    """
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        # As the only condition of a query: a second statement or clause is an error.
        tree = sqlglot.parse_one(text, read="spark", into=sqlglot.exp.Condition)
    except SqlglotError as error:
        raise TargetError(
            f"the target predicate {text!r} cannot be parsed as a SQL condition over the output"
        ) from error
    meant = settings.conf.get(_TIMESTAMP_TYPE)
    if meant not in (None, "TIMESTAMP_LTZ") and "timestamp" in text.casefold():
        raise TargetError(
            f"the job ran with {_TIMESTAMP_TYPE}={meant}, under which TIMESTAMP in the text of a "
            "predicate means something else; give the target as a row or a dict of values"
        )
    return _Reader(text, find, instant, settings.ansi).condition(tree)


class _Reader:
    def __init__(
        self,
        text: str,
        find: Callable[[str], Column],
        instant: Callable[[dt.datetime], dt.datetime],
        ansi: bool,
    ) -> None:
        self._text = text
        self._find = find
        self._instant = instant
        self._ansi = ansi

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
        if value.type != BOOLEAN:
            raise TargetError(
                f"the target predicate {self._text!r} must be a condition, but {tree.sql('spark')} "
                f"is {type_name(value.type)}; compare it with a value"
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
            return Literal(tree.this, STRING) if tree.is_string else number(tree.this)
        if name == "Neg" and type(tree.this).__name__ == "Literal" and not tree.this.is_string:
            return number(f"-{tree.this.this}")
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
        """DATE '…', TIMESTAMP '…', casts of texts to these, and numbers with a letter (1L)."""
        inner = tree.this
        kind = tree.to.this.value
        if type(inner).__name__ != "Literal":
            raise self._refuse(tree)
        if not inner.is_string and kind in _LETTERS:
            found = number(inner.this)
            return Literal(convert(found.value, _LETTERS[kind], kind), _LETTERS[kind])
        if inner.is_string and kind in _TIMES and is_time(inner.this, _TIMES[kind]):
            return Literal(convert(inner.this, _TIMES[kind], kind), _TIMES[kind])
        raise self._refuse(tree)

    def _comparison(self, function: str, left: Any, right: Any) -> Expr:
        sides = self.value(left), self.value(right)
        if function != "eq":
            sides = whole_bound(function, *sides)
        one, other = self._in_common(list(sides))
        return call(function, one, other)

    def _alike(self, left: Any, right: Any) -> tuple[Expr, Expr]:
        one, other = self._in_common([self.value(left), self.value(right)])
        return one, other

    def _in_common(self, sides: list[Expr], *, listed: bool = False) -> list[Expr]:
        """The sides in the type that Spark compares them in, zoned timestamps as instants."""
        return [
            Literal(self._instant(side.value), side.type)
            if isinstance(side, Literal) and side.type == TIMESTAMP and side.value is not None
            else side
            for side in alike(sides, ansi=self._ansi, listed=listed)
        ]

    def _is(self, tree: Any) -> Expr:
        if type(tree.this).__name__ in _CONDITIONS:
            raise self._refuse(tree)  # Spark wants it in parentheses
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
        value, *others = self._in_common([self.value(t) for t in (tree.this, *items)], listed=True)
        return disjunction(*(call("eq", value, other) for other in others))

    def _between(self, tree: Any) -> Expr:
        if tree.args.get("symmetric"):
            raise self._refuse(tree)
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
