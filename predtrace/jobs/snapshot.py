"""Snapshots of sources: which files a pipeline read, and whether they are still the same.

A lineage answer is about the rows that the job read. A file counts as unchanged if its path, size,
modification time and fingerprint are unchanged (see `checksums`).
"""

from __future__ import annotations

import functools
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from predtrace.durable.checksums import fingerprint, kind_of, known
from predtrace.errors import SourceError
from predtrace.jobs.formats import lies_under
from predtrace.jobs.model import Source, SourceFile
from predtrace.text.layout import counted
from predtrace.vocabulary import QUICK

T = TypeVar("T")
_PARQUET_MAGIC = b"PAR1"


def snapshot_files(roots: Sequence[str]) -> tuple[SourceFile, ...]:
    """The data files under local paths as they are now, sorted by path.

    Folders are searched as Spark does: names that start with ``_`` or ``.`` are skipped.
    Parquet files get their row count, read from the footer; every file gets a quick
    fingerprint. Raises SourceError if a root does not exist, is not local, or a file cannot be
    read.
    """
    found = sorted(set(listed_files(roots)), key=lambda file: file.path)
    return tuple(_each(_described, found))


def with_fingerprints(source: Source, kind: str) -> Source:
    """The source with fingerprints of this kind. Raises SourceError if it changed meanwhile."""
    check_snapshot(source)

    def described(file: SourceFile) -> SourceFile:
        return msgspec.structs.replace(file, fingerprint=_fingerprint(file.path, kind))

    return msgspec.structs.replace(source, files=tuple(_each(described, source.files)))


SINCE_RUN = ("since the job ran", "run the pipeline again to trace the present data")
SINCE_READ = ("since the pipeline was read", "make the DataFrame again, and trace that")
"""The time since which a source changed, and what to do about it, in words."""


def check_snapshot(source: Source, since: tuple[str, str] = SINCE_RUN) -> None:
    """Raise SourceError unless the source's files are the files that the job read.

    The error names the first file that is gone, new or different, and counts the others. Computed
    rows never change.
    """
    if source.is_computed:
        return
    if not source.is_there:
        raise SourceError(
            f"the rows of {source.name}, which the program itself brought, were not kept with the "
            "job; run it again with a larger rows_limit"
        )
    then, remedy = since
    try:
        now = {file.path: file for file in listed_files(source.roots)}
    except SourceError as error:
        raise SourceError(f"source {source.name}: {error}; {remedy}") from error
    problems = list(_changes({file.path: file for file in source.files}, now))
    if not problems:
        try:
            unknown = [file for file in source.files if not _is_known(file)]
            problems = list(filter(None, _each(_rewritten, unknown)))
        except SourceError as error:
            raise SourceError(f"source {source.name}: {error}; {remedy}") from error
    if problems:
        rest = len(problems) - 1
        more = f" (and {counted(rest, 'more change')})" if rest else ""
        raise SourceError(f"source {source.name} changed {then}: {problems[0]}{more}; {remedy}")


@contextmanager
def unchanged(
    sources: Sequence[Source], since: tuple[str, str] = SINCE_RUN, *, after: bool = True
) -> Iterator[None]:
    """Raise SourceError if a source changes before the block, or before it ends.

    An engine's error about a vanished file does not name the source, and an engine that lists
    folders again raises none. With `after` a block that succeeded is checked, too.
    """
    _check(sources, since)
    try:
        yield
    except Exception as error:
        try:
            _check(sources, since)
        except SourceError as change:
            raise change from error
        raise
    if after:
        _check(sources, since)


def _check(sources: Sequence[Source], since: tuple[str, str]) -> None:
    for source in sources:
        check_snapshot(source, since)


def links_out(source: Source) -> tuple[str, ...]:
    """The source's files that are links out of the paths that the job recorded, with their
    goals."""
    files = () if source.is_computed else source.files
    return _links_out(source.roots, tuple(file.path for file in files))


@functools.lru_cache(maxsize=256)
def _links_out(roots: tuple[str, ...], paths: tuple[str, ...]) -> tuple[str, ...]:
    """The same, remembered in the process: a folder with thousands of files takes a while."""
    real_roots = [os.path.realpath(root) for root in roots]
    real_paths = ((path, os.path.realpath(path)) for path in paths)
    return tuple(
        f"{path} is a link to {real}"
        for path, real in real_paths
        if not any(lies_under(real, root) for root in real_roots)
    )


def _changes(then: dict[str, SourceFile], now: dict[str, SourceFile]) -> Iterator[str]:
    """The changes that sizes and times tell; files kept with the job have no time."""
    for path, before in then.items():
        after = now.get(path)
        if after is None:
            yield f"{path} is gone"
        elif after.size != before.size:
            verb = "grew" if after.size > before.size else "shrank"
            yield f"{path} {verb} from {before.size} to {after.size} bytes"
        elif after.modified != before.modified and before.modified:
            yield f"{path} was modified"
    for path in now:
        if path not in then:
            yield f"{path} is new"


def listed_files(roots: Iterable[str]) -> Iterator[SourceFile]:
    """The data files under local paths, without row counts; see `snapshot_files`."""
    for root in roots:
        if "://" in root:
            raise SourceError(f"{root} is not a local path; only local files can be traced")
        # A root counts even if its name starts with "_": it was asked for by name.
        yield from _files_at(root, frozenset())


def _files_at(path: str, above: frozenset[str]) -> Iterator[SourceFile]:
    try:
        status = os.stat(path)
        if not stat.S_ISDIR(status.st_mode):
            if not stat.S_ISREG(status.st_mode):
                raise SourceError(f"{path} is neither a file nor a folder; only these are traced")
            yield SourceFile(path=path, size=status.st_size, modified=status.st_mtime_ns)
            return
        names = sorted(os.listdir(path))
    except FileNotFoundError as error:
        raise SourceError(f"{path} does not exist") from error
    except OSError as error:
        raise SourceError(f"{path} cannot be read ({error.strerror})") from error
    real = os.path.realpath(path)
    if real in above:
        raise SourceError(f"{path} is a link to a folder that contains it")
    for name in names:
        if not _is_hidden(name):
            yield from _files_at(os.path.join(path, name), above | {real})


def _is_hidden(name: str) -> bool:
    """Spark's rule; a name such as ``_year=2020`` is a partition folder."""
    hidden = name.startswith(".") or (name.startswith("_") and "=" not in name)
    return hidden or name.endswith("._COPYING_")


def _each(work: Callable[[SourceFile], T], files: Sequence[SourceFile]) -> Iterable[T]:
    """Apply the work to every file, to several at a time if they are many."""
    if len(files) < 4:
        return map(work, files)
    with ThreadPoolExecutor(min(16, len(files))) as pool:
        return list(pool.map(work, files))


def _described(file: SourceFile) -> SourceFile:
    return msgspec.structs.replace(
        file, rows=_row_count(file.path), fingerprint=_fingerprint(file.path, QUICK)
    )


def _is_known(file: SourceFile) -> bool:
    """Whether the file need not be read: it was compared before, or has no fingerprint."""
    made = file.fingerprint
    return not made or known(file.path, kind_of(made)) == made


def _rewritten(file: SourceFile) -> str:
    """The change of a file that kept its size and time; empty if there is none."""
    if _fingerprint(file.path, kind_of(file.fingerprint)) == file.fingerprint:
        return ""
    return f"{file.path} has other content with the same size and time"


def _fingerprint(path: str, kind: str) -> str:
    try:
        return fingerprint(path, kind)
    except OSError as error:
        raise SourceError(f"{path} cannot be read ({error.strerror or error})") from error


def _row_count(path: str) -> int | None:
    """The rows of a Parquet file; None for files of other formats."""
    try:
        with Path(path).open("rb") as file:
            magic = file.read(4)
        if magic != _PARQUET_MAGIC:
            return None
        import pyarrow.parquet as pq

        return int(pq.read_metadata(path).num_rows)
    except OSError as error:
        raise SourceError(f"{path} cannot be read ({error.strerror or error})") from error
    except ValueError as error:
        raise SourceError(f"{path} is a damaged Parquet file ({error})") from error


def check_sources(sources: Iterable[Source]) -> None:
    """Raise SourceError if a source is not what the job read."""
    for source in sources:
        check_snapshot(source)
