"""Joins with a few known rows as lists of values: ``s.k IN (1, 2)`` instead of a semi join.

A list is a filter: file statistics apply to it, and Spark needs no job to broadcast the rows. It is
made only of values that are equal only to themselves, and compared with values of their own type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from predtrace.engines.sql.literals import sql_literal
from predtrace.engines.sql.predicates import Key, Split
from symbolic.expr import Expr, Literal, Param
from symbolic.types import same_if_equal

MOST_ROWS = 1_000
"""The most rows whose values are listed: texts of queries have to be read, too."""

Row = Mapping[int, Literal]
"""The values of a row, by column id."""


class Lists:
    """The conditions that a join with known rows sets for the rows of ``s``."""

    def __init__(self, rows: Sequence[Row], compile: Callable[[Expr], exp.Expr], dialect: str):
        self._rows = rows
        self._compile = compile
        self._dialect = dialect

    def instead(self, parts: Split) -> list[exp.Expr] | None:
        """Conditions that keep exactly the rows that meet a known row; None if only a join does."""
        whole = parts.keys and not parts.bound and not parts.residual
        if not whole or not self._rows or not all(map(self._is_listable, parts.keys)):
            return None
        narrowed = self.narrowing(parts)
        return narrowed if len(parts.keys) == 1 else [*narrowed, self._tuples(parts.keys)]

    def narrowing(self, parts: Split) -> list[exp.Expr]:
        """Conditions that hold for all rows that meet a known row: a list for each key."""
        if not self._rows:
            return []
        return [self._values(key) for key in parts.keys if self._is_listable(key)]

    def _is_listable(self, key: Key) -> bool:
        return (
            isinstance(key.bound, Param)
            and key.bound.column in self._rows[0]
            and key.bound.type == key.scanned.type
            and same_if_equal([key.bound.type])
        )

    def _values(self, key: Key) -> exp.Expr:
        """Whether a key's value is one of the known ones."""
        assert isinstance(key.bound, Param)
        column = key.bound.column
        values = dict.fromkeys(row[column] for row in self._rows)
        present = [value for value in values if value.value is not None]
        scanned = self._compile(key.scanned)
        found: list[exp.Expr] = []
        if present:
            found.append(exp.In(this=scanned, expressions=list(map(self._literal, present))))
        if key.null_safe and len(present) < len(values):
            found.append(exp.Is(this=scanned.copy(), expression=exp.Null()))
        return exp.paren(exp.or_(*found, copy=False), copy=False) if found else exp.false()

    def _tuples(self, keys: Sequence[Key]) -> exp.Expr:
        """Whether the values of all keys are those of one known row.

        Fields of tuples are compared null-safely: a NULL of a plain key is left out.
        """
        params = [key.bound for key in keys if isinstance(key.bound, Param)]
        rows = dict.fromkeys(tuple(row[param.column] for param in params) for row in self._rows)
        tuples = [
            exp.Tuple(expressions=list(map(self._literal, row)))
            for row in rows
            if all(v.value is not None or k.null_safe for v, k in zip(row, keys, strict=True))
        ]
        scanned = exp.Tuple(expressions=[self._compile(key.scanned) for key in keys])
        return exp.In(this=scanned, expressions=tuples) if tuples else exp.false()

    def _literal(self, value: Literal) -> exp.Expr:
        return sql_literal(value, self._dialect)
