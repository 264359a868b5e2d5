"""Writes of an attached program: each becomes one job, whose answers are those of plain Python."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.attachment.conftest import SALES, Program, ids, shop_ids

TOTALS = "select shop, sum(amount) as total from sales group by shop"


@pytest.fixture
def tables(program: Program) -> Iterator[Program]:
    """The program with a database of its own that is gone afterwards."""
    spark, place = program.spark, program.path("warehouse")
    spark.sql(f"create database attached location '{place}'")
    spark.sql("use attached")
    program.sales().createOrReplaceTempView("sales")
    yield program
    spark.sql("use default")
    spark.sql("drop database attached cascade")


def _totals(program: Program) -> Any:
    return program.spark.sql(TOTALS)


WAYS: dict[str, tuple[Callable[[Program], Any], dict[str, Any]]] = {
    "parquet": (
        lambda p: _totals(p).write.parquet(p.path("out")),
        {"path": "out", "format": "parquet", "mode": "errorifexists"},
    ),
    "csv over": (
        lambda p: _totals(p).write.mode("overwrite").csv(p.path("out")),
        {"path": "out", "format": "csv", "mode": "overwrite"},
    ),
    "json appended": (
        lambda p: _totals(p).write.mode("append").json(p.path("out")),
        {"path": "out", "format": "json", "mode": "append"},
    ),
    "partitioned": (
        lambda p: _totals(p).write.partitionBy("shop").orc(p.path("out")),
        {"path": "out", "format": "orc", "partition_columns": ("shop",)},
    ),
    "saveAsTable": (
        lambda p: _totals(p).write.partitionBy("shop").saveAsTable("out"),
        {"table": "out", "partition_columns": ("shop",)},
    ),
    "CTAS": (
        lambda p: p.spark.sql(f"create table out using parquet as {TOTALS}"),
        {"table": "out", "format": "parquet"},
    ),
    "writeTo": (lambda p: _totals(p).writeTo("out").using("parquet").create(), {"table": "out"}),
    "INSERT INTO": (
        lambda p: (
            p.spark.sql("create table out (shop string, total bigint) using parquet"),
            p.spark.sql(f"insert into out {TOTALS}"),
        ),
        {"table": "out", "mode": "append", "path": "warehouse/out"},
    ),
    "WITH … INSERT": (
        lambda p: (
            p.spark.sql("create table out (total bigint, shop string) using csv"),
            p.spark.sql(f"with t as ({TOTALS}) insert overwrite out by name select * from t"),
        ),
        {"table": "out", "mode": "overwrite"},
    ),
    "directory": (
        lambda p: p.spark.sql(
            f"insert overwrite directory '{p.path('out')}' using parquet {TOTALS}"
        ),
        {"path": "out", "format": "parquet", "mode": "overwrite"},
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_write_is_one_job(tables: Program, way: str) -> None:
    write, place = WAYS[way]
    write(tables)
    job = tables.only_job()
    written = job.record.written
    assert written is not None
    for name, value in place.items():
        found = getattr(written, name)
        if name == "path":
            assert found == tables.path(value)
        elif name == "table":
            assert found.rpartition(".")[2] == value
        else:
            assert found == value
    assert written.started <= written.ended
    for shop in "abc":
        answer = job.lineage({"shop": shop})
        assert answer.label == "precise"
        assert ids(answer, "sales") == shop_ids(lambda row, shop=shop: row[1] == shop)


def test_what_is_no_write_is_no_job(tables: Program) -> None:
    spark = tables.spark
    spark.sql("create view v as select 1 as one")
    spark.sql("cache table kept as select * from sales")
    spark.sql("select count(*) from kept").collect()
    _totals(tables).toPandas()
    spark.sql("uncache table kept")
    tables.sales().write.mode("ignore").parquet(tables.path("sales"))
    assert tables.jobs() == []


def test_writes_of_many_threads(program: Program) -> None:
    def write(number: int) -> None:
        frame = program.sales().where(f"id >= {number}")
        frame.groupBy("shop").count().write.parquet(program.path(f"out-{number}"))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = {summary.wrote: program.job(summary) for summary in program.jobs()}
    assert sorted(found) == [program.path(f"out-{number}") for number in range(1, 5)]
    for number in range(1, 5):
        answer = found[program.path(f"out-{number}")].lineage({"shop": "c"})
        assert ids(answer, "sales") == shop_ids(lambda row, n=number: row[1] == "c" and row[0] >= n)


def test_cached_frames_and_functions_of_python(program: Program) -> None:
    from pyspark.sql import functions as f

    def bonus(amount):  # type: ignore[no-untyped-def]
        return amount * 2 + 1

    frame = program.sales().withColumn("bonus", f.udf(bonus, "int")("amount")).cache()
    frame.count()
    frame.where("bonus > 10").select("shop", "bonus").write.parquet(program.path("out"))
    answer = program.only_job().lineage({"bonus": 17})
    assert answer.label == "precise"
    assert ids(answer, "sales") == shop_ids(lambda row: row[2] * 2 + 1 == 17)
    frame.unpersist()


def test_rows_of_the_program_are_kept(program: Program) -> None:
    import pandas as pd

    shops = program.spark.createDataFrame(pd.DataFrame({"shop": ["a", "b"], "town": ["x", "y"]}))
    joined = program.sales().join(shops, "shop").groupBy("town").count()
    joined.write.parquet(program.path("out"))
    answer = program.only_job().lineage({"town": "y"})
    assert ids(answer, "sales") == shop_ids(lambda row: row[1] == "b")
    (rows,) = (name for name in (scan.table for scan in answer.scans) if name != "sales")
    assert ids(answer, rows, "town") == ["y"]


def test_the_job_has_the_settings_of_its_time(program: Program) -> None:
    spark = program.spark
    spark.conf.set("spark.sql.ansi.enabled", "false")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    totals = program.sales().selectExpr("shop", "cast(shop as int) as number")
    totals.write.parquet(program.path("out"))
    spark.conf.set("spark.sql.ansi.enabled", "true")
    spark.conf.unset("spark.sql.session.timeZone")
    settings = program.only_job().record.settings
    assert (settings.ansi, settings.time_zone) == (False, "Asia/Tokyo")
    assert spark.conf.get("spark.sql.ansi.enabled") == "true"


def test_every_row_once(program: Program) -> None:
    """Each row of the output has its own row of the source."""
    program.sales().selectExpr("id * 10 as key", "shop").write.parquet(program.path("out"))
    job = program.only_job()
    for number, shop, _ in SALES:
        assert ids(job.lineage({"key": number * 10, "shop": shop}), "sales") == [number]


def test_a_setting_that_was_unset_is_not_guessed(program: Program) -> None:
    spark = program.spark
    totals = program.sales().groupBy("shop").count()
    totals.write.parquet(program.path("before"))
    assert [job.problem for job in program.jobs()] == [""]
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    spark.conf.unset("spark.sql.session.timeZone")
    in_force = spark.conf.get("spark.sql.session.timeZone")
    totals.write.parquet(program.path("after"))
    *_, after = program.jobs()
    if in_force == spark.sparkContext.getConf().get("spark.sql.session.timeZone"):
        assert program.job(after).record.settings.time_zone == in_force
    else:
        assert "the program unset spark.sql.session.timeZone, which was UTC" in after.problem


def test_facts_of_the_session_are_not_guessed(program: Program) -> None:
    frame = program.sales().selectExpr("id", "current_database() as home")
    frame.write.parquet(program.path("out"))
    (entry,) = program.jobs()
    assert "reads the current user, catalog or database" in entry.problem


def test_the_date_is_known_on_the_same_day(program: Program) -> None:
    import datetime

    def today() -> datetime.date:
        return datetime.datetime.now(datetime.UTC).date()

    began = today()
    frame = program.sales().selectExpr("id", "date_add(current_date(), id) as due")
    frame.where("due > current_date() + interval 2 days").write.parquet(program.path("out"))
    (entry,) = program.jobs()
    if today() == began:
        answer = program.job(entry).lineage({"due": began + datetime.timedelta(days=5)})
        assert answer.label == "precise"
        assert ids(answer, "sales") == [5]
