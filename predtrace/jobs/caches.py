"""The cache of a job: sources that only Spark reads exactly, as Parquet in the job's folder.

    cache-1f0c93ab27de45aa/    one source, as Spark read it
        source.json            the record of its files
        part-….parquet

A folder's name is made of the source's name and snapshot. So what was cached of a source in another
state is never read. A folder is complete or absent. Its columns are called ``c<place>`` after their
places in the source. Rows that have numbers also have ``file`` and ``row``.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec

from predtrace.durable.envelope import JsonEnvelope
from predtrace.durable.writing import write_whole
from predtrace.errors import PredTraceError, StoreError
from predtrace.jobs.model import HIDDEN, Job, Source, StoredFile, StoredResult
from predtrace.jobs.results import check_stored, stored_result
from pushdown.operators import Scan
from symbolic.expr import Column

_PREFIX = "cache-"
_RECORD = "source.json"
_ENVELOPE = JsonEnvelope(
    format="predtrace cached source",
    schema=1,
    kind="record of a cached source",
    remedy="remove its folder; the next question reads the source again",
    error=StoreError,
)


class CachedSource(msgspec.Struct, frozen=True, kw_only=True):
    """What a job has cached of one source: the names of its `columns`, and the files.

    `bytes` is the size of the files, `rows` the number of rows. `numbered` says whether each row
    has its file and number.
    """

    columns: tuple[str, ...]
    rows: int
    bytes: int
    numbered: bool
    files: tuple[StoredFile, ...]


class FoundSource(msgspec.Struct, frozen=True, kw_only=True):
    """A cached source that can be read: its record, and the paths of its files.

    Without paths it is one that can be made, not one that is there.
    """

    record: CachedSource
    paths: tuple[str, ...] = ()


def cached_columns(job: Job, source: Source) -> tuple[Column, ...]:
    """The columns that a cached source has: the id of each is its place.

    The hidden column is one of them if the job reads it.
    """
    scans = (operator for operator in job.graph if isinstance(operator, Scan))
    read = (column for scan in scans if scan.table == source.name for column in scan.columns)
    hidden = next((column for column in read if column.name == HIDDEN), None)
    columns = source.columns if hidden is None else (*source.columns, hidden)
    return tuple(msgspec.structs.replace(column, id=place) for place, column in enumerate(columns))


def planned(job: Job, source: Source) -> FoundSource:
    """What would be cached of a source."""
    record = CachedSource(
        columns=tuple(column.name for column in cached_columns(job, source)),
        rows=0,
        bytes=0,
        numbered=source.has_row_numbers,
        files=(),
    )
    return FoundSource(record=record)


def folder_name(source: Source) -> str:
    """The name of the folder for a source in its recorded state."""
    # The files of a job's own rows lie in its folder, which may be moved.
    files = [
        (os.path.basename(file.path) if source.kept else file.path, file.size, file.modified,
         file.fingerprint)
        for file in source.files
    ]  # fmt: skip
    state = msgspec.json.encode((_ENVELOPE.schema, source.name, files))
    return f"{_PREFIX}{hashlib.sha256(state).hexdigest()[:16]}"


def enter(
    folder: Path, name: str, columns: Collection[Column], *, rows: int, numbered: bool
) -> None:
    """Write the record of the files just written into the folder `name` of `folder`.

    Raises StoreError unless all `rows` are there: tasks on other machines may have written to disks
    of their own.
    """
    stored = stored_result(folder, name, ())
    if stored.rows != rows or not stored.files:
        raise StoreError(f"only {stored.rows} of {rows} rows arrived there; is it a shared disk?")
    record = CachedSource(
        columns=tuple(column.name for column in columns),
        rows=stored.rows,
        bytes=stored.bytes,
        numbered=numbered,
        files=stored.files,
    )
    write_whole(folder / name / _RECORD, _ENVELOPE.seal(msgspec.json.encode(record)))


def found_sources(job: Job, folder: Path) -> dict[str, FoundSource]:
    """What the job in `folder` has cached, by the source's name.

    Folders that are damaged, or whose files are not as they were written, are left out.
    """
    there = {path.name for path in _folders(folder)}
    if not there:
        return {}
    names = {source.name: folder_name(source) for source in job.sources}
    found = {name: _found(folder, at) for name, at in names.items() if at in there}
    return {name: one for name, one in found.items() if one is not None}


def cached_bytes(folder: Path) -> int:
    """The size of everything that the job in `folder` has cached, in bytes."""
    files = (file for path in _folders(folder) for file in path.rglob("*"))
    return sum(file.stat().st_size for file in files if file.is_file())


def drop(folder: Path, kept: Collection[str] = ()) -> None:
    """Remove what is cached in a job's folder, except the folders of the names `kept`."""
    for path in list(_folders(folder)):
        if path.name not in kept:
            shutil.rmtree(path, ignore_errors=True)


def drop_source(folder: Path, source: Source) -> None:
    """Remove what is cached of one source."""
    shutil.rmtree(folder / folder_name(source), ignore_errors=True)


def _folders(folder: Path) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith(_PREFIX) and entry.is_dir(follow_symlinks=False):
                    yield Path(entry.path)
    except FileNotFoundError:
        return


def _found(folder: Path, name: str) -> FoundSource | None:
    """The source in the folder `name`; None if its files are not those that were written."""
    place = folder / name
    try:
        opened = _ENVELOPE.open((place / _RECORD).read_bytes(), str(place / _RECORD))
        record = msgspec.json.decode(opened.body, type=CachedSource)
        if not record.files:
            return None
        as_written = StoredResult(
            folder=name, columns=(), rows=record.rows, bytes=record.bytes, files=record.files
        )
        check_stored(as_written, folder)
    except (OSError, msgspec.DecodeError, PredTraceError):
        return None
    return FoundSource(record=record, paths=tuple(str(place / file.name) for file in record.files))
