from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from tpch.data import TABLES, build_folder, generate, read_marker, table_files, table_path
from tpch.database import open_database
from tpch.errors import TpchError
from tpch.twist import twist


def test_generate_makes_eight_tables_once(tmp_path: Path) -> None:
    folder = generate(0.001, tmp_path / "tpch")
    files = [table_path(folder, table) for table in TABLES]
    written = [file.stat().st_mtime_ns for file in files]
    assert generate(0.001, folder) == folder
    assert [file.stat().st_mtime_ns for file in files] == written
    assert [path.name for path in tmp_path.iterdir()] == ["tpch"]


def test_an_interrupted_build_leaves_nothing(tmp_path: Path) -> None:
    def fill(temporary: Path) -> None:
        (temporary / "orders.parquet").write_bytes(b"")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_folder(tmp_path / "tpch", {"scale_factor": 1}, fill)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(TpchError, match="holds no TPC-H data"):
        generate(0.001, tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_missing_table_is_named(tmp_path: Path) -> None:
    with pytest.raises(TpchError, match="no orders in"):
        table_path(tmp_path, "orders")


def test_row_ids_are_unique_over_files(twisted_folder: Path) -> None:
    assert len(table_files(twisted_folder, "lineitem")) == 3
    with open_database(twisted_folder, ["lineitem"]) as database:
        total, distinct = database.sql(
            "SELECT count(*), count(DISTINCT row_id) FROM lineitem"
        ).fetchall()[0]
    assert total == distinct > 60_000


def test_twisting_is_deterministic(tmp_path: Path) -> None:
    folder = generate(0.001, tmp_path / "tpch")
    once, again, other = (
        twist(folder, tmp_path / name, seed) for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    assert _contents(once) == _contents(again) != _contents(other)
    assert read_marker(once) == read_marker(again)


def test_twisting_keeps_the_column_types(plain_folder: Path, twisted_folder: Path) -> None:
    for table in TABLES:
        plain, twisted = (
            duckdb.read_parquet(str(table_files(folder, table)[0])).description
            for folder in (plain_folder, twisted_folder)
        )
        assert [column[:2] for column in plain] == [column[:2] for column in twisted]


def _contents(folder: Path) -> list[object]:
    return [
        duckdb.read_parquet([str(file) for file in table_files(folder, table)]).fetchall()
        for table in TABLES
    ]
