"""The TPC-H tables in DuckDB, each row with its identity: the oracle's and the twist's ground.

A row's identity is one integer, `row_id`: the number of its file (by name) in the upper
bits, its number in that file in the lower 32.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import duckdb

from tpch.data import TABLES, table_files

_FILE_BITS = 32


def row_id(file_number: int, row_number: int) -> int:
    """The identity of row `row_number` of a table's file `file_number`, both from 0."""
    return (file_number << _FILE_BITS) + row_number


def open_database(folder: Path, tables: Iterable[str] = TABLES) -> duckdb.DuckDBPyConnection:
    """An in-memory DuckDB with the tables of a data folder, each with a column `row_id`."""
    connection = duckdb.connect()
    connection.execute("SET preserve_insertion_order = true")
    connection.execute("SET enable_progress_bar = false")
    for table in tables:
        _load(connection, folder, table)
    return connection


def _load(connection: duckdb.DuckDBPyConnection, folder: Path, table: str) -> None:
    for number, file in enumerate(table_files(folder, table)):
        rows = connection.from_parquet(str(file), file_row_number=True).project(
            f"* EXCLUDE (file_row_number), {row_id(number, 0)} + file_row_number AS row_id"
        )
        if number == 0:
            rows.create(table)
        else:
            rows.insert_into(table)
