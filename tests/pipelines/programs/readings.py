"""Time series: forward fill, change points, moving averages."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from tests.pipelines.aggregates import mean
from tests.pipelines.kit import Frame, Tables, null
from tests.pipelines.program import Program
from tests.pipelines.windows import first, lag, last, over, rows, span, window

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def forward_filled_readings(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    w = Window.partitionBy("sensor").orderBy("at").rowsBetween(Window.unboundedPreceding, 0)
    readings = spark.read.parquet(f"{folder}/readings.parquet")
    return readings.withColumn("filled", F.last("value", ignorenulls=True).over(w))


def forward_filled_readings_truth(t: Tables) -> Frame:
    up = rows(end=0)
    return window(t("readings"), "sensor", "at", filled=last("value", up, nulls=False))


def both_ways_filled_readings(spark: SparkSession, folder: str) -> DataFrame:
    spark.read.parquet(f"{folder}/readings.parquet").createOrReplaceTempView("readings")
    return spark.sql("""
        SELECT sensor, at,
               coalesce(value,
                 last_value(value) IGNORE NULLS OVER (PARTITION BY sensor ORDER BY at),
                 first_value(value) IGNORE NULLS OVER (PARTITION BY sensor ORDER BY at
                   ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)) AS value
        FROM readings
    """)


def both_ways_filled_readings_truth(t: Tables) -> Frame:
    filled = window(
        t("readings"), "sensor", "at",
        before=last("value", nulls=False), after=first("value", rows(0), nulls=False),
    )  # fmt: skip

    def value(r):
        return next((v for v in (r.value, r.before, r.after) if v is not None), None)

    return filled.pick("sensor", "at", v=value)


def change_points(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    w = Window.partitionBy("sensor").orderBy("at")
    readings = spark.read.parquet(f"{folder}/readings.parquet")
    return (
        readings.withColumn("previous", F.lag("value").over(w))
        .where(~F.col("value").eqNullSafe(F.col("previous")))
        .select("sensor", "at", "previous", "value")
    )


def change_points_truth(t: Tables) -> Frame:
    seen = window(t("readings"), "sensor", "at", previous=lag("value"))
    return seen.where(lambda r: r.value != r.previous).select("sensor at previous value")


def moving_average_of_readings(spark: SparkSession, folder: str) -> DataFrame:
    spark.read.parquet(f"{folder}/readings.parquet").createOrReplaceTempView("readings")
    return spark.sql("""
        SELECT sensor, at, AVG(value) OVER (
                 PARTITION BY sensor ORDER BY at
                 RANGE BETWEEN INTERVAL 30 MINUTES PRECEDING AND CURRENT ROW) AS smooth
        FROM readings
    """)


def moving_average_of_readings_truth(t: Tables) -> Frame:
    half = span(-dt.timedelta(minutes=30), dt.timedelta())
    return window(t("readings"), "sensor", "at", smooth=over(mean("value"), half)).select(
        "sensor at smooth"
    )


def price_changes(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    w = Window.partitionBy("sku").orderBy("valid_from")
    prices = spark.read.parquet(f"{folder}/prices.parquet")
    before = F.lag("list_price").over(w)
    return prices.select(
        "sku", "valid_from", (F.col("list_price") - before).alias("change"),
        F.round(F.col("list_price") / before - 1, 3).alias("pct"),
    )  # fmt: skip


def price_changes_truth(t: Tables) -> Frame:
    seen = window(t("prices"), "sku", "valid_from", before=lag("list_price"))
    return seen.pick(
        "sku", "valid_from",
        change=lambda r: null(lambda a, b: a - b, r.list_price, r.before),
        pct=lambda r: null(lambda a, b: round(a / b - 1, 3), r.list_price, r.before),
    )  # fmt: skip


PROGRAMS = (
    Program(forward_filled_readings, forward_filled_readings_truth),
    Program(both_ways_filled_readings, both_ways_filled_readings_truth),
    Program(change_points, change_points_truth),
    Program(moving_average_of_readings, moving_average_of_readings_truth),
    Program(price_changes, price_changes_truth),
)
