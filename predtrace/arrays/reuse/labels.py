"""Labels of predicted lineage in a catalogue, and their change when it is in doubt.

A predicted table is an inference: answers through it are `observed`, and say how many calls it
rests on. If a captured call contradicts its basis, it becomes `estimated`, and stays listed until
the call is registered again with a capture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from predtrace.arrays.basis import Basis
from predtrace.arrays.catalogue import Catalogue, LineageEntry
from predtrace.arrays.quality import Quality


@dataclass(frozen=True)
class DoubtfulLineage:
    """Predicted lineage whose basis was contradicted later: the call, and its two arrays."""

    operation: str
    output: str
    input: str
    reason: str


def labelled(entry: LineageEntry, basis: Basis) -> LineageEntry:
    """The entry of a table that was predicted."""
    name = basis.operation.partition("/")[0]
    return msgspec.structs.replace(
        entry, quality=Quality.OBSERVED, reason=f"{name} was {basis}", basis=basis
    )


def doubted(catalogue: Catalogue, is_withdrawn: Callable[[Basis], bool]) -> Catalogue:
    """The catalogue with all predictions in doubt whose basis has been withdrawn."""
    marked = [
        _in_doubt(entry)
        if entry.basis and not is_doubtful(entry) and is_withdrawn(entry.basis)
        else entry
        for entry in catalogue.lineage
    ]
    return msgspec.structs.replace(catalogue, lineage=tuple(marked))


def is_doubtful(entry: LineageEntry) -> bool:
    """Whether the basis of the entry's prediction is withdrawn now."""
    return entry.basis is not None and entry.quality is Quality.ESTIMATED


def doubtful_lineage(catalogue: Catalogue) -> Iterator[DoubtfulLineage]:
    """All doubtful lineage."""
    for entry in filter(is_doubtful, catalogue.lineage):
        yield DoubtfulLineage(_operation(catalogue, entry), entry.output, entry.input, entry.reason)


def settled(catalogue: Catalogue, name: str, captured: Sequence[tuple[str, str]]) -> Catalogue:
    """The catalogue without doubtful lineage that a call of the same name captured again.

    `captured` are pairs of names (output, input).
    """
    kept = [
        entry
        for entry in catalogue.lineage
        if not (
            is_doubtful(entry)
            and (entry.output, entry.input) in captured
            and _operation(catalogue, entry) == name
        )
    ]
    return msgspec.structs.replace(catalogue, lineage=tuple(kept))


def _operation(catalogue: Catalogue, entry: LineageEntry) -> str:
    return "" if entry.operation is None else catalogue.operations[entry.operation].name


def _in_doubt(entry: LineageEntry) -> LineageEntry:
    reason = f"{entry.reason}, which a later call contradicted: capture it again"
    return msgspec.structs.replace(entry, quality=Quality.ESTIMATED, reason=reason)
