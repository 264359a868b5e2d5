"""Small tables with NULLs and duplicates, as Parquet files behind temp views."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from predtrace.frontends.spark import SparkPipeline, read_pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = {
    "t": (
        "k int, g string, v int, d date, m decimal(10,2), x double, s timestamp, b boolean",
        "(1,'a',10,date'1995-01-01',1.50,0.5,timestamp'2020-01-01 00:00:00',true),"
        "(2,'a',20,date'1995-02-01',2.50,1.5,timestamp'2020-01-02 10:00:00',false),"
        "(3,'b',30,date'1996-01-01',3.50,2.5,timestamp'2020-01-03 00:00:00',null),"
        "(3,'b',30,date'1996-01-01',3.50,2.5,timestamp'2020-01-03 00:00:00',null),"
        "(4,null,null,null,null,null,null,null)",
    ),
    "u": ("k int, w int", "(1,100),(3,300),(3,301),(5,500),(null,7)"),
    "e": ("k int, w int", "(0,0)"),
}


@pytest.fixture(scope="session")
def data(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables' folder; `e` is empty."""
    folder = tmp_path_factory.mktemp("tables")
    for name, (schema, rows) in TABLES.items():
        names = ", ".join(column.split()[0] for column in schema.split(", "))
        frame = spark.sql(f"SELECT * FROM VALUES {rows} AS v({names})")
        frame = frame.to(spark.sql(f"SELECT * FROM (SELECT {_nulls(schema)})").schema)
        if name == "e":
            frame = frame.filter("k > 0")
        frame.coalesce(1).write.parquet(str(folder / name))
    return folder


def _nulls(schema: str) -> str:
    return ", ".join(
        "CAST(NULL AS {1}) AS {0}".format(*c.split(" ", 1)) for c in schema.split(", ")
    )


@pytest.fixture
def views(spark: SparkSession, data: Path) -> Iterator[None]:
    """The tables as temp views."""
    for name in TABLES:
        spark.read.parquet(str(data / name)).createOrReplaceTempView(name)
    yield
    for name in TABLES:
        spark.catalog.dropTempView(name)


@pytest.fixture
def read(spark: SparkSession, views: None) -> Callable[[str], SparkPipeline]:
    """Reads a statement over the views."""
    return lambda statement: read_pipeline(statement, spark)
