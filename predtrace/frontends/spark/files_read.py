"""The files that the executed scans of a pipeline read, where it ran without us.

A plan's own list of files is live: after a job has appended to a table that it read, it has the
job's output, too.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from predtrace.errors import SourceError
from predtrace.jobs.formats import lies_under
from predtrace.jobs.snapshot import listed_files


class FileRead(NamedTuple):
    """A file as it was when Spark listed it; `modified` is in milliseconds since 1970."""

    path: str
    size: int
    modified: int


class ScanRead(NamedTuple):
    """An executed scan: the paths that it was asked for, and the files that it chose.

    A `pruned` scan left files out by their partition.
    """

    roots: tuple[str, ...]
    pruned: bool
    files: tuple[FileRead, ...]


class FilesRead:
    """The executed scans of a job that was `started` at so many milliseconds since 1970."""

    def __init__(self, scans: Sequence[ScanRead], started: int) -> None:
        self._scans = scans
        self._started = started

    def paths(self, roots: Sequence[str]) -> tuple[str, ...] | None:
        """The files that were read of the source at these paths; None if it was not scanned.

        Files that only were left out by their partition belong to it: a further scan may have read
        them, which Spark found that it could do without. Raises SourceError for a file that changed
        since, if two scans found the source in different states, and if a source that was not
        scanned has files that are newer than the job.
        """
        near = [
            scan
            for scan in self._scans
            if scan.roots
            and all(any(lies_under(path, root) for root in roots) for path in scan.roots)
        ]
        whole = [s for s in near if set(s.roots) == set(roots) and not s.pruned]
        if any("://" in path for path in roots):
            return None
        if not near and all(scan.roots for scan in self._scans):
            self._check_unread(roots)
            return None
        # A scan without roots found that a table has none of the partitions that it wants.
        if len({frozenset(scan.files) for scan in whole}) > 1:
            raise SourceError(
                f"{', '.join(roots)} changed between two reads of the job: it read both states"
            )
        found = {file.path: file for scan in whole or near for file in scan.files}
        for file in found.values():
            _check(file)
        return tuple(sorted({*found, *([] if whole else self._left_out(roots, found))}))

    def _left_out(self, roots: Sequence[str], read: Collection[str]) -> Iterator[str]:
        """The files of partitions that no scan read, as old as the job.

        A file beside one that was read was not in Spark's list.
        """
        folders = {os.path.dirname(path) for path in read}
        for file in listed_files(roots):
            before = file.modified // 1_000_000 < self._started
            if before and os.path.dirname(file.path) not in folders:
                yield file.path

    def _check_unread(self, roots: Sequence[str]) -> None:
        """Spark found that it need not read the source, perhaps only after it had."""
        for file in listed_files(roots):
            if file.modified // 1_000_000 >= self._started:
                raise SourceError(
                    f"{file.path} is newer than the job, and no scan tells whether it was read"
                )


def _check(file: FileRead) -> None:
    try:
        status = os.stat(file.path)
    except OSError as error:
        raise SourceError(f"{file.path} is gone since the job read it") from error
    if (status.st_size, status.st_mtime_ns // 1_000_000) != (file.size, file.modified):
        raise SourceError(f"{file.path} was modified since the job read it")
