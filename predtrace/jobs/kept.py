"""Rows that the program itself brought, kept as files in the job's folder.

A saved record names them by paths in the job's folder, since stores are moved and copied. The
record of an opened job has whole paths.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import msgspec

from predtrace.durable.checksums import fingerprint
from predtrace.jobs.model import Job, Source, SourceFile
from predtrace.vocabulary import FULL


def detached(job: Job) -> Job:
    """The record to save: files of kept rows by their paths in the job's folder."""
    return _placed(job, PurePosixPath())


def anchored(job: Job, folder: Path) -> Job:
    """The record of the job in `folder`: files of kept rows by whole paths.

    It may be a saved record, or the record of the job when its folder had another name.
    """
    return _placed(job, PurePosixPath(folder.absolute()))


def kept_in(source: Source, folder: Path, rows: int) -> Source:
    """The source whose `rows` were written into `folder` as one Parquet file.

    Its content alone identifies the file: a copy of the job has the same.
    """
    (file,) = sorted(folder.glob("*.parquet"))
    described = SourceFile(
        path=str(file),
        size=file.stat().st_size,
        modified=0,
        rows=rows,
        fingerprint=fingerprint(str(file), FULL),
    )
    return msgspec.structs.replace(source, roots=(str(folder),), files=(described,))


def _placed(job: Job, folder: PurePosixPath) -> Job:
    """The record with every kept source's folder, by its name, in `folder`."""

    def placed(source: Source) -> Source:
        if not source.kept or not source.roots:
            return source
        given = PurePosixPath(source.roots[0])
        root = folder / given.name
        files = tuple(
            msgspec.structs.replace(file, path=str(root / PurePosixPath(file.path).name))
            for file in source.files
        )
        return msgspec.structs.replace(source, roots=(str(root),), files=files)

    return msgspec.structs.replace(job, sources=tuple(map(placed, job.sources)))
