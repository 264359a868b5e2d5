"""Jobs that were seen and could not be recorded: a short note in the place of a record."""

from __future__ import annotations

from pathlib import Path

import msgspec

from predtrace.durable.envelope import JsonEnvelope
from predtrace.errors import JobFormatError, StoreError
from predtrace.jobs.model import Written

FAILED, REFUSED = "failed", "refused"
"""The states: the job itself failed, or its lineage cannot be had."""
NOTE_FILE = "note.json"
_ENVELOPE = JsonEnvelope(
    format="predtrace note",
    schema=1,
    kind="note of predtrace on a job",
    remedy="remove its folder",
    error=JobFormatError,
)


class Unrecorded(msgspec.Struct, frozen=True, kw_only=True):
    """A job without a record: its `state`, and the `reason` in one line."""

    id: str
    created: str
    state: str
    reason: str
    query: str = ""
    written: Written | None = None

    @property
    def told(self) -> str:
        """State and reason, in words."""
        return f"{self.state}: {self.reason}"


def encode_note(note: Unrecorded) -> bytes:
    """The bytes of a note."""
    return _ENVELOPE.seal(msgspec.json.encode(note))


def _decode_note(data: bytes, where: str) -> Unrecorded:
    """The note in a file. Raises JobFormatError if it is damaged."""
    _, body = _ENVELOPE.open(data, where)
    try:
        return msgspec.json.decode(body, type=Unrecorded)
    except msgspec.DecodeError as error:
        raise JobFormatError(f"{where} does not hold a valid note ({error})") from error


def read_note(folder: Path) -> Unrecorded:
    """The note on the job in a folder, which was not recorded.

    Raises StoreError if it cannot be read, JobFormatError if it is corrupt.
    """
    file = folder / NOTE_FILE
    try:
        return _decode_note(file.read_bytes(), str(file))
    except OSError as error:
        raise StoreError(f"{file} cannot be read ({error.strerror or error})") from error


def refuse_noted(folder: Path) -> None:
    """Raise StoreError, with the reason, if there is a note instead of a record."""
    if (folder / NOTE_FILE).is_file():
        raise StoreError(f"job {folder.name} has no record; {read_note(folder).told}")
