"""A record of measurements, entry by entry, with the machine and the settings."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from tpch.errors import TpchError

PACKAGES = ("duckdb", "predtrace", "pyarrow", "pyspark", "z3-solver")

Entry = TypeVar("Entry", bound=msgspec.Struct)


class Record(msgspec.Struct, Generic[Entry], frozen=True, kw_only=True):
    """Entries by name, in the order they were made, with the machine's load before each.

    Runs can be continued that agree in `settings`, `machine` and `versions`.
    """

    command: str
    settings: dict[str, Any]
    machine: str
    versions: dict[str, str]
    entries: dict[str, Entry] = {}
    loads: dict[str, float] = {}

    def same_run(self, other: Record[Entry]) -> bool:
        """Whether entries of both can stand side by side."""
        mine, others = (
            (record.settings, record.machine, record.versions) for record in (self, other)
        )
        return mine == others

    @property
    def load(self) -> str:
        """The least and the greatest load."""
        loads = self.loads.values()
        return f"{min(loads):.1f} to {max(loads):.1f}" if loads else "unknown"

    @property
    def heading(self) -> str:
        """How the entries were made: the command, the machine, its load, versions."""
        versions = ", ".join(f"{name} {number}" for name, number in self.versions.items())
        settings = ", ".join(f"{name} {value}" for name, value in self.settings.items())
        machine = f"{self.machine}, load {self.load}; {versions}"
        return f"    {self.command}\n\n{machine}. Settings: {settings}."


class Book(Generic[Entry]):
    """A record in a file: every entry is saved at once."""

    def __init__(
        self, file: Path, kind: type[Entry], settings: dict[str, Any], command: str = ""
    ) -> None:
        """Go on with the record in `file`, or begin one.

        Raises TpchError if the file holds another kind of record, or one of another machine,
        other versions or settings.
        """
        self._file = file
        empty: Record[Entry] = Record(
            command=command or f"python -m tpch {' '.join(sys.argv[1:])}",
            settings=settings,
            machine=f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
            versions={
                "python": platform.python_version(),
                **{name: version(name) for name in PACKAGES},
            },
        )
        self.record = read_record(file, kind) if file.exists() else empty
        if not self.record.same_run(empty):
            raise TpchError(
                f"{file} holds a run with other settings, versions or on another machine: "
                "name another file (--json)"
            )

    def __contains__(self, name: str) -> bool:
        return name in self.record.entries

    def add(self, name: str, entry: Entry, load: float) -> None:
        """Add an entry and save the record, in one go."""
        self.record = msgspec.structs.replace(
            self.record,
            entries={**self.record.entries, name: entry},
            loads={**self.record.loads, name: load},
        )
        self._file.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._file.with_name(f".{self._file.name}")
        temporary.write_bytes(msgspec.json.format(msgspec.json.encode(self.record)))
        temporary.replace(self._file)


def read_record(file: Path, kind: type[Entry]) -> Record[Entry]:
    """A record from its file. Raises TpchError if it holds none of this kind."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=Record[kind])  # type: ignore[valid-type]
    except (OSError, msgspec.DecodeError) as error:
        raise TpchError(f"{file} holds no record of this measure: {error}") from error


def load() -> float:
    """The machine's load over the last minute."""
    return os.getloadavg()[0]


def by_query(record: Record[Entry]) -> Sequence[tuple[int, Entry]]:
    """The entries of a record that are named by query numbers, in their order."""
    return sorted((int(name), entry) for name, entry in record.entries.items())
