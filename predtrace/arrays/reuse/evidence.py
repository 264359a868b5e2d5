"""When there is enough evidence to predict.

**What has to be confirmed.** Of a dimensional signature, that a further call has the same
table as the first. Of a form, that it fits a further shape: as many shapes as the form has
free coefficients determine it and confirm nothing.

**How often.** `CONFIRMATIONS` times at least, as in DSLog (m = 2, Section VI-C; there the shapes
that determine a form count, too). But if lineage depends on values, small arrays have the same
by chance soon: of two cells either is the greater one. A value-dependent operation that
takes one of N possible pairs of cells repeats itself with chance 1/N. So confirmations count
log2(N) bits each, and `BITS` are needed: for arrays of 1000 cells the least number is enough,
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

from predtrace.arrays.boxes import Shape
from predtrace.arrays.reuse.forms import Form, fit
from predtrace.arrays.reuse.memory import Entry, Structure
from predtrace.arrays.reuse.sizes import order_of, sizes_of

CONFIRMATIONS = 2
BITS = 20.0
"""Bits of evidence: chance would confirm one wrong guess in a million."""


def bits(pairs: int) -> float:
    """What one confirmation counts, for arrays with so many possible pairs of cells."""
    return math.log2(max(2, pairs))


def is_repeated(entry: Entry, confirmations: int) -> bool:
    """Whether calls with these shapes have had the same table often enough."""
    again = entry.calls - 1
    return again >= confirmations and again * bits(entry.pairs) >= BITS


@dataclass(frozen=True)
class Generalised:
    """A form of a table's progressions, and how many calls it rests on."""

    form: Form
    calls: int


def reach(args: Mapping[str, str]) -> int:
    """Up to which difference two sizes are near each other, for calls with these arguments."""
    return 1 + sum(map(abs, integers_of(args)))


def generalised(
    structure: Structure, args: Mapping[str, str], order: tuple[int, ...], confirmations: int
) -> Generalised | None:
    """The form for calls with sizes of this order, as far as there is enough evidence for one.

    First all calls of the structure are tried, then those with the order asked for. If they
    do not fit, the smallest are left out step by step: stencils and windows behave
    differently where they do not fit in. The form is not used below the smallest kept.
    """
    if structure.crowded:
        return None
    greatest, near = max(map(abs, integers_of(args)), default=0), reach(args)
    calls = [_Call.of(entry, near) for entry in structure.entries if entry.args == args]
    alike = [call for call in calls if call.order == order]
    if len(alike) < confirmations:
        return None
    for pool in (calls, alike):
        for kept in _without_the_smallest(pool):
            if sum(call.order == order for call in kept) < confirmations:
                break
            form = _form(kept, confirmations, greatest)
            if form is not None:
                return Generalised(form, sum(call.entry.calls for call in kept))
    return None


@dataclass(frozen=True, eq=False)
class _Call:
    """Captured calls of one shape, and what they are compared by."""

    entry: Entry
    sizes: Shape
    order: tuple[int, ...]

    @classmethod
    def of(cls, entry: Entry, near: int) -> _Call:
        sizes = sizes_of(entry.in_shapes, entry.out_shapes)
        return cls(entry, sizes, order_of(sizes, near))

    @property
    def smallest(self) -> int:
        """The smallest size of an axis longer than 1."""
        return min((size for size in self.sizes if size > 1), default=0)


def _without_the_smallest(calls: Sequence[_Call]) -> Iterator[list[_Call]]:
    """All calls, then without those that have the smallest sizes, and so on."""
    for least in sorted({call.smallest for call in calls}):
        yield [call for call in calls if call.smallest >= least]


def _form(calls: Sequence[_Call], confirmations: int, greatest: int) -> Form | None:
    """The form through all of these calls, if they are enough to trust it."""
    values = []
    for call in calls:
        folded = call.entry.progressions()
        if folded is None:
            return None
        values.append(folded)
    form = fit([call.sizes for call in calls], values)
    if form is None or len(calls) - form.rank < confirmations:
        return None
    if any(form.least[place] <= greatest for place in form.varying):
        return None
    least = sorted(bits(call.entry.pairs) for call in calls)[: len(calls) - form.rank]
    return form if sum(least) >= BITS else None


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
