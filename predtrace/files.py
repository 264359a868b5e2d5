"""Folders of Parquet files, as stored results are."""

from __future__ import annotations

from pathlib import Path

from predtrace.errors import StoreError
from predtrace.jobs.model import Job, StoredResult

_GONE = (
    "removed, or made anew by another process: open the job again; if that does not help, run the "
    "pipeline again"
)


def parquet_files(folder: Path) -> list[Path]:
    """The folder's Parquet files, in the order in which their rows are numbered."""
    return sorted(folder.rglob("*.parquet"), key=str)


def measure(folder: Path) -> tuple[int, int]:
    """Rows and bytes of a folder of Parquet files."""
    import pyarrow.parquet as pq

    files = parquet_files(folder)
    rows = sum(pq.read_metadata(file).num_rows for file in files)
    return rows, sum(file.stat().st_size for file in files)


def stored_files(folder: str) -> list[str]:
    """The Parquet files of a stored result. Raises StoreError if there are none.

    A result without rows has a file, too: no files mean that it is no longer there, and would
    else be taken for a result without rows.
    """
    files = [str(file) for file in parquet_files(Path(folder))]
    if not files:
        raise StoreError(f"the stored result {folder} is gone ({_GONE})")
    return files


def check_results(job: Job, folder: Path) -> None:
    """Raise StoreError if a stored result of the job in `folder` is not there whole."""
    if job.output is not None:
        check_stored(job.output, folder)
    for result in {item.result.folder: item.result for item in job.intermediates}.values():
        check_stored(result, folder)


def check_stored(result: StoredResult, folder: Path) -> None:
    """Raise StoreError if a stored result of the job in `folder` is not there whole."""
    place = folder / result.folder
    found = sum(Path(file).stat().st_size for file in stored_files(str(place)))
    if found != result.bytes:
        raise StoreError(
            f"the stored result {place} has {found} bytes, not {result.bytes} ({_GONE})"
        )
