"""Snapshots of sources: which files a pipeline read, and whether they are still the same.

A lineage answer is about the rows that the job saw. A file counts as unchanged while its
path, size and modification time are.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from predtrace.errors import SourceError
from predtrace.jobs.model import Source, SourceFile

_PARQUET_MAGIC = b"PAR1"
_RERUN = "run the pipeline again to trace the present data"


def snapshot_files(roots: Sequence[str]) -> tuple[SourceFile, ...]:
    """The data files under local paths as they are now, sorted by path.

    Folders are searched as Spark does: names that start with ``_`` or ``.`` are skipped.
    Parquet files get their row count, read from the footer. Raises SourceError if a root
    does not exist, is not local, or a file cannot be read.
    """
    found = sorted(set(listed_files(roots)), key=lambda file: file.path)
    counts = _row_counts([file.path for file in found])
    return tuple(
        msgspec.structs.replace(file, rows=rows) for file, rows in zip(found, counts, strict=True)
    )


def check_snapshot(source: Source) -> None:
    """Raise SourceError if the source's files are not those that the job read.

    The error names the first file that is gone, new or different, and how many are.
    """
    try:
        now = {file.path: file for file in listed_files(source.roots)}
    except SourceError as error:
        raise SourceError(f"source {source.name}: {error}; {_RERUN}") from error
    problems = list(_changes({file.path: file for file in source.files}, now))
    if problems:
        more = f" (and {len(problems) - 1} more changes)" if len(problems) > 1 else ""
        raise SourceError(
            f"source {source.name} changed since the job ran: {problems[0]}{more}; {_RERUN}"
        )


def _changes(then: dict[str, SourceFile], now: dict[str, SourceFile]) -> Iterator[str]:
    for path, before in then.items():
        after = now.get(path)
        if after is None:
            yield f"{path} is gone"
        elif after.size != before.size:
            verb = "grew" if after.size > before.size else "shrank"
            yield f"{path} {verb} from {before.size} to {after.size} bytes"
        elif after.modified != before.modified:
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
            yield SourceFile(path=path, size=status.st_size, modified=status.st_mtime_ns)
            return
        names = sorted(os.listdir(path))
    except FileNotFoundError as error:
        raise SourceError(f"{path} does not exist") from error
    except OSError as error:
        raise SourceError(f"{path} cannot be read ({error.strerror})") from error
    real = os.path.realpath(path)
    if real in above:
        raise SourceError(f"{path} is a link to a folder that it lies in")
    for name in names:
        if not _is_hidden(name):
            yield from _files_at(os.path.join(path, name), above | {real})


def _is_hidden(name: str) -> bool:
    """Spark's rule; a name such as ``_year=2020`` is a partition folder."""
    hidden = name.startswith(".") or (name.startswith("_") and "=" not in name)
    return hidden or name.endswith("._COPYING_")


def _row_counts(paths: Sequence[str]) -> list[int | None]:
    if len(paths) < 4:
        return [_row_count(path) for path in paths]
    with ThreadPoolExecutor(min(16, len(paths))) as pool:
        return list(pool.map(_row_count, paths))


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
