"""Layouts hold the same rows, differ in what they should, and their questions are compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyspark.sql import SparkSession

import predtrace
from tpch.check import register_tables
from tpch.data import TABLES
from tpch.errors import TpchError
from tpch.layouts import LAYOUTS, write_layout
from tpch.measures.layouts import KINDS, LayoutMeter
from tpch.measures.layouts_report import layouts_report
from tpch.measures.record import Record
from tpch.queries import read_query


@pytest.fixture(scope="module")
def folders(plain_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("layouts")
    return {name: write_layout(plain_folder, name, place / name) for name in LAYOUTS}


def files_of(folder: Path, table: str) -> list[str]:
    path = folder / f"{table}.parquet"
    return [str(f) for f in ([path] if path.is_file() else sorted(path.rglob("*.parquet")))]


def rows_of(folder: Path, table: str, columns: str = "*") -> duckdb.DuckDBPyRelation:
    files = files_of(folder, table)
    parted = any("=" in Path(file).parent.name for file in files)
    return duckdb.read_parquet(files, hive_partitioning=parted).project(columns)


def filtered_chunks(folder: Path, table: str) -> tuple[int, int]:
    """How many column chunks have a bloom filter, and how many there are."""
    query = "SELECT count(bloom_filter_offset), count(*) FROM parquet_metadata($files)"
    with duckdb.connect() as database:
        ((filtered, chunks),) = database.execute(
            query, {"files": files_of(folder, table)}
        ).fetchall()
    return filtered, chunks


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_layout_holds_the_same_rows(
    name: str, folders: dict[str, Path], plain_folder: Path
) -> None:
    for table in TABLES:
        plain = rows_of(plain_folder, table)
        columns = ", ".join(plain.columns)
        laid = rows_of(folders[name], table, columns)
        assert len(laid) == len(plain)
        assert plain.except_(laid).fetchall() == []
        assert laid.types == plain.types


def test_layouts_are_what_they_say(folders: dict[str, Path]) -> None:
    orders = {
        name: [key for (key,) in rows_of(folder, "orders", "o_orderkey").fetchall()]
        for name, folder in folders.items()
    }
    assert orders["sorted"] == orders["files"] == sorted(orders["sorted"])
    assert orders["mixed"] == orders["filters"] != orders["sorted"]
    assert len(files_of(folders["files"], "orders")) == 16
    assert len(files_of(folders["partitioned"], "orders")) == 5
    filtered, chunks = filtered_chunks(folders["filters"], "orders")
    assert filtered == chunks
    filtered, chunks = filtered_chunks(folders["mixed"], "orders")
    assert filtered < chunks


def test_an_unknown_layout_is_refused(plain_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(TpchError, match="no layout heap; choose from sorted, "):
        write_layout(plain_folder, "heap", tmp_path / "heap")
    assert not list(tmp_path.iterdir())


def run_in(spark: SparkSession, folder: Path, store: Path, number: int = 4) -> Any:
    register_tables(spark, folder)
    return predtrace.trace(spark.sql(read_query(number))).run(store=store)


def test_questions_are_timed_in_all_layouts_and_compared(
    spark: SparkSession, folders: dict[str, Path], tmp_path: Path
) -> None:
    names = ["sorted", "partitioned"]
    jobs = {name: run_in(spark, folders[name], tmp_path / name) for name in names}
    chosen = {name: folders[name] for name in names}
    figures = LayoutMeter(4, chosen, jobs, rounds=1).measure()
    assert figures.rows > 100
    assert {name: sorted(times) for name, times in figures.seconds.items()} == dict.fromkeys(
        names, sorted(KINDS)
    )
    record = Record(command="c", settings={}, machine="m", versions={}, entries={"4": figures})
    assert layouts_report(record).count(f"| Q4 | {figures.rows:,} | ") == len(KINDS)

    # The output of Q4 is the same when line items occur twice, its lineage is not.
    twice = tmp_path / "twice"
    twice.mkdir()
    for table in TABLES:
        rows = rows_of(folders["sorted"], table)
        (rows.union(rows) if table == "lineitem" else rows).write_parquet(
            str(twice / f"{table}.parquet")
        )
    wrong = {"sorted": jobs["sorted"], "twice": run_in(spark, twice, tmp_path / "twice-jobs")}
    meter = LayoutMeter(4, {**chosen, "twice": twice}, {**jobs, **wrong}, rounds=1)
    with pytest.raises(TpchError, match="other rows in the layout twice than in sorted"):
        meter.measure()
