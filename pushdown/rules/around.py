"""Predicates on the rows around a row: its partition, the rows before it, its frame.

A predicate above pins keys and values of the own row; these predicates compare the input's rows
with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from pushdown.operators.order import SortKey
from pushdown.operators.windows import Bound, Frame, WindowFunction
from pushdown.readings import MINIMAL
from pushdown.rewrite import simplify, stand_ins
from pushdown.rules.base import Context
from symbolic.expr import (
    FALSE,
    TRUE,
    Column,
    Expr,
    Literal,
    Param,
    call,
    column_ids,
    conjunction,
    conjuncts,
    disjunction,
    same,
    substitute,
)
from symbolic.functions import WINDOW_ONLY, Draws, Reach


class Around(msgspec.Struct, frozen=True):
    """The rows that a function sees around the rows which a predicate above selects."""

    function: WindowFunction
    above: Expr

    def value(self, expr: Expr) -> Expr | None:
        """The value that the predicate pins an expression of the own row to; None if it does
        not."""
        found = substitute(expr, stand_ins(conjuncts(self.above), ()))
        return None if column_ids(found) else simplify(found)

    def partition(self) -> Expr:
        """The rows of the same partition."""
        pinned = ((key, self.value(key)) for key in self.function.partition)
        return conjunction(*(same(key, value) for key, value in pinned if value is not None))

    def before(self, *, peers: bool) -> Expr:
        """The rows before the own row, in the window's order; with its peers or without."""
        keys = self.function.order
        return self._ahead(keys, [self.value(key.value) for key in keys], peers=peers)

    def after(self) -> Expr:
        """The own row's peers, and the rows after it."""
        keys = self.function.order
        return self._ahead(
            map(_reversed, keys), [self.value(key.value) for key in keys], peers=True
        )

    def frame(self, frame: Frame) -> Expr:
        """The rows of the own row's frame."""
        lower = map(_reversed, self.function.order)
        return conjunction(
            self._within(lower, frame.lower), self._within(self.function.order, frame.upper)
        )

    def _within(self, keys: Iterable[SortKey], bound: Bound | None) -> Expr:
        if bound is None or not bound.keys:
            return TRUE
        return self._ahead(keys, [self.value(key) for key in bound.keys], peers=True)

    def _ahead(
        self, keys: Iterable[SortKey], values: Sequence[Expr | None], *, peers: bool
    ) -> Expr:
        """The rows whose keys come before the values, or with `peers` are equal to them.

        Behind a value that is not known every row may be.
        """
        branches: list[Expr] = []
        equals: list[Expr] = []
        for place, (key, value) in enumerate(zip(keys, values, strict=True), start=1):
            if value is None:
                return disjunction(*branches, conjunction(*equals))
            last = place == len(values)
            branches.append(conjunction(*equals, _ahead(key, value, peers=peers and last)))
            equals.append(same(key.value, value))
        return disjunction(*branches) if values else _always(peers)


def _always(holds: bool) -> Expr:
    return TRUE if holds else FALSE


def _reversed(key: SortKey) -> SortKey:
    return SortKey(key.value, not key.ascending, not key.nulls_first)


_COMPARISONS = {(True, False): "lt", (True, True): "le", (False, False): "gt", (False, True): "ge"}


def _ahead(key: SortKey, value: Expr, *, peers: bool) -> Expr:
    """The rows whose key comes before the value, or with `peers` is equal to it.

    A comparison with NULL is NULL: where NULLs stand is written out.
    """
    compared = call(_COMPARISONS[key.ascending, peers], key.value, value)
    null, other = (key.value, value) if key.nulls_first else (value, key.value)
    tested = _is_null(null)
    if not peers and tested != FALSE:
        tested = conjunction(tested, _is_not_null(other))
    return disjunction(compared, tested)


def _is_null(expr: Expr) -> Expr:
    if isinstance(expr, Literal):
        return _always(expr.value is None)
    # The solver does not know that a sum is never NULL: its NULLs are written out, too.
    never = isinstance(expr, (Column, Param)) and not expr.nullable
    return FALSE if never else call("is_null", expr)


def _is_not_null(expr: Expr) -> Expr:
    null = _is_null(expr)
    if isinstance(null, Literal):
        return _always(null == FALSE)
    return call("is_not_null", expr)


def drawn_on(function: WindowFunction, above: Expr, context: Context) -> Expr:
    """The rows beside the own that a function's value is lineage of."""
    around = Around(function, above)
    return conjunction(around.partition(), simplify(_drawn_on(around, context)))


def _drawn_on(around: Around, context: Context) -> Expr:
    function = around.function
    minimal = context.aggregates == MINIMAL
    argument = function.call.args[0] if function.call.args else None
    value = around.value(function.column)
    match function.draws:
        case Draws.BEFORE:
            return around.before(peers=False)
        case Draws.BEFORE_AND_TIES:
            return _numbered(around, value)
        case Draws.PARTITION:
            return TRUE
        case Draws.GIVER if minimal or not takes_from_frame(function):
            return _given(around, argument, value)
    frame = around.frame(function.frame)
    if function.attains and minimal and value is not None:
        assert argument is not None
        return conjunction(frame, call("eq", argument, value))
    return frame


def _numbered(around: Around, value: Expr | None) -> Expr:
    """The rows before, and the peers of a row that is not the first of them."""
    if isinstance(value, Literal) and value.value == 1:
        return FALSE
    (rank,) = (around.value(column) for column in around.function.beside)
    if value is None or rank is None:
        return around.before(peers=True)
    keys = ((key.value, around.value(key.value)) for key in around.function.order)
    peers = (same(key, pinned) for key, pinned in keys if pinned is not None)
    return disjunction(around.before(peers=False), conjunction(call("gt", value, rank), *peers))


def _given(around: Around, argument: Expr | None, value: Expr | None) -> Expr:
    """The row that gave the value, as far as it is known, with its peers that hold the value."""
    assert argument is not None
    there, *keys = (around.value(column) for column in around.function.beside)
    terms = [] if there is None else [there]
    terms += [
        same(key, pinned)
        for key, pinned in zip(around.function.giver, keys, strict=True)
        if pinned is not None
    ]
    terms += [] if value is None else [same(argument, value)]
    return conjunction(*terms)


def reached(function: WindowFunction, above: Expr) -> Expr:
    """The rows that are enough to compute a function's value again."""
    around = Around(function, above)
    return conjunction(around.partition(), simplify(_reached(around)))


def _reached(around: Around) -> Expr:
    function = around.function
    row = WINDOW_ONLY.get(function.call.function)
    match Reach.FRAME if row is None else row.reach:
        case Reach.UP_TO_PEERS:
            return around.before(peers=True)
        case Reach.FROM_PEERS:
            return around.after()
        case Reach.FRAME:
            return around.frame(function.frame)
    return TRUE


def takes_from_frame(function: WindowFunction) -> bool:
    """Whether its value is that of some row of its frame, as first_value's."""
    return WINDOW_ONLY[function.call.function].reach is Reach.FRAME


def draws_on_own(function: WindowFunction, context: Context) -> bool:
    """Whether its value is surely lineage of the own row, too."""
    if function.draws is not None:
        return function.draws is Draws.PARTITION
    return function.frame.holds_current and not (function.attains and context.aggregates == MINIMAL)


def reaches_own(function: WindowFunction) -> bool:
    """Whether the own row is surely among the rows that are enough to compute its value."""
    row = WINDOW_ONLY.get(function.call.function)
    by_frame = row is None or row.reach is Reach.FRAME
    return function.frame.holds_current or not by_frame
