"""The arguments that do not change lineage (thesis, Section 5.2.4).

Calls that differ in only one argument are compared. Different tables make the argument relevant.
Equal tables are evidence that it is irrelevant, if there are enough of them and the values really
differ: numpy takes integers modulo the number or the size of axes, so -1 and 1 are the same axis of
a matrix, and 2 and 7 are the same shift of a vector of length 5.

A result holds only for the structure (`sizes`) in which it was found: ``order="F"`` does not matter
to vectors, but it does to matrices.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from predtrace.arrays.reuse.evidence import BITS, Group, bits
from predtrace.arrays.reuse.memory import Entry, Structure

_ABSENT = "absent"
"""Stands for an argument that is not given; it is not JSON."""


def without(entry: Entry, names: Iterable[str]) -> Entry:
    """The entry without some of its arguments."""
    dropped = set(names)
    return replace(entry, args={k: v for k, v in entry.args.items() if k not in dropped})


def judged(structure: Structure, entry: Entry, confirmations: int) -> Structure:
    """The structure after its arguments are judged again, with `entry` added to it."""
    names = {name for each in structure.entries for name in each.args}
    for name in sorted(names - {*structure.irrelevant, *structure.relevant}):
        others = [other for other in structure.entries if _differ_in(name, entry, other)]
        if any(entry.digest != other.digest for other in others):
            structure = replace(structure, relevant=(*structure.relevant, name))
        elif others and _is_irrelevant(name, structure.entries, confirmations):
            structure = _left_out(name, structure, confirmations)
            entry = without(entry, structure.irrelevant)
    return structure


def _left_out(name: str, structure: Structure, confirmations: int) -> Structure:
    """The structure without the argument, unless calls that differ in it do not fit together."""
    merged = replace(
        structure,
        entries=_merged(without(each, [name]) for each in structure.entries),
        irrelevant=(*structure.irrelevant, name),
    )
    for args in {tuple(each.args.items()): each.args for each in structure.entries}.values():
        before = Group(structure, args, confirmations)
        after = Group(merged, {k: v for k, v in args.items() if k != name}, confirmations)
        if not after.extends(before):
            return replace(structure, relevant=(*structure.relevant, name))
    return merged


def _differ_in(name: str, one: Entry, other: Entry) -> bool:
    """Whether two entries differ in this argument and in no other."""
    return _key(without(one, [name])) == _key(without(other, [name])) and (
        one.args.get(name) != other.args.get(name)
    )


def _is_irrelevant(name: str, entries: Sequence[Entry], confirmations: int) -> bool:
    """Whether enough different values have been seen, all else being equal."""
    values: dict[Any, list[str]] = defaultdict(list)
    sample = {}
    for entry in entries:
        key = _key(without(entry, [name]))
        values[key].append(entry.args.get(name, _ABSENT))
        sample[key] = entry
    again = {key: _distinct(texts, sample[key]) - 1 for key, texts in values.items()}
    if max(again.values()) < confirmations:
        return False
    return sum(count * bits(sample[key].pairs) for key, count in again.items()) >= BITS


def _distinct(texts: Iterable[str], entry: Entry) -> int:
    """The number of values that are certainly different to an operation on these shapes."""
    shapes = (*entry.in_shapes, *entry.out_shapes)
    moduli = {size for shape in shapes for size in (*shape, len(shape)) if size > 1}
    found: list[Any] = []
    for text in texts:
        value = text if text == _ABSENT else msgspec.json.decode(text)
        if not any(_alike(value, other, moduli) for other in found):
            found.append(value)
    return len(found)


def _alike(one: Any, other: Any, moduli: set[int]) -> bool:
    """Whether two values may mean the same, since integers may be taken modulo a size."""
    left, right = (value if isinstance(value, list) else [value] for value in (one, other))
    if not all(type(item) is int for item in (*left, *right)) or len(left) != len(right):
        return bool(one == other)
    pairs = zip(left, right, strict=True)
    return all(a == b or any((a - b) % modulus == 0 for modulus in moduli) for a, b in pairs)


def _merged(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Entries with equal shapes and arguments as one; their tables are the same."""
    found: dict[Any, Entry] = {}
    for entry in entries:
        key = _key(entry)
        known = found.get(key)
        found[key] = entry if known is None else replace(known, calls=known.calls + entry.calls)
    return tuple(found.values())


def _key(entry: Entry) -> Any:
    return entry.in_shapes, entry.out_shapes, tuple(sorted(entry.args.items()))
