"""The learnt facts about operations, and their file.

    lineage/reuse.json      {"format": "predtrace reuse", "schema": 1, "sha256": "…",
                             "body": {"operations": {"sum/0/0": {…}}}}

Operations are named with the places of the output and the input that the lineage relates. The
file lies next to the catalogue of a store, and is written as a whole by one process at a time.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import msgspec
import numpy as np

from predtrace.durable.envelope import JsonEnvelope
from predtrace.durable.writing import sole_writer, sweep, write_whole
from predtrace.errors import ArrayFormatError, StoreError
from predtrace.packed.boxes import Ints, Shape

FORMAT = "predtrace reuse"
SCHEMA = 1
FILE = "reuse.json"
_LOCK = "reuse.lock"


class Entry(msgspec.Struct, frozen=True):
    """Captured calls with the same shapes and relevant arguments, and so the same table.

    `args` are the arguments as JSON. `digest` identifies the table. `folded` are its progressions,
    unless there are many. `pairs` is the number of possible pairs of cells.
    """

    in_shapes: tuple[Shape, ...]
    out_shapes: tuple[Shape, ...]
    args: dict[str, str]
    digest: str
    pairs: int
    folded: tuple[tuple[int, ...], ...] | None = None
    calls: int = 1

    def progressions(self) -> Ints | None:
        """The table's progressions, shape (progressions, numbers)."""
        if self.folded is None:
            return None
        numbers = len(self.folded[0]) if self.folded else 0
        return np.array(self.folded, np.int64).reshape(len(self.folded), numbers)


class Structure(msgspec.Struct, frozen=True):
    """The calls of an operation whose shapes have the same structure.

    `irrelevant` arguments were seen to leave the table as it is, `relevant` ones were seen to
    change it. The numbers count how often predictions were withdrawn: all of them since an
    argument that seemed irrelevant was not, those for new shapes since another call did not
    fit. `crowded` structures have calls that were neither predicted nor kept.
    """

    entries: tuple[Entry, ...] = ()
    irrelevant: tuple[str, ...] = ()
    relevant: tuple[str, ...] = ()
    withdrawn: int = 0
    forms_withdrawn: int = 0
    crowded: bool = False


class Operation(msgspec.Struct, frozen=True):
    """The learnt facts about the lineage between an output and an input of an operation.

    With `by_value`, two calls with the same shapes and arguments had different tables, and
    nothing is predicted any more.
    """

    structures: dict[str, Structure] = {}
    by_value: bool = False


class Learnt(msgspec.Struct, frozen=True):
    """All operations."""

    operations: dict[str, Operation] = {}


Learn: TypeAlias = Callable[[Learnt], Learnt]


ENVELOPE = JsonEnvelope(
    format=FORMAT,
    schema=SCHEMA,
    kind="file of what was learnt of operations",
    remedy="restore it, or remove it to learn again",
    error=ArrayFormatError,
)


def encode_learnt(learnt: Learnt) -> bytes:
    """The bytes of the file."""
    return ENVELOPE.seal(msgspec.json.encode(learnt))


def decode_learnt(data: bytes, where: str) -> Learnt:
    """The facts that `encode_learnt` wrote.

    Raises ArrayFormatError if the file is of another kind, truncated, changed, or of a newer
    schema.
    """
    _, body = ENVELOPE.open(data, where)
    try:
        return msgspec.json.decode(body, type=Learnt)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise ArrayFormatError(f"{where} is damaged ({error}); {ENVELOPE.remedy}") from error


class LearntFile:
    """The learnt facts, in a folder that several processes may use.

    Raises StoreError if the file cannot be read or written.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._seen: tuple[int, int, int] | None = None
        self._learnt = Learnt()

    def read(self) -> Learnt:
        """The facts on disk; decoded again only if the file changed."""
        try:
            stat = os.stat(self.path)
            version = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
            if version != self._seen:
                self._learnt = decode_learnt(self.path.read_bytes(), str(self.path))
                self._seen = version
        except FileNotFoundError:
            self._learnt, self._seen = Learnt(), None
        except OSError as error:
            raise StoreError(f"{self.path} cannot be read ({error.strerror or error})") from error
        return self._learnt

    def change(self, learn: Learn) -> None:
        """Change the facts on disk, keeping what other processes have added."""
        folder = self.path.parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with sole_writer(folder / _LOCK):
                sweep(folder)
                present = self.read()
                changed = learn(present)
                if changed != present:
                    write_whole(self.path, encode_learnt(changed))
        except OSError as error:
            raise StoreError(
                f"{self.path} cannot be written ({error.strerror or error}); choose another "
                "folder or change its permissions"
            ) from error


class LearntHere:
    """The learnt facts, in memory."""

    def __init__(self) -> None:
        self._learnt = Learnt()

    def read(self) -> Learnt:
        """The learnt facts."""
        return self._learnt

    def change(self, learn: Learn) -> None:
        """Learn more."""
        self._learnt = learn(self._learnt)
