"""The catalogue of an array store: its arrays, and the tables that relate them.

    {"format": "predtrace arrays", "schema": 2, "sha256": "…",
     "body": {"arrays": […], "operations": […], "lineage": […]}}

`sha256` is the checksum of the bytes of `body`.
"""

from __future__ import annotations

import re

import msgspec

from predtrace.arrays.basis import Basis
from predtrace.arrays.quality import Quality
from predtrace.durable.envelope import JsonEnvelope
from predtrace.errors import ArrayFormatError

FORMAT = "predtrace arrays"
SCHEMA = 3
_WITHOUT_JOURNAL = 2
_DIGEST = re.compile(r"[0-9a-f]{64}")
_JOURNAL = re.compile(r"calls-[0-9a-f]{16}\.log")


class ArrayEntry(msgspec.Struct, frozen=True):
    """A tracked array; `gap` says why it may come from cells that are not recorded."""

    name: str
    shape: tuple[int, ...]
    gap: str = ""


class OperationEntry(msgspec.Struct, frozen=True):
    """A call: arrays by name; arguments as JSON; `reused`: no capture was needed."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    args: str
    reused: bool


class LineageEntry(msgspec.Struct, frozen=True):
    """The table that relates two arrays.

    `table` is the SHA-256 of its file, `operation` the place of its call among the operations, if
    it came from one. `quality` is its label, and `reason` says why it is not precise; in files of
    schema 1 all lineage is precise. `basis` is the basis of predicted lineage.
    """

    output: str
    input: str
    table: str
    operation: int | None = None
    quality: Quality = Quality.PRECISE
    reason: str = ""
    basis: Basis | None = None


class CallEntry(msgspec.Struct, frozen=True):
    """A call with the arrays that it made and the lineage of each."""

    arrays: tuple[ArrayEntry, ...]
    operation: OperationEntry
    lineage: tuple[LineageEntry, ...]


class Catalogue(msgspec.Struct, frozen=True):
    """All that a store knows, except the tables themselves.

    `journal` names a file with calls that were recorded since (schema 3), if there is one.
    """

    arrays: tuple[ArrayEntry, ...] = ()
    operations: tuple[OperationEntry, ...] = ()
    lineage: tuple[LineageEntry, ...] = ()
    journal: str = ""


ENVELOPE = JsonEnvelope(
    format=FORMAT,
    schema=SCHEMA,
    kind="catalogue of arrays",
    remedy="restore it from a copy",
    error=ArrayFormatError,
)


def encode_catalogue(catalogue: Catalogue) -> bytes:
    """The catalogue as the bytes of its file."""
    body = msgspec.json.encode(catalogue)
    return ENVELOPE.seal(body, SCHEMA if catalogue.journal else _WITHOUT_JOURNAL)


def decode_catalogue(data: bytes, where: str) -> Catalogue:
    """The catalogue that `encode_catalogue` wrote.

    `where` names the file in errors. Raises ArrayFormatError if it is not a catalogue, is truncated
    or changed, or was written by a newer predtrace.
    """
    _, body = ENVELOPE.open(data, where)
    try:
        catalogue = msgspec.json.decode(body, type=Catalogue)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise ArrayFormatError(f"{where} does not hold a valid catalogue ({error})") from error
    return checked(catalogue, where)


def checked(catalogue: Catalogue, where: str) -> Catalogue:
    """The catalogue. Raises ArrayFormatError unless names, numbers and tables make sense."""
    if catalogue.journal and not _JOURNAL.fullmatch(catalogue.journal):
        raise ArrayFormatError(f"{where} names no journal but {catalogue.journal!r}")
    names = {array.name for array in catalogue.arrays}
    if len(names) != len(catalogue.arrays):
        raise ArrayFormatError(f"{where} names an array twice; restore it from a copy")
    for entry in catalogue.lineage:
        known = entry.operation is None or 0 <= entry.operation < len(catalogue.operations)
        if not (known and {entry.output, entry.input} <= names and _DIGEST.fullmatch(entry.table)):
            raise ArrayFormatError(
                f"{where} relates {entry.output!r} and {entry.input!r} by something unknown; "
                "restore it from a copy"
            )
    return catalogue
