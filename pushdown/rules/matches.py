"""The common part of the rules of operators that match left and right rows."""

from __future__ import annotations

from typing import Any

from pushdown.operators.base import Columns
from pushdown.rewrite import restrictions
from pushdown.rules.base import Tables
from symbolic.encode import Encoder
from symbolic.expr import Expr


def onto(predicate: Expr, columns: Columns) -> tuple[Expr, ...]:
    """The predicate expressed with `columns`; on request also its terms over params alone."""
    plain, full = restrictions(predicate, columns)
    return (plain,) if full == plain else (plain, full)


def matching(condition: Expr, tables: Tables, encoder: Encoder) -> list[list[Any]]:
    """For every pair of rows, whether the condition is true: a Z3 Bool."""
    left, right = tables
    return [
        [encoder.truth(condition, {**l_row.values, **r_row.values}) for r_row in right]
        for l_row in left
    ]
