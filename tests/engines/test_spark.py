"""Abilities of the Spark engine alone: sources without row numbers, sessions of its own."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
import sqlglot

import predtrace
from predtrace.engines.base import Targets
from predtrace.engines.spark.engine import SparkEngine
from predtrace.engines.spark.rows import local_path
from predtrace.errors import EngineError
from predtrace.jobs.model import Source
from symbolic.expr import Column, Literal, call, conjunction, same
from symbolic.types import LONG, STRING
from tests.engines.tables import SETTINGS, param, request, source, targets, write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

K, NAME = Column(1, "k", LONG), Column(2, "Name", STRING)
OUT_K, OUT_N = Column(101, "k", LONG), Column(102, "n", LONG)
TEXT = "k,Name\n1,a\n1,a\n2,\n,d\n3,${x}\n"


@pytest.mark.parametrize(
    ("address", "path"),
    [
        ("file:///a%20b/100%25", "/a b/100%"),
        ("file:/a+b", "/a+b"),
        ("s3://bucket/a%20b", "s3://bucket/a b"),
    ],
)
def test_local_paths(address: str, path: str) -> None:
    assert local_path(address) == path


def test_sources_without_row_numbers(spark: SparkSession, tmp_path: Path) -> None:
    """CSV rows have no identity of their own, and are kept apart all the same."""
    (tmp_path / "t.csv").write_text(TEXT)
    made = msgspec.structs.replace(
        source("t", tmp_path / "t.csv", [K, NAME]), format="csv", options={"header": "true"}
    )
    again = Column(11, "k", LONG), Column(12, "Name", STRING)
    by_key = request(made, (K, NAME), same(K, param(OUT_K)))
    by_range = request(made, again, call("lt", again[0], param(OUT_N)))

    def rows(given: Targets, *asked: Any) -> list[tuple[Any, ...]]:
        answer = SparkEngine(spark).open(given, SETTINGS).rows(asked)
        with pytest.raises(EngineError, match="t is csv, which has no row numbers"):
            answer.row_ids()
        found = [tuple(row.values()) for row in answer.to_arrow().to_pylist()]
        assert answer.count() == len(found)
        return sorted(found, key=repr)

    one = targets([OUT_K, OUT_N], [(0, (1, 3))], numbered=False)
    assert rows(one, by_key) == [(1, "a"), (1, "a")]
    assert rows(one, by_key, by_range) == [(1, "a"), (1, "a"), (2, None)]
    two = targets([OUT_K, OUT_N], [(0, (1, 2)), (0, (None, 2)), (1, (2, 3))], numbered=True)
    assert rows(two, by_key, by_range) == [
        (0, 1, "a"), (0, 1, "a"), (0, None, "d"), (1, 1, "a"), (1, 1, "a"), (1, 2, None),
    ]  # fmt: skip


def test_the_users_session_is_left_alone(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TEXT)
    made = msgspec.structs.replace(
        source("t", tmp_path / "t.csv", [K, NAME]), format="csv", options={"header": "true"}
    )
    before = spark.conf.get("spark.sql.ansi.enabled"), spark.conf.get("spark.sql.session.timeZone")
    views = {row.viewName for row in spark.sql("SHOW VIEWS").collect()}
    predicate = conjunction(same(K, param(OUT_K)), call("eq", NAME, Literal("${x}", STRING)))
    given = targets([OUT_K], [(0, (3,))], numbered=False)
    answer = SparkEngine(spark).open(given, SETTINGS).rows([request(made, (K, NAME), predicate)])
    assert [row["Name"] for row in answer.dataframe().collect()] == ["${x}"]
    after = spark.conf.get("spark.sql.ansi.enabled"), spark.conf.get("spark.sql.session.timeZone")
    assert after == before
    assert {row.viewName for row in spark.sql("SHOW VIEWS").collect()} == views


def test_errors_of_spark_are_told_in_one_line(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "t.parquet"
    file.write_bytes(b"PAR1 not at all")
    broken = Source(name="t", format="parquet", roots=(str(file),), files=(), columns=(K,))
    given = targets([OUT_K], [(0, (3,))], numbered=False)
    asked = request(broken, [K], same(K, param(OUT_K)))
    answer = SparkEngine(spark).open(given, SETTINGS).rows([asked])
    with pytest.raises(EngineError, match="Spark could not evaluate this") as caught:
        answer.count()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("users", "size", "tasks"),
    [("200", 0, 2), ("200", 1_000_000_000, 63), ("200", 10**12, 200), ("1", 10**12, 1)],
)
def test_tasks_follow_what_is_read(
    spark: SparkSession, tmp_path: Path, users: str, size: int, tasks: int
) -> None:
    """Two cores, and a task for 16 MB: never more tasks than the user's own setting."""
    key = "spark.sql.shuffle.partitions"
    own = spark.newSession()
    own.conf.set(key, users)
    write(tmp_path / "t.parquet", [K, NAME], [(1, "a"), (2, "b"), (2, "b")])
    made = source("t", tmp_path / "t.parquet", [K, NAME])
    large = [msgspec.structs.replace(file, size=size) for file in made.files]
    given = targets([OUT_K], [(0, (2,)), (1, (1,))], numbered=True)
    evaluation = SparkEngine(own).open(given, SETTINGS)
    asked = request(msgspec.structs.replace(made, files=tuple(large)), [K], same(K, param(OUT_K)))
    rows = evaluation.rows([asked, asked])
    assert sorted(rows.row_ids().column("row").to_pylist()) == [0, 1, 2]
    assert evaluation.session.conf.get(key) == str(tasks)
    assert own.conf.get(key) == users


@pytest.mark.parametrize("mode", ["replayed", "refined"])
def test_what_a_question_keeps_goes_with_its_answer(
    spark: SparkSession, tmp_path: Path, mode: str
) -> None:
    """Without waiting for the collector of garbage in cycles."""

    def kept() -> set[int]:
        return set(spark.sparkContext._jsc.getPersistentRDDs())

    own = spark.newSession()
    write(tmp_path / "t.parquet", [K, NAME], [(1, "a"), (2, "b"), (2, "b")])
    own.read.parquet(str(tmp_path / "t.parquet")).createOrReplaceTempView("t")
    text = "SELECT l.Name, count(*) AS n FROM t AS l JOIN t AS r ON l.k = r.k GROUP BY l.Name"
    job = predtrace.trace(text, own).run(tmp_path / "store", keep="none")
    gc.collect()
    before = kept()
    gc.disable()
    try:
        answer = job.lineage({"Name": "b"}, mode=mode, engine="spark", spark=own)
        assert "spark" in answer.explain()
        del answer
        assert kept() == before
        answer = job.lineage([{"Name": "a"}, {"Name": "b"}], mode=mode, engine="spark", spark=own)
        rows = answer.scan("t", occurrence=2)
        assert (rows.count(), rows.to_arrow().num_rows, rows.row_ids().num_rows) == (3, 3, 3)
        assert kept() != before
        del answer, rows
        assert kept() == before
    finally:
        gc.enable()


def test_the_plan_of_a_value_set_has_no_plan_behind_it(spark: SparkSession) -> None:
    """Each set reads sets before it; with their plans inside, plans would double in size."""
    evaluation = SparkEngine(spark).open(targets([], [], False), SETTINGS)
    name, count = evaluation.materialized(sqlglot.parse_one("SELECT id FROM range(5)"))
    for _ in range(12):
        query = f"SELECT a.id FROM {name} AS a JOIN {name} AS b USING (id)"
        name, count = evaluation.materialized(sqlglot.parse_one(query))
    assert count == 5
    plan = evaluation.session.table(name)._jdf.queryExecution().toString()
    assert len(plan) < 5_000
