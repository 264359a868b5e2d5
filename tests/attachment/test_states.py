"""The state of the sources: an answer is about the files that the job read, or it is refused."""

from __future__ import annotations

import pytest

from predtrace.errors import SourceError
from tests.attachment.conftest import Program, ids, shop_ids
from tests.attachment.test_writes import tables  # noqa: F401

pytestmark = pytest.mark.usefixtures("tables")


@pytest.mark.parametrize("partitioned", ["", "partitioned by (shop)"])
def test_a_table_that_the_job_appends_to(program: Program, partitioned: str) -> None:
    spark = program.spark
    spark.sql(f"create table t using parquet {partitioned} as select id, amount, shop from sales")
    spark.sql("insert into t select id + 100, amount, shop from t where shop = 'a'")
    spark.sql("insert into t select id + 1000, amount, shop from t")
    *_, first, second = map(program.job, program.jobs())
    answer = first.lineage({"id": 103, "amount": 9, "shop": "a"})
    assert answer.label == "precise"
    assert ids(answer, "attached.t") == [3]
    answer = first.lineage("amount > 0")
    assert ids(answer, "attached.t") == shop_ids(lambda row: row[1] == "a")
    assert ids(second.lineage({"id": 1103}), "attached.t") == [103]


def test_an_empty_table_that_the_job_fills(program: Program) -> None:
    spark = program.spark
    spark.sql("create table t (id int, shop string) using parquet partitioned by (shop)")
    missing = "left anti join (select * from t where shop = 'c') old on s.id = old.id"
    spark.sql(f"insert into t select s.id, s.shop from sales s {missing} where s.shop = 'c'")
    job = program.only_job()
    for mode in ("auto", "replayed", "naive"):
        for engine in ("duckdb", "spark"):
            answer = job.lineage({"id": 7, "shop": "c"}, mode=mode, engine=engine)
            assert ids(answer, "sales") == [7]
            assert ids(answer, "attached.t") == []


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_partitions_that_came_later_do_not_count(program: Program, engine: str) -> None:
    spark = program.spark
    place = program.path("parts")
    program.sales().write.partitionBy("shop").parquet(place)
    read = spark.read.parquet(place)
    read.where("shop <> 'b'").groupBy("shop").count().write.parquet(program.path("out"))
    program.attachment.wait()
    extra = spark.createDataFrame([(50, 1, "a"), (51, 1, "d")], "id int, amount int, shop string")
    extra.write.mode("append").partitionBy("shop").parquet(place)
    job = program.job(next(job for job in program.jobs() if job.wrote == program.path("out")))
    answer = job.lineage({"shop": "a"}, engine=engine)
    assert ids(answer, "parts") == shop_ids(lambda row: row[1] == "a")
    assert answer.label == "precise"


def test_a_table_that_was_written_anew_is_refused_by_its_file(program: Program) -> None:
    spark = program.spark
    spark.sql("create table t using parquet as select id, shop from sales")
    spark.sql("create table u using parquet as select shop, count(*) as n from t group by shop")
    program.attachment.wait()
    spark.sql("insert overwrite t select id + 1, shop from sales")
    _, job, _ = map(program.job, program.jobs())
    with pytest.raises(SourceError, match=r"source attached.t: .*parquet does not exist"):
        job.lineage({"shop": "a"})["t"].count()


def test_two_states_in_one_job_are_refused(program: Program) -> None:
    spark, place = program.spark, program.path("grows")
    program.sales().write.parquet(place)
    before = spark.read.parquet(place)
    program.sales().where("id = 1").write.mode("append").parquet(place)
    after = spark.read.parquet(place)
    assert (before.count(), after.count()) == (7, 8)  # Spark lists a frame's files once
    before.join(after, "id").select("id").write.parquet(program.path("out"))
    *_, last = program.jobs()
    assert last.problem.startswith("refused: ")
    assert "it read both states" in last.problem


def test_a_frame_that_is_older_than_the_last_file(program: Program) -> None:
    spark, place = program.spark, program.path("grows")
    program.sales().write.parquet(place)
    before = spark.read.parquet(place)
    program.sales().where("id = 1").write.mode("append").parquet(place)
    before.groupBy("shop").count().write.parquet(program.path("out"))
    *_, last = program.jobs()
    answer = program.job(last).lineage({"shop": "a"})
    assert answer.label == "precise"
    assert ids(answer, "grows") == shop_ids(lambda row: row[1] == "a")


def test_a_table_that_no_scan_of_the_executed_plan_reads(program: Program) -> None:
    """Spark drops an empty join while it runs; the table then lists the job's own rows."""
    spark = program.spark
    spark.conf.set("spark.sql.adaptive.enabled", "true")
    spark.sql("create table t using parquet as select id, shop from sales")
    spark.sql("create table nothing (shop string) using parquet")
    joined = "select t.id, t.shop from t join nothing on t.shop = nothing.shop"
    spark.sql(f"insert into t {joined} union all select id + 10, shop from sales")
    *_, last = program.jobs()
    if last.problem:
        assert "is newer than the job, and no scan tells whether it was read" in last.problem
    else:
        assert ids(program.job(last).lineage("id > 0"), "attached.t") == []


def test_a_scan_that_spark_does_without(program: Program) -> None:
    """A left join that nothing reads is dropped from the executed plan, and has lineage."""
    spark, place = program.spark, program.path("parts")
    program.sales().selectExpr("*", "id % 2 as half").write.partitionBy("shop").parquet(place)
    spark.read.parquet(place).createOrReplaceTempView("parts")
    halves = "(select distinct half from parts) b"
    spark.sql(
        f"select a.id from parts a left join {halves} on a.half = b.half where a.shop = 'c'"
    ).write.parquet(program.path("out"))
    *_, last = program.jobs()
    job = program.job(last)
    for engine in ("duckdb", "spark"):
        answer = job.lineage({"id": 4}, engine=engine)
        first, second = answer.scans
        assert first.to_arrow(["id"])["id"].to_pylist() == [4]
        even = sorted(second.to_arrow(["id"])["id"].to_pylist())
        assert even == shop_ids(lambda row: row[0] % 2 == 0)
