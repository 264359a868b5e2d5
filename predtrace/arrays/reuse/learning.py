"""Learning from a captured call.

Every captured call is compared with the known facts about its shapes and arguments. A contradiction
to a prediction, or to a possible prediction, withdraws it:

- two tables for the same shapes and all arguments: the operation depends on values (or on
  something that it was not registered with), and is never predicted again;
- the same where arguments have been left out as irrelevant: they are relevant from now on,
  and what was learnt without them is forgotten;
- a table that the form for other shapes does not give: the form is withdrawn. It may come back
  for larger or otherwise different shapes, if these are enough by themselves.
"""

from __future__ import annotations

import hashlib
import math

from msgspec.structs import replace

from predtrace.arrays.relation import LineageTable
from predtrace.arrays.reuse import arguments
from predtrace.arrays.reuse.evidence import Group
from predtrace.arrays.reuse.memory import Entry, Operation, Structure
from predtrace.arrays.reuse.progressions import fold, unfold
from predtrace.arrays.reuse.sizes import sizes_of, structure_of
from predtrace.arrays.signatures import CallSignature

ENTRIES = 64
"""The number of shapes and arguments that are kept for one structure."""

_MANY_PAIRS = 2**62
_COMPARED = 5_000_000
"""Pairs of cells that two different forms of a table are unpacked to at most."""


def entry_of(call: CallSignature, table: LineageTable) -> Entry:
    """A captured call as it is remembered."""
    return Entry(
        in_shapes=call.in_shapes,
        out_shapes=call.out_shapes,
        args=dict(call.args),
        digest=_digest(table),
        pairs=min(math.prod((*table.out_shape, *table.in_shape)), _MANY_PAIRS),
        folded=_numbers(table),
    )


def _numbers(table: LineageTable) -> tuple[tuple[int, ...], ...] | None:
    folded = fold(table)
    return None if folded is None else tuple(map(tuple, folded.tolist()))


def learn(
    operation: Operation, call: CallSignature, table: LineageTable, confirmations: int
) -> Operation:
    """The operation after one more captured call with this table."""
    if operation.by_value:
        return operation
    key = structure_of(call.in_shapes, call.out_shapes)
    structure = operation.structures.get(key, Structure())
    full = entry_of(call, table)
    entry = arguments.without(full, structure.irrelevant)
    known = find(structure, entry)
    if known is None:
        grown, fits = _with_entry(structure, entry, table, confirmations)
    else:
        grown, fits = _with_call(structure, known), _agree(known, table)
    if not fits and structure.irrelevant:
        grown = _restarted(structure, full)
    elif not fits and known is not None:
        return Operation(by_value=True)
    return replace(operation, structures={**operation.structures, key: grown})


def find(structure: Structure, wanted: Entry | CallSignature) -> Entry | None:
    """The entry with the same shapes and arguments."""
    for entry in structure.entries:
        if (entry.in_shapes, entry.out_shapes, entry.args) == (
            wanted.in_shapes,
            wanted.out_shapes,
            wanted.args,
        ):
            return entry
    return None


def _with_entry(
    structure: Structure, entry: Entry, table: LineageTable, confirmations: int
) -> tuple[Structure, bool]:
    """With a new entry, and whether its table was predicted, or could not be.

    If there is no room, only entries that the forms predict are left out.
    """
    before = Group(structure, entry.args, confirmations)
    predicted = _predicted(before, entry, table)
    fits = predicted is None or _same(predicted, table)
    has_room = len(structure.entries) < ENTRIES
    if predicted is not None and fits:
        if not has_room:
            return structure, True
        # The same pairs, in the rows that the form gives.
        entry = replace(entry, folded=_numbers(predicted))
    if has_room:
        added = replace(structure, entries=(*structure.entries, entry))
    else:
        added = replace(structure, crowded=True)
    if not Group(added, entry.args, confirmations).extends(before):
        added = replace(added, forms_withdrawn=added.forms_withdrawn + 1)
    return arguments.judged(added, entry, confirmations), fits


def _predicted(group: Group, entry: Entry, table: LineageTable) -> LineageTable | None:
    found = group.generalised(group.order_of(entry))
    if found is None:
        return None
    folded = found.form.at(sizes_of(entry.in_shapes, entry.out_shapes))
    return None if folded is None else unfold(folded, table.out_shape, table.in_shape)


def _with_call(structure: Structure, known: Entry) -> Structure:
    entries = tuple(
        replace(entry, calls=entry.calls + 1) if entry is known else entry
        for entry in structure.entries
    )
    return replace(structure, entries=entries)


def _restarted(structure: Structure, entry: Entry) -> Structure:
    """The structure with only this entry, and with all seemingly irrelevant arguments relevant."""
    return Structure(
        entries=(entry,),
        relevant=(*structure.relevant, *structure.irrelevant),
        withdrawn=structure.withdrawn + 1,
        forms_withdrawn=structure.forms_withdrawn + 1,
    )


def _agree(known: Entry, table: LineageTable) -> bool:
    """Whether an entry's table is this one."""
    if known.digest == _digest(table):
        return True
    folded = known.progressions()
    other = None if folded is None else unfold(folded, table.out_shape, table.in_shape)
    return other is not None and _same(other, table)


def _same(one: LineageTable, other: LineageTable) -> bool:
    """Whether tables hold the same pairs; also False if the comparison would take too long."""
    if _digest(one) == _digest(other):
        return True
    count = one.pair_count()
    if count > _COMPARED or other.pair_count() > _COMPARED:
        return False
    return one.decompress().same_as(other.decompress())


def _digest(table: LineageTable) -> str:
    """A digest that two tables between the same shapes share only if their rows are the same."""
    found = hashlib.sha256()
    for column in table.columns():
        found.update(column.tobytes())
    return found.hexdigest()
