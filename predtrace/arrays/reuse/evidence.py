"""When there is enough evidence to predict.

**What has to be confirmed.** Of a dimensional signature, that a further call has the same
table as the first. Of a form, that it fits a further shape: as many shapes as the form has
free coefficients determine it and confirm nothing.

**How often.** `CONFIRMATIONS` times at least, as in DSLog (m = 2, Section VI-C; there the shapes
that determine a form count, too). But if lineage depends on values, small arrays have the same
by chance soon: of two cells either is the greater one. A value-dependent operation that
takes one of N possible pairs of cells repeats itself with chance 1/N. So confirmations count
log2(N) bits each, and `BITS` are needed: for arrays of 1024 cells the least number is enough,
for a vector of 4 cells five are needed. It does not help where values decide between few
tables whatever the size; that is what verified predictions are for.

**Where.** A form is used for calls of the structure that it was found in; at least
`CONFIRMATIONS` of its shapes have the same order as those asked for (`sizes`); and sizes that
vary are above every integer among the arguments: a shift by 100 is none at all for sizes 10,
20 and 50.
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
"""How often the smallest calls are left out at most."""

_NEAR = 2
"""From this difference on sizes are not near each other, if no argument is an integer."""


def bits(pairs: int) -> float:
    """What one confirmation counts, for arrays with so many possible pairs of cells."""
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
        """How many calls it rests on."""
        return sum(entry.calls for entry in self.entries)

    def extends(self, other: Generalised) -> bool:
        """Whether it fits all calls that the other fits: then it says the same, and more."""
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
        """The order of a call's sizes; what is near depends on the arguments."""
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
    """Captured calls of one shape, and what they are compared by."""

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
