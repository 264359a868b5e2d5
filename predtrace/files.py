"""Folders of Parquet files, as stored results are."""

from __future__ import annotations

from pathlib import Path


def parquet_files(folder: Path) -> list[Path]:
    """The folder's Parquet files, in the order in which their rows are numbered."""
    return sorted(folder.rglob("*.parquet"), key=str)


def measure(folder: Path) -> tuple[int, int]:
    """Rows and bytes of a folder of Parquet files."""
    import pyarrow.parquet as pq

    files = parquet_files(folder)
    rows = sum(pq.read_metadata(file).num_rows for file in files)
    return rows, sum(file.stat().st_size for file in files)
