"""The evidence that a prediction needs.

**What has to be confirmed.** For a dimensional signature: a further call has the same table as the
first. For a form: it fits a further shape. As many shapes as the form has free coefficients
determine it and confirm nothing.

**How often.** At least `CONFIRMATIONS` times, as in DSLog (m = 2, Section VI-C; there the shapes
that determine a form count, too). But if lineage depends on values, small arrays soon have the same
lineage by chance: of two cells one is the greater. A value-dependent operation that takes one of N
possible pairs of cells repeats its choice with probability 1/N. So each confirmation counts log2(N)
bits, and `BITS` are needed. 1,024 pairs of cells (two vectors of 32) need
the least number, a vector of 4 cells needs five. This does not help if values decide between few
tables for any size; verified predictions cover that case.

**Where.** A form is used for calls of the structure in which it was found. At least `CONFIRMATIONS`
of its shapes must have the same order as the shapes asked for (`sizes`). Sizes that vary must be
above every integer among the arguments: a shift by 100 is no shift at all for sizes 10, 20 and 50.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from predtrace.arrays.reuse.forms import Form, fit
from predtrace.arrays.reuse.memory import Entry, Structure
from predtrace.arrays.reuse.sizes import Order, order_of, sizes_of
from predtrace.arrays.signatures import CallSignature
from predtrace.packed.boxes import Shape

CONFIRMATIONS = 2
BITS = 20.0
"""Bits of evidence: chance would confirm one wrong guess in a million."""

_STEPS = 8
"""The most times that the smallest calls are left out."""

_NEAR = 2
"""Sizes that differ by at least this are not near each other, if no argument is an integer."""


def bits(pairs: int) -> float:
    """The bits of one confirmation, for arrays with so many possible pairs of cells."""
    return math.log2(max(2, pairs))


def is_repeated(entry: Entry, confirmations: int) -> bool:
    """Whether calls with these shapes have had the same table often enough."""
    again = entry.calls - 1
    return again >= confirmations and again * bits(entry.pairs) >= BITS


@dataclass(frozen=True, eq=False)
class Generalised:
    """A form of a table's progressions, and the calls that it fits."""

    form: Form
    entries: tuple[Entry, ...]

    @property
    def calls(self) -> int:
        """The number of calls that it rests on."""
        return sum(entry.calls for entry in self.entries)

    def extends(self, other: Generalised) -> bool:
        """Whether it fits all calls that the other form fits, and so says the same and more."""
        shapes = {(entry.in_shapes, entry.out_shapes) for entry in self.entries}
        return all((entry.in_shapes, entry.out_shapes) in shapes for entry in other.entries)


class Group:
    """The calls of a structure that have the same arguments, and the forms of their tables."""

    def __init__(self, structure: Structure, args: Mapping[str, str], confirmations: int) -> None:
        integers = integers_of(args)
        self.near = _NEAR + sum(map(abs, integers))
        self.greatest = max(map(abs, integers), default=0)
        self.confirmations = confirmations
        entries = () if structure.crowded else structure.entries
        self.calls = [_Call.of(entry, self.near) for entry in entries if entry.args == args]
        self._forms: dict[tuple[int, ...], Form | None] = {}

    def order_of(self, call: Entry | CallSignature) -> Order:
        """The order of a call's sizes; the arguments decide which sizes are near."""
        return order_of(sizes_of(call.in_shapes, call.out_shapes), self.near)

    def orders(self) -> set[Order]:
        """The orders that have been captured."""
        return {call.order for call in self.calls}

    def generalised(self, order: Order) -> Generalised | None:
        """The form for calls with sizes of this order, if there is enough evidence for one.

        First all calls are tried, then those with the order asked for. If they do not fit,
        the smallest are left out step by step: stencils and windows behave differently where
        they do not fit in. The form is not used below the smallest kept.
        """
        every = range(len(self.calls))
        alike = [number for number in every if self.calls[number].order == order]
        for pool in (every, alike):
            for kept in self._without_the_smallest(pool):
                if sum(self.calls[number].order == order for number in kept) < self.confirmations:
                    break
                form = self._form(kept)
                if form is not None:
                    return Generalised(form, tuple(self.calls[number].entry for number in kept))
        return None

    def extends(self, before: Group) -> bool:
        """Whether all forms of the other group are among this one's, or narrower."""
        for order in before.orders():
            old = before.generalised(order)
            if old is not None:
                new = self.generalised(order)
                if new is None or not new.extends(old):
                    return False
        return True

    def _without_the_smallest(self, pool: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """All calls of a pool, then without those that have the smallest sizes, and so on."""
        for least in sorted({self.calls[number].smallest for number in pool})[:_STEPS]:
            yield tuple(number for number in pool if self.calls[number].smallest >= least)

    def _form(self, kept: tuple[int, ...]) -> Form | None:
        """The form through all of these calls, if they are enough to trust it."""
        if kept not in self._forms:
            self._forms[kept] = self._fitted([self.calls[number] for number in kept])
        return self._forms[kept]

    def _fitted(self, calls: Sequence[_Call]) -> Form | None:
        values = []
        for call in calls:
            folded = call.entry.progressions()
            if folded is None:
                return None
            values.append(folded)
        form = fit([call.sizes for call in calls], values)
        if form is None or len(calls) - form.rank < self.confirmations:
            return None
        if any(form.least[place] <= self.greatest for place in form.varying):
            return None
        least = sorted(bits(call.entry.pairs) for call in calls)[: len(calls) - form.rank]
        return form if sum(least) >= BITS else None


@dataclass(frozen=True, eq=False)
class _Call:
    """Captured calls of one shape, and the keys by which they are compared."""

    entry: Entry
    sizes: Shape
    order: Order

    @classmethod
    def of(cls, entry: Entry, near: int) -> _Call:
        sizes = sizes_of(entry.in_shapes, entry.out_shapes)
        return cls(entry, sizes, order_of(sizes, near))

    @property
    def smallest(self) -> int:
        """The smallest size of an axis longer than 1."""
        return min((size for size in self.sizes if size > 1), default=0)


def integers_of(args: Mapping[str, str]) -> list[int]:
    """All integers among arguments that are given as JSON."""
    return [number for text in args.values() for number in integers_in(msgspec.json.decode(text))]


def integers_in(value: Any) -> Iterator[int]:
    """All integers in a JSON value, at any depth."""
    if isinstance(value, bool):
        return
    if isinstance(value, int):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from integers_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from integers_in(item)
