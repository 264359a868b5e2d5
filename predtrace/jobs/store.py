"""The job store: a local folder with one folder per finished job.

    lineage/
      20261121-093000-4f2a/              a finished job: when it began, to 1/65,536 of a second
        job.json
        output/ …                        stored results (Parquet)
        rows-1/ …                        rows that the program itself brought
        index-minimal.prx                a row-id index, if one was built
        cache-1f0c93ab27de45aa/ …        a source that only Spark reads, as Parquet (see `caches`)
      20261121-094500-11c0/              a job that was seen and could not be recorded
        note.json                        why
      incomplete-20261121-101500-90c1+…  a job being written; its name ends with the owner

A job appears when its complete folder is renamed, so no incomplete job is ever listed. The next job
to begin removes what interrupted processes left behind, beside jobs or in them.
"""

from __future__ import annotations

import difflib
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from predtrace.durable.owners import this_process
from predtrace.durable.writing import INCOMPLETE, sweep, sync_folder, write_whole
from predtrace.errors import PredTraceError, StoreError
from predtrace.jobs.caches import cached_bytes, drop
from predtrace.jobs.codec import decode_job, encode_job
from predtrace.jobs.kept import anchored, detached
from predtrace.jobs.model import Job
from predtrace.jobs.unrecorded import (
    NOTE_FILE,
    Unrecorded,
    encode_note,
    read_note,
    refuse_noted,
)
from pushdown.operators import Scan

JOB_FILE = "job.json"
LATEST = "latest"


class JobSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a listing. `rows` is None if the output was not kept.

    `query` is the query's first line that is not a comment; `bytes` is the size of stored results,
    of the program's own rows, and of indexes; `cached` is the size of the sources that questions
    have cached. A job that cannot be read has the error's text as its `problem` and nothing else;
    one that could not be recorded has the reason as its problem. `wrote` is the table or path to
    which a job that ran without us wrote.
    """

    id: str
    created: str = ""
    query: str = ""
    rows: int | None = None
    bytes: int = 0
    cached: int = 0
    scans: int = 0
    problem: str = ""
    wrote: str = ""


class JobStore:
    """The store in the folder `path`, which need not exist before the first job.

    Raises StoreError if `path` is an address of another kind of storage.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        text = os.fspath(path)
        scheme, separator, rest = text.partition("://")
        if separator and scheme != "file":
            raise StoreError(f"the store {text} is not a local folder; use one on this machine")
        self.path = Path(rest if separator else text)

    def begin(self) -> JobWriter:
        """A new job, to be filled and committed.

        Raises StoreError if the store's folder cannot be made or written.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._sweep()
            return self._new_writer()
        except OSError as error:
            raise StoreError(
                f"the store {self.path} cannot be written ({_why(error)}); "
                "choose another with store=… or --store, or change its permissions"
            ) from error

    def jobs(self) -> list[JobSummary]:
        """All finished jobs, oldest first; a corrupt one is listed with its problem."""
        return [self._summary(job_id) for job_id in self._ids()]

    def open(self, job_id: str) -> Job:
        """The job with this id, or with the only id that begins so; ``latest`` is the last.

        Raises StoreError if there is none, JobFormatError if its file is corrupt.
        """
        return self._read(self._resolve(job_id))

    def folder(self, job_id: str) -> Path:
        """The folder of a finished job (id as for `open`)."""
        return self.path / self._resolve(job_id)

    def drop_caches(self) -> int:
        """Remove the sources that questions have cached in all jobs; returns their size in bytes.

        The next question that needs one has Spark read it again.
        """
        folders = [self.path / job_id for job_id in self._ids()]
        size = sum(map(cached_bytes, folders))
        for folder in folders:
            drop(folder)
        return size - sum(map(cached_bytes, folders))

    def _read(self, job_id: str) -> Job:
        return read_record(self.path / job_id)

    def _summary(self, job_id: str) -> JobSummary:
        try:
            if (self.path / job_id / NOTE_FILE).is_file():
                return _noted(read_note(self.path / job_id))
            job = self._read(job_id)
        except PredTraceError as error:
            return JobSummary(id=job_id, problem=str(error))
        # Plans for both readings of min and max may share a stored table.
        kept = [each for function in job.functions for each in function.results]
        results = [*(item.result for item in job.intermediates), *kept]
        stored = {result.folder: result.bytes for result in results}
        indexes = (self.path / job_id).glob("index-*.prx")
        return JobSummary(
            id=job_id,
            created=job.created,
            query=_first_line(job.query),
            rows=None if job.output is None else job.output.rows,
            bytes=sum(stored.values())
            + sum(file.size for source in job.sources if source.kept for file in source.files)
            + (0 if job.output is None else job.output.bytes)
            + sum(file.stat().st_size for file in indexes),
            cached=cached_bytes(self.path / job_id),
            scans=sum(isinstance(operator, Scan) for operator in job.graph),
            wrote="" if job.written is None else job.written.place,
        )

    def _ids(self) -> list[str]:
        try:
            entries = sorted(entry.name for entry in os.scandir(self.path))
        except FileNotFoundError as error:
            raise StoreError(
                f"there is no store {self.path}; `predtrace run … --store {self.path}` makes one"
            ) from error
        except OSError as error:
            raise StoreError(f"the store {self.path} cannot be read ({_why(error)})") from error
        return [
            name
            for name in entries
            if not name.startswith(INCOMPLETE)
            and any((self.path / name / file).is_file() for file in (JOB_FILE, NOTE_FILE))
        ]

    def _resolve(self, job_id: str) -> str:
        ids = self._ids()
        found = [known for known in ids if known == job_id] or [
            known for known in ids if job_id and known.startswith(job_id)
        ]
        if job_id == LATEST and (
            recorded := [known for known in ids if (self.path / known / JOB_FILE).is_file()]
        ):
            return recorded[-1]
        if len(found) == 1:
            return found[0]
        if found:
            raise StoreError(
                f"several jobs in {self.path} begin with {job_id}: {', '.join(found[:8])}; "
                "give more of the id"
            )
        if not ids:
            raise StoreError(f"the store {self.path} holds no jobs; `predtrace run` makes one")
        near = difflib.get_close_matches(job_id, ids, n=3, cutoff=0.4)
        shown = f"near it: {', '.join(near)}" if near else f"the latest: {', '.join(ids[-3:])}"
        raise StoreError(
            f"there is no job {job_id!r} in {self.path}; {shown} "
            f"(`predtrace jobs --store {self.path}` lists all)"
        )

    def _new_writer(self) -> JobWriter:
        owner = this_process()
        while True:
            job_id = _job_id(datetime.now(UTC))
            if self._taken(job_id):
                continue
            folder = self.path / f"{INCOMPLETE}{job_id}+{owner}"
            try:
                folder.mkdir()
            except FileExistsError:
                continue
            if self._taken(job_id) > 1:  # removed by another process at the same time
                folder.rmdir()
                continue
            return JobWriter(self.path, job_id, folder)

    def _taken(self, job_id: str) -> int:
        """The number of jobs, finished or being written, with this id."""
        names = (entry.name.removeprefix(INCOMPLETE) for entry in os.scandir(self.path))
        return sum(name.partition("+")[0] == job_id for name in names)

    def _sweep(self) -> None:
        """Remove leftovers of ended processes: incomplete jobs, and unfinished parts of jobs."""
        sweep(self.path)
        for entry in list(os.scandir(self.path)):
            if not entry.name.startswith(INCOMPLETE) and entry.is_dir(follow_symlinks=False):
                sweep(Path(entry.path))


class JobWriter:
    """A job being written: `folder` takes its stored results until `commit`.

    As a context manager it aborts a job that was not committed.
    """

    def __init__(self, store: Path, job_id: str, folder: Path) -> None:
        self.id = job_id
        self.folder = folder
        self._store = store

    def commit(self, job: Job) -> Path:
        """Save the job and make it visible; returns its final folder.

        Raises StoreError if it cannot be saved (the folder is kept until `abort`), and
        ValueError if `job.id` is not this writer's.
        """
        if job.id != self.id:
            raise ValueError(f"job {job.id} cannot be committed as {self.id}")
        return self._finish(JOB_FILE, encode_job(detached(job)))

    def leave(self, note: Unrecorded) -> Path:
        """Leave a note in place of the job, which could not be recorded; as `commit`."""
        return self._finish(NOTE_FILE, encode_note(note))

    def _finish(self, name: str, data: bytes) -> Path:
        final = self._store / self.id
        try:
            write_whole(self.folder / name, data)
            self.folder.rename(final)
            sync_folder(self._store)
        except OSError as error:
            raise StoreError(
                f"job {self.id} cannot be saved in {self._store} ({_why(error)}); "
                "free space or change permissions, then run again"
            ) from error
        self.folder = final
        return final

    def abort(self) -> None:
        """Remove what was written. Does nothing after `commit`."""
        if self.folder.name.startswith(INCOMPLETE):
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> JobWriter:
        return self

    def __exit__(self, *exception: object) -> None:
        self.abort()


def read_record(folder: Path) -> Job:
    """The record of the finished job in a folder.

    Raises StoreError if it cannot be read, JobFormatError if it is corrupt.
    """
    file = folder / JOB_FILE
    refuse_noted(folder)
    try:
        data = file.read_bytes()
    except OSError as error:
        raise StoreError(f"{file} cannot be read ({_why(error)})") from error
    return anchored(decode_job(data, str(file)), folder)


def _noted(note: Unrecorded) -> JobSummary:
    return JobSummary(
        id=note.id,
        created=note.created,
        query=_first_line(note.query),
        problem=note.told,
        wrote="" if note.written is None else note.written.place,
    )


def record_version(folder: Path) -> tuple[int, int]:
    """A version of the record, which changes whenever the job in a folder is saved again.

    Raises StoreError if the job is gone, or was not recorded.
    """
    refuse_noted(folder)
    file = folder / JOB_FILE
    try:
        status = file.stat()
    except OSError as error:
        raise StoreError(f"{file} cannot be read ({_why(error)})") from error
    return status.st_ino, status.st_mtime_ns


def index_file(folder: Path, aggregates: str) -> Path:
    """The file of the row-id index of the job in `folder`, for one reading of min and max."""
    return folder / f"index-{aggregates}.prx"


def replace_job(folder: Path, job: Job) -> None:
    """Save a finished job again, atomically: a reader sees the old record or the new record.

    Raises StoreError if it cannot be written; the old record then stays.
    """
    try:
        write_whole(folder / JOB_FILE, encode_job(detached(job)))
    except OSError as error:
        raise StoreError(
            f"job {job.id} cannot be saved in {folder} ({_why(error)}); "
            "free space or change permissions, then try again"
        ) from error


def _job_id(now: datetime) -> str:
    """An id of date, time and fraction of the second: ids sort by the start of their jobs."""
    return f"{now:%Y%m%d-%H%M%S}-{(now.microsecond << 16) // 1_000_000:04x}"


def _first_line(query: str) -> str:
    lines = (line.strip() for line in query.splitlines())
    return next((line for line in lines if line and not line.startswith("--")), "")


def _why(error: OSError) -> str:
    return error.strerror or str(error)
