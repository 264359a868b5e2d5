"""The sources of a pipeline: what its leaves read, and the names by which people know it."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from predtrace.errors import UnsupportedOperatorError
from predtrace.jobs.formats import refusal
from predtrace.jobs.model import RANGE, Source, SourceFile
from predtrace.jobs.ranges import NumberRange
from symbolic.expr import Column
from symbolic.types import DataType


@dataclass(frozen=True)
class Relation:
    """What a leaf reads, before the snapshot of its files is taken.

    `names` are names for it, from short to long; `declared` are facts of its schema (see
    `predtrace.jobs.declared`). Rows that the program itself brought are `rows`,
    an identity in this process; they may have no name. `repeats` says whether reading them again
    gives the same.
    """

    names: tuple[str, ...]
    format: str
    roots: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    partition_columns: tuple[str, ...] = ()
    declared: str = ""
    rows: tuple[str, int] | None = None
    repeats: bool = True

    @property
    def is_of_files(self) -> bool:
        """Whether it reads files."""
        return self.rows is None and self.format != RANGE


class _Identity(NamedTuple):
    """What distinguishes sources: two reads of one identity are two scans of one source."""

    relation: Relation
    columns: tuple[tuple[str, DataType], ...]


@dataclass
class _Entry:
    """A source: its columns, and its names from short to long."""

    identity: _Identity
    columns: tuple[Column, ...]
    names: tuple[str, ...]
    scans: list[int] = field(default_factory=list)


class SourceBook:
    """The sources of one pipeline; every leaf that reads is entered here.

    Files that are read in several ways (with other options or another schema) are several sources,
    since their rows differ: ``x``, ``x (2)`` and so on, in plan order. Sources of different files
    go by longer names if their short ones are the same: ``old/x`` and ``new/x``.
    """

    def __init__(self) -> None:
        self._reads: dict[int, tuple[Relation, tuple[Column, ...]]] = {}
        self._named: dict[str, _Entry] = {}

    def enter(self, scan: int, relation: Relation, columns: tuple[Column, ...]) -> None:
        """Enter what the scan of that id reads.

        Raises UnsupportedOperatorError for options that jobs do not support.
        """
        found = refusal(relation.format, dict(relation.options), relation.roots)
        if found is not None:
            raise UnsupportedOperatorError(
                f"source {relation.names[0]} cannot be traced: {found}; read it without that"
            )
        self._reads[scan] = relation, columns

    def names(self, scans: Iterable[int]) -> dict[int, str]:
        """The source of each scan; the scans are all scans, in plan order."""
        entries = self._entries(scans)
        chosen = _distinct_names(entries)
        for entry, wanted in zip(entries, chosen, strict=True):
            self._named[_free_name(wanted, chosen, self._named)] = entry
        return {scan: name for name, entry in self._named.items() for scan in entry.scans}

    def sources(self) -> tuple[Source, ...]:
        """The sources that were named, with their snapshots."""
        return tuple(_source(name, entry) for name, entry in self._named.items())

    def brought(self) -> Mapping[str, tuple[int, ...]]:
        """The scans of each source whose rows the program itself brought, by its name."""
        return {
            name: tuple(entry.scans)
            for name, entry in self._named.items()
            if entry.identity.relation.rows is not None
        }

    def unrepeatable(self) -> tuple[str, ...]:
        """The sources that another read may find different, by name."""
        named = self._named.items()
        return tuple(name for name, entry in named if not entry.identity.relation.repeats)

    def _entries(self, scans: Iterable[int]) -> list[_Entry]:
        found: dict[_Identity, _Entry] = {}
        for scan in scans:
            relation, columns = self._reads[scan]
            entry = _Entry(_identity(relation, columns), columns, relation.names)
            entry = found.setdefault(entry.identity, entry)
            entry.names = entry.names or relation.names
            entry.scans.append(scan)
        numbers: Counter[str] = Counter()
        for entry in found.values():
            if not entry.names:
                stem = RANGE if entry.identity.relation.format == RANGE else "rows"
                numbers[stem] += 1
                entry.names = (f"{stem} {numbers[stem]}",)
        return list(found.values())


def _identity(relation: Relation, columns: Iterable[Column]) -> _Identity:
    # Files read under two names are two sources; rows in memory have whatever name is known.
    named: dict[str, Any] = {} if relation.is_of_files else {"names": ()}
    declared = tuple((column.name, column.type) for column in columns)
    return _Identity(Relation(**{**vars(relation), **named}), declared)


def _distinct_names(entries: list[_Entry]) -> list[str]:
    """A name for each source, longer where different sources would have the same."""
    levels = [0] * len(entries)
    while True:
        names = [entry.names[level] for entry, level in zip(entries, levels, strict=True)]
        places: dict[str, set[object]] = {}
        for name, entry in zip(names, entries, strict=True):
            relation = entry.identity.relation
            place = relation.roots if relation.is_of_files else entry.identity
            places.setdefault(name, set()).add(place)
        short = [
            index
            for index, (name, entry) in enumerate(zip(names, entries, strict=True))
            if len(places[name]) > 1 and levels[index] + 1 < len(entry.names)
        ]
        if not short:
            return names
        for index in short:
            levels[index] += 1


def _free_name(name: str, wanted: Collection[str], used: Collection[str]) -> str:
    """A name that no source has or will have: the name itself, or with a number if it is taken."""
    if name not in used:
        return name
    numbered = (f"{name} ({number})" for number in itertools.count(2))
    return next(each for each in numbered if each not in used and each not in wanted)


def _source(name: str, entry: _Entry) -> Source:
    relation = entry.identity.relation
    return Source(
        name=name,
        format=relation.format,
        roots=relation.roots,
        files=_files(relation),
        columns=tuple(
            Column(index, column.name, column.type, column.nullable)
            for index, column in enumerate(entry.columns)
        ),
        options=dict(relation.options),
        partition_columns=relation.partition_columns,
        declared=relation.declared,
        kept=relation.rows is not None,
    )


def _files(relation: Relation) -> tuple[SourceFile, ...]:
    if relation.rows is not None:
        return ()
    if relation.format == RANGE:
        return (NumberRange.of(dict(relation.options)).file,)
    from predtrace.jobs import snapshot

    take: Any = snapshot.snapshot_files
    found: tuple[SourceFile, ...] = take(relation.roots)
    return found
