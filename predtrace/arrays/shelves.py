"""The place of a store's catalogue and tables: a folder, or this process's memory.

    lineage/
      catalogue.json       arrays, operations, and which table relates which arrays
      calls-7c…01.log      calls recorded since the catalogue was written
      tables/3f…c2.plt     a compressed table, named by its content: equal ones are one file

Tables are written before the catalogue or journal that names them. Each file, and each call of a
journal, appears as a whole, so a killed process leaves the folder unchanged.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias

import msgspec

from predtrace.arrays.catalogue import Catalogue, checked, decode_catalogue, encode_catalogue
from predtrace.arrays.format import decode, encode
from predtrace.arrays.journal import Journal
from predtrace.arrays.ledger import Ledger
from predtrace.arrays.recording import Recording
from predtrace.arrays.relation import LineageTable
from predtrace.durable.writing import sole_writer, sweep, write_whole
from predtrace.errors import ArrayFormatError, StoreError

CATALOGUE = "catalogue.json"
TABLES = "tables"
_SUFFIX = ".plt"
_LOCK = "lock"
_FEW = 256
"""The calls that a journal may have even if the catalogue has fewer."""

Change: TypeAlias = Callable[[Catalogue], Catalogue]


class Shelf(Protocol):
    """A place for one catalogue and the tables that it names."""

    def __str__(self) -> str:
        """The place, for messages."""

    ledger: Ledger
    """The contents of the catalogue: as read, with the changes made since."""

    def change(self, change: Change) -> None:
        """Change the present catalogue, including other processes' entries."""

    def add(self, made: Recording, keys: Sequence[str]) -> tuple[str, ...]:
        """Add a call, whose tables are kept under `keys`; the names of the arrays it made."""

    def save(self, table: LineageTable) -> str:
        """Keep a table; the key that it is found by."""

    def load(self, key: str) -> LineageTable:
        """The table of a key."""

    def nbytes(self, keys: Iterable[str]) -> int:
        """Bytes that these tables take."""


class Folder:
    """A shelf on disk. Raises StoreError if something cannot be read or written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._take_up()

    def __str__(self) -> str:
        return str(self.path)

    def _take_up(self) -> None:
        """Read the catalogue and its journal. Raises ArrayFormatError if they are corrupt."""
        while True:
            self._version = self._version_on_disk()
            catalogue = self._read()
            self.ledger = Ledger(msgspec.structs.replace(catalogue, journal=""))
            self._journal = Journal(self.path / catalogue.journal) if catalogue.journal else None
            try:
                self._read_on()
            except FileNotFoundError as error:
                if self._version == self._version_on_disk():
                    raise ArrayFormatError(
                        f"{self.path / catalogue.journal} is gone; restore it from a copy"
                    ) from error
                continue  # another process has rewritten both in the meantime
            except OSError as error:
                raise StoreError(f"{self.path} cannot be read ({error})") from error
            break
        checked(self.ledger.catalogue, str(self.path))

    def _read_on(self) -> None:
        for call in self._journal.read_on() if self._journal else ():
            self.ledger.add(call)

    def _version_on_disk(self) -> tuple[int, ...] | None:
        """A version that changes whenever the catalogue is written; None if there is none."""
        try:
            state = (self.path / CATALOGUE).stat()
        except OSError:
            return None
        return state.st_ino, state.st_mtime_ns, state.st_size

    def _read(self) -> Catalogue:
        """The catalogue without its journal's calls."""
        path = self.path / CATALOGUE
        try:
            data = path.read_bytes()
        except FileNotFoundError as error:
            if any((self.path / TABLES).glob(f"*{_SUFFIX}")):
                raise ArrayFormatError(
                    f"{path} is gone, and without it the tables in {self.path / TABLES} say "
                    "nothing; restore it from a copy, or choose another folder"
                ) from error
            return Catalogue()
        except OSError as error:
            raise StoreError(f"{path} cannot be read ({error.strerror or error})") from error
        return decode_catalogue(data, str(path))

    def change(self, change: Change) -> None:
        """Change the catalogue on disk, one process at a time."""
        try:
            (self.path / TABLES).mkdir(parents=True, exist_ok=True)
            with sole_writer(self.path / _LOCK):
                self._take_up()
                present = self.ledger.catalogue
                changed = change(present)
                if changed != present or not (self.path / CATALOGUE).exists():
                    self.ledger = Ledger(changed)
                    self._write("")
        except OSError as error:
            raise self._unwritable(error) from error

    def add(self, made: Recording, keys: Sequence[str]) -> tuple[str, ...]:
        """Add a call to the journal, which is restarted when it outgrows the catalogue."""
        try:
            (self.path / TABLES).mkdir(parents=True, exist_ok=True)
            with sole_writer(self.path / _LOCK):
                if self._version is None or self._version != self._version_on_disk():
                    self._take_up()
                else:
                    self._read_on()
                if self._journal is None or 2 * self._journal.count > max(len(self.ledger), _FEW):
                    self._write(f"calls-{secrets.token_hex(8)}.log")
                assert self._journal is not None
                call = self.ledger.entry(made, keys)
                self._journal.append(call)
                self.ledger.add(call)
        except OSError as error:
            self._version = None
            raise self._unwritable(error) from error
        return tuple(array.name for array in call.arrays)

    def _write(self, journal: str) -> None:
        """Write the catalogue with all calls, and an empty journal beside it if one is named."""
        sweep(self.path)
        sweep(self.path / TABLES)
        if journal:
            write_whole(self.path / journal, Journal.empty())
        catalogue = msgspec.structs.replace(self.ledger.catalogue, journal=journal)
        write_whole(self.path / CATALOGUE, encode_catalogue(catalogue))
        self._version = self._version_on_disk()
        self._journal = Journal(self.path / journal) if journal else None
        for left in self.path.glob("calls-*.log"):
            if left.name != journal:
                left.unlink(missing_ok=True)

    def save(self, table: LineageTable) -> str:
        """Write a table unless it is there; its digest."""
        data = encode(table)
        digest = hashlib.sha256(data).hexdigest()
        path = self._table_path(digest)
        try:
            if not path.exists():
                if not (self.path / CATALOGUE).exists():
                    # Tables without a catalogue remain if the catalogue was lost.
                    self.change(lambda catalogue: catalogue)
                path.parent.mkdir(parents=True, exist_ok=True)
                write_whole(path, data)
        except OSError as error:
            raise self._unwritable(error) from error
        return digest

    def load(self, key: str) -> LineageTable:
        """Read a table."""
        path = self._table_path(key)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise StoreError(f"{path} cannot be read ({error.strerror or error})") from error
        table = decode(data, str(path))
        if hashlib.sha256(data).hexdigest() != key:
            raise ArrayFormatError(
                f"{path} is not the table that its name says; restore it from a copy"
            )
        return table

    def nbytes(self, keys: Iterable[str]) -> int:
        """The sizes of the files."""
        return sum(self._table_path(key).stat().st_size for key in keys)

    def _table_path(self, digest: str) -> Path:
        return self.path / TABLES / f"{digest}{_SUFFIX}"

    def _unwritable(self, error: OSError) -> StoreError:
        return StoreError(
            f"the store {self.path} cannot be written ({error.strerror or error}); "
            "choose another folder or change its permissions"
        )


class Memory:
    """A shelf in memory."""

    def __init__(self) -> None:
        self.ledger = Ledger(Catalogue())
        self._tables: dict[str, LineageTable] = {}

    def __str__(self) -> str:
        return "memory"

    def change(self, change: Change) -> None:
        """Change the catalogue."""
        self.ledger = Ledger(change(self.ledger.catalogue))

    def add(self, made: Recording, keys: Sequence[str]) -> tuple[str, ...]:
        """Add a call."""
        call = self.ledger.entry(made, keys)
        self.ledger.add(call)
        return tuple(array.name for array in call.arrays)

    def save(self, table: LineageTable) -> str:
        """Keep a table under the next number."""
        key = str(len(self._tables))
        self._tables[key] = table
        return key

    def load(self, key: str) -> LineageTable:
        """The table of a number."""
        return self._tables[key]

    def nbytes(self, keys: Iterable[str]) -> int:
        """Bytes of the tables' columns."""
        return sum(self._tables[key].nbytes for key in keys)
