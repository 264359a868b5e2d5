"""Stored results: folders of Parquet files in a job's folder, and whether they are as written.

The job's record has the size and checksum of every file. All files of a result are compared with
these before an engine reads any of them. So an answer rests on what the run, or `build`, stored.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from predtrace.durable.checksums import checksum, known
from predtrace.errors import StoreError
from predtrace.jobs.model import OutputNumbers, StoredFile, StoredResult
from predtrace.vocabulary import FULL
from symbolic.expr import Column

_GONE = (
    "removed, or rewritten by another process: open the job again; if that does not help, run the "
    "pipeline again"
)
_DAMAGED = (
    "mode='auto' ignores damaged intermediate results, and build_intermediates() or predtrace "
    "build stores them again; if the output is damaged, run the pipeline again"
)
_THREADS = 8


def parquet_files(folder: Path) -> list[Path]:
    """The folder's Parquet files, in the order in which their rows are numbered."""
    return sorted(folder.rglob("*.parquet"), key=str)


def stored_result(
    folder: Path, name: str, columns: Sequence[Column], numbers: OutputNumbers | None = None
) -> StoredResult:
    """The record of the files just written into the folder `name` of the job's `folder`."""
    import pyarrow.parquet as pq

    place = folder / name
    files = parquet_files(place)
    rows = sum(pq.read_metadata(file).num_rows for file in files)
    checksums = _checksums([str(file) for file in files])
    described = tuple(
        StoredFile(name=str(file.relative_to(place)), bytes=file.stat().st_size, sha256=found)
        for file, found in zip(files, checksums, strict=True)
    )
    return StoredResult(
        folder=name,
        columns=tuple(columns),
        rows=rows,
        bytes=sum(file.bytes for file in described),
        numbers=numbers,
        files=described,
    )


def stored_files(folder: str, recorded: Sequence[StoredFile]) -> list[str]:
    """The Parquet files of a stored result, compared byte for byte with the files `recorded`.

    Records of earlier versions name no files: all present files are then taken. Raises StoreError
    if a file is missing, was added or changed, or if there is none (a result without rows has one).
    """
    files = [str(file) for file in parquet_files(Path(folder))]
    if not files:
        raise StoreError(f"the stored result {folder} is gone ({_GONE})")
    if recorded:
        _compare(folder, files, recorded)
    return files


def _compare(folder: str, files: Sequence[str], recorded: Sequence[StoredFile]) -> None:
    recorded_as = {os.path.join(folder, file.name): file for file in recorded}
    for path in sorted(recorded_as.keys() ^ set(files)):
        what = "is gone" if path in recorded_as else "was added"
        raise StoreError(f"{path} {what} since the stored result was written ({_GONE})")
    unread = [path for path in files if known(path, FULL) != f"{FULL}:{recorded_as[path].sha256}"]
    for path, sha256 in zip(unread, _checksums(unread), strict=True):
        if sha256 != recorded_as[path].sha256:
            raise StoreError(
                f"{path} is damaged: it is not what was stored (its checksum does not fit); "
                f"{_DAMAGED}"
            )


def _checksums(paths: Sequence[str]) -> list[str]:
    if len(paths) < 2:
        return [_checksum(path) for path in paths]
    with ThreadPoolExecutor(_THREADS) as pool:
        return list(pool.map(_checksum, paths))


def _checksum(path: str) -> str:
    try:
        return checksum(path)
    except OSError as error:
        raise StoreError(f"{path} cannot be read ({error.strerror or error})") from error


def check_results(results: Iterable[StoredResult], folder: Path) -> None:
    """Raise StoreError if a stored result of the job in `folder` is not there as it was written."""
    for result in {result.folder: result for result in results}.values():
        check_stored(result, folder)


def check_stored(result: StoredResult, folder: Path) -> None:
    """Raise StoreError if a stored result of the job in `folder` is not there as it was written.

    It must lie in the job's folder, with links followed.
    """
    place = folder / result.folder
    files = stored_files(str(place), result.files)
    inside = os.path.realpath(folder)
    for file in files:
        real = os.path.realpath(file)
        if os.path.commonpath([inside, real]) != inside:
            raise StoreError(
                f"{file} leads to {real}, which is outside the job's folder; put the file in "
                "its place, or run the pipeline again"
            )
    found = sum(os.stat(file).st_size for file in files)
    if found != result.bytes:
        raise StoreError(
            f"the stored result {place} has {found} bytes, not {result.bytes} ({_GONE})"
        )
