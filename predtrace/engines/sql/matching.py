"""Join conditions taken apart, so that semi and anti joins find keys to hash."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import msgspec

from predtrace.engines.sql.predicates import may_be_null
from symbolic.expr import (
    FALSE,
    TRUE,
    Call,
    Column,
    Expr,
    call,
    column_ids,
    conjunction,
    conjuncts,
    disjunction,
)

_MOST_ALTERNATIVES = 8


class Alternative(msgspec.Struct, frozen=True):
    """A condition as a conjunction, by what terms read: the right side (or nothing), the left,
    both."""

    right: Expr
    left: Expr
    both: Expr

    @property
    def keyed(self) -> bool:
        """Whether an equality relates the sides, or no term does."""
        return self.both == TRUE or any(_is_equality(term) for term in conjuncts(self.both))


def divided(condition: Expr, right: Sequence[Column]) -> Alternative:
    """The condition's terms, by the sides that they read; `right` are the right side's columns."""
    inner = {column.id for column in right}
    parts: dict[str, list[Expr]] = {"right": [], "left": [], "both": []}
    for term in conjuncts(condition):
        read = column_ids(term)
        side = "right" if read <= inner else "both" if read & inner else "left"
        parts[side].append(term)
    return Alternative(**{side: conjunction(*terms) for side, terms in parts.items()})


def alternatives(condition: Expr, right: Sequence[Column]) -> tuple[Alternative, ...]:
    """Alternatives: one of them is true wherever `condition` is true, and none is elsewhere.

    An anti join keeps the left rows for which no right row makes the condition true. An OR is true
    exactly if one of its terms is true, whatever NULLs the others give. So a chain of anti joins
    gives the same rows: the first for the first term, the second for the second, and so on. NOT
    IN's ``a = b OR (a = b) IS NULL`` becomes three of them: on ``a = b`` (hashed), on ``a IS NULL``
    if there is any right row, on TRUE if there is a right row with ``b IS NULL``.

    The condition stays whole if it already has a key, or if some alternative would have none.
    """
    whole = divided(condition, right)
    if whole.keyed:
        return (whole,)
    choices = [_disjuncts(term) for term in conjuncts(condition)]
    if math.prod(map(len, choices)) > _MOST_ALTERNATIVES:
        return (whole,)
    found = tuple(
        divided(conjunction(*terms), right)
        for terms in itertools.product(*choices)
        if FALSE not in terms
    )
    return found if all(alternative.keyed for alternative in found) else (whole,)


def _disjuncts(term: Expr) -> tuple[Expr, ...]:
    match term:
        case Call(function="or", args=args):
            return tuple(part for arg in args for part in _disjuncts(arg))
        case Call(function="is_null", args=(Call(function="eq", args=sides),)):
            # An equality is NULL where a side is, and nowhere else.
            nulls = (call("is_null", side) if may_be_null(side) else FALSE for side in sides)
            return _flat(disjunction(*nulls))
        case _:
            return (term,)


def _flat(expr: Expr) -> tuple[Expr, ...]:
    return expr.args if isinstance(expr, Call) and expr.function == "or" else (expr,)


def _is_equality(term: Expr) -> bool:
    return isinstance(term, Call) and term.function in ("eq", "nullsafe_eq")
