"""Monitoring: outliers, reconciliations, profiles, thresholds, freshness."""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING

import pandas as pd

from tests.pipelines.aggregates import agg, count, count_if, distinct, high, low, mean, total
from tests.pipelines.kit import Frame, Tables, null
from tests.pipelines.program import Program
from tests.pipelines.windows import over, window

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def outliers_by_deviation(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    w = Window.partitionBy("dept")
    return (
        spark.read.parquet(f"{folder}/employees.parquet")
        .withColumn("mean", F.avg("salary").over(w))
        .withColumn("off", F.abs(F.col("salary") - F.col("mean")))
        .where(F.col("off") > 200)
        .select("id", "dept", "off")
    )


def outliers_by_deviation_truth(t: Tables) -> Frame:
    seen = window(t("employees"), "dept", "", mean=over(mean("salary")))
    off = seen.add(off=lambda r: null(lambda s, m: abs(s - m), r.salary, r.mean))
    return off.where(lambda r: r.off is not None and r.off > 200).select("id dept off")


def outliers_by_scalar(spark: SparkSession, folder: str) -> DataFrame:
    spark.read.parquet(f"{folder}/items.parquet").createOrReplaceTempView("items")
    return spark.sql("""
        SELECT line, unit_price FROM items
        WHERE unit_price > 2 * (SELECT AVG(unit_price) FROM items WHERE sku IS NOT NULL)
    """)


def outliers_by_scalar_truth(t: Tables) -> Frame:
    items = t("items")
    every = t("items").where(lambda r: r.sku is not None).group("", m=mean("unit_price"))
    marked = items.scalar("m", every)
    far = marked.where(lambda r: r.unit_price is not None and r.unit_price > 2 * r.m)
    return far.select("line unit_price")


def reconciled_totals(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    by_year = (
        spark.read.parquet(f"{folder}/sales")
        .groupBy("year", "sku")
        .agg(F.sum("units").alias("units"))
    )
    ours = by_year.where("year = 2023").drop("year")
    theirs = by_year.where("year = 2024").drop("year").withColumnRenamed("units", "later")
    return ours.join(theirs, "sku", "full").select(
        "sku", "units", "later", (F.col("units") - F.col("later")).alias("difference")
    )


def reconciled_totals_truth(t: Tables) -> Frame:
    def year(number: int) -> Frame:
        return t("sales").where(lambda r: r.year == number).group("sku", units=total("units"))

    ours, theirs = year(2023).rename(sku="a"), year(2024).rename(sku="b", units="later")
    both = ours.join(theirs, lambda x, y: x.a == y.b, "full")
    return both.pick(sku=lambda r: r.a or r.b, units="units", later="later",
                     d=lambda r: null(lambda a, b: a - b, r.units, r.later))  # fmt: skip


def profile_of_sales(spark: SparkSession, folder: str) -> DataFrame:
    spark.read.parquet(f"{folder}/sales").createOrReplaceTempView("sales")
    return spark.sql("""
        SELECT year, COUNT(*) AS n, COUNT(units) AS present, COUNT(DISTINCT region) AS regions,
               COUNT_IF(isnan(weight)) AS nans, MIN(month) AS first, MAX(month) AS last,
               SUM(CASE WHEN weight = 0 THEN 1 ELSE 0 END) AS zeros
        FROM sales GROUP BY year
    """)


def profile_of_sales_truth(t: Tables) -> Frame:
    return t("sales").group(
        "year", n=count(), present=count("units"), regions=distinct("region"),
        nans=count_if(lambda r: math.isnan(r.weight)), first=low("month"), last=high("month"),
        zeros=count_if(lambda r: r.weight == 0),
    )  # fmt: skip


def completeness_by_day(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    readings = spark.read.parquet(f"{folder}/readings.parquet")
    return (
        readings.groupBy("sensor", F.to_date("at").alias("day"))
        .agg((F.count("value") / F.count("*")).alias("share"))
        .where("share < 0.9")
    )


def completeness_by_day_truth(t: Tables) -> Frame:
    days = t("readings").add(day=lambda r: t.local(r.at).date())
    share = agg(lambda rows: sum(r.value is not None for r in rows) / len(rows))
    return days.group("sensor day", share=share).where(lambda r: r.share < 0.9)


def stale_sensors(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    readings = spark.read.parquet(f"{folder}/readings.parquet")
    newest = readings.agg(F.max("at").alias("newest"))
    per = readings.where("value IS NOT NULL").groupBy("sensor").agg(F.max("at").alias("seen"))
    return (
        per.crossJoin(newest).where("seen < newest - INTERVAL 5 MINUTES").select("sensor", "seen")
    )


def stale_sensors_truth(t: Tables) -> Frame:
    per = t("readings").where(lambda r: r.value is not None).group("sensor", seen=high("at"))
    newest = t("readings").group("", newest=high("at"))
    late = dt.timedelta(minutes=5)
    return per.cross(newest).where(lambda r: r.seen < r.newest - late).select("sensor seen")


def checks_against_thresholds(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    limits = spark.createDataFrame(
        pd.DataFrame({"service": ["db", "web", "job"], "limit_ms": [50, 100, 400]})
    )
    logs = spark.read.json(f"{folder}/logs.json")
    return (
        logs.join(limits, "service")
        .where(F.col("ms") > F.col("limit_ms"))
        .groupBy("service", "limit_ms")
        .agg(F.count("*").alias("breaches"), F.max("ms").alias("worst"))
    )


def checks_against_thresholds_truth(t: Tables) -> Frame:
    rows = [("db", 50), ("web", 100), ("job", 400)]
    logs = t("logs")
    joined = logs.join(t.rows("limits", "service limit_ms", rows), "service")
    over_ = joined.where(lambda r: r.ms is not None and r.ms > r.limit_ms)
    return over_.group("service limit_ms", breaches=count(), worst=high("ms"))


PROGRAMS = (
    Program(outliers_by_deviation, outliers_by_deviation_truth),
    Program(outliers_by_scalar, outliers_by_scalar_truth),
    Program(reconciled_totals, reconciled_totals_truth),
    Program(profile_of_sales, profile_of_sales_truth),
    Program(completeness_by_day, completeness_by_day_truth),
    Program(stale_sensors, stale_sensors_truth),
    Program(checks_against_thresholds, checks_against_thresholds_truth),
)
