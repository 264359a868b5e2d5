"""Whole programs of their own process: two lines attach them, and their end records the rest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import predtrace
from predtrace.jobs.store import JobStore
from pushdown.calls import called
from tests.attachment.conftest import SALES

ROOT = Path(__file__).parents[2]
SCRIPT = """
import sys
from pyspark.sql import SparkSession, functions as f

spark = (
    SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    .config("spark.driver.host", "127.0.0.1").config("spark.sql.shuffle.partitions", "1")
    .config("spark.sql.warehouse.dir", "warehouse").getOrCreate()
)
{attach}

def is_large(amount):
    return amount > 4

sales = spark.read.csv("sales.csv", header=True, schema="id int, shop string, amount int")
large = sales.where(f.udf(is_large, "boolean")("amount"))
large.groupBy("shop").agg(f.sum("amount").alias("total")).write.parquet("totals")
spark.sql("create table best using parquet as select * from parquet.`totals` where total > 7")
{end}
"""
ATTACH = 'import predtrace; predtrace.attach(spark, store="lineage")'


@pytest.mark.spark
@pytest.mark.parametrize("end", ["spark.stop()", "sys.exit(3)"])
def test_a_script_with_one_more_line(tmp_path: Path, end: str) -> None:
    """All that it wrote is recorded, with work queued when it ends."""
    text = "".join(f"{number},{shop},{amount}\n" for number, shop, amount in SALES)
    (tmp_path / "sales.csv").write_text("id,shop,amount\n" + text)
    script = tmp_path / "script.py"
    script.write_text(
        SCRIPT.format(attach=ATTACH, end=end).replace("parquet.totals", "parquet.`totals`")
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, env=environment, capture_output=True,
        text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == (3 if "exit" in end else 0), done.stderr[-2000:]
    assert "predtrace:" not in done.stderr
    first, second = JobStore(tmp_path / "lineage").jobs()
    assert (first.problem, second.problem) == ("", "")
    assert first.wrote == str(tmp_path / "totals")
    job = predtrace.open_job(tmp_path / "lineage", second.id)
    total = sum(amount for _, shop, amount in SALES if shop == "a" and amount > 4)
    answer = job.lineage({"shop": "a"})
    assert answer["totals"].to_arrow().to_pylist() == [{"shop": "a", "total": total}]
    # The function was found and read: its result is a comparison, and no call of it is left.
    graph = predtrace.open_job(tmp_path / "lineage", first.id).record.graph
    assert not list(called(term for operator in graph for term in operator.expressions))
    assert not list((tmp_path / "lineage").glob("incomplete-*"))
