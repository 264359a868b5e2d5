"""Joins that give pairs of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from pushdown.operators.base import (
    Columns,
    Guesses,
    Ids,
    itself,
)
from pushdown.operators.matches import Matching
from symbolic.expr import (
    Expr,
    conjuncts,
)

PRESERVED = {"left": (True, False), "right": (False, True), "full": (True, True)}
"""Kind of outer join to: which sides' rows appear without a partner, too."""


class InnerJoin(Matching, frozen=True, tag=True, kw_only=True):
    """Pairs of rows for which `condition` is true; a cross join has TRUE."""

    def output(self, *inputs: Columns) -> Columns:
        """Left, then right."""
        return inputs[0] + inputs[1]

    def made_of(self, *inputs: Columns) -> Mapping[int, Ids]:
        """The columns themselves."""
        return itself(inputs[0] + inputs[1])

    @property
    def keeps_apart(self) -> tuple[int, ...]:
        """A pair is a row of each."""
        return (0, 1)

    @property
    def padded(self) -> tuple[int, ...]:
        """None: a pair is a row of each."""
        return ()

    @property
    def equalities(self) -> tuple[Expr, ...]:
        """What the condition says."""
        return conjuncts(self.condition)

    def estimate(self, rows: Sequence[float], guesses: Guesses) -> float:
        """The condition's share of all pairs."""
        return rows[0] * rows[1] * guesses.selectivity(self.condition)


class OuterJoin(Matching, frozen=True, tag=True, kw_only=True):
    """`kind` is left, right or full; the preserved side's partners are padded with NULLs."""

    kind: str

    def output(self, *inputs: Columns) -> Columns:
        """Left, then right; a side that may be padded is nullable."""
        left, right = inputs
        keeps_left, keeps_right = PRESERVED[self.kind]
        return (_padded(left) if keeps_right else left) + (_padded(right) if keeps_left else right)

    def made_of(self, *inputs: Columns) -> Mapping[int, Ids]:
        """The columns themselves."""
        return itself(inputs[0] + inputs[1])

    @property
    def keeps_apart(self) -> tuple[int, ...]:
        """A row is one of each side, or of one."""
        return (0, 1)

    @property
    def padded(self) -> tuple[int, ...]:
        """The sides whose partners are kept."""
        keeps_left, keeps_right = PRESERVED[self.kind]
        return (*((0,) if keeps_right else ()), *((1,) if keeps_left else ()))

    @property
    def equalities(self) -> tuple[Expr, ...]:
        """No terms: the condition need not hold for padded rows."""
        return ()

    def estimate(self, rows: Sequence[float], guesses: Guesses) -> float:
        """As an inner join, and at least the larger side."""
        matched = rows[0] * rows[1] * guesses.selectivity(self.condition)
        return max(matched, *rows)


def _padded(columns: Columns) -> Columns:
    return tuple(msgspec.structs.replace(column, nullable=True) for column in columns)
