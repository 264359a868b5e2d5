"""Reports: aggregates, pivots, ROLLUP, CUBE, HAVING, several tables joined."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from tests.pipelines.aggregates import (
    agg,
    count,
    count_if,
    distinct,
    high,
    low,
    mean,
    ordered_set,
    total,
)
from tests.pipelines.kit import Frame, Tables, null
from tests.pipelines.program import Program

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def revenue_by_category(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    items = spark.read.parquet(f"{folder}/items.parquet")
    products = spark.read.parquet(f"{folder}/products.parquet")
    return (
        items.join(products, "sku", "left")
        .withColumn("revenue", F.col("qty") * F.col("unit_price"))
        .groupBy("category")
        .agg(F.sum("revenue").alias("revenue"), F.countDistinct("order_id").alias("orders"))
        .orderBy(F.desc("revenue"))
    )


def revenue_by_category_truth(t: Tables) -> Frame:
    joined = t("items").join(t("products"), "sku", "left")
    priced = joined.add(revenue=lambda r: null(lambda a, b: a * b, r.qty, r.unit_price))
    return priced.group("category", revenue=total("revenue"), orders=distinct("order_id"))


def sales_pivot_by_year(spark: SparkSession, folder: str) -> DataFrame:
    sales = spark.read.parquet(f"{folder}/sales")
    return sales.groupBy("region").pivot("year", [2023, 2024]).sum("units")


def sales_pivot_by_year_truth(t: Tables) -> Frame:
    return t("sales").pivot("region", "year", [2023, 2024], units=total("units"))


def status_pivot_two_aggregates(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    orders = spark.read.parquet(f"{folder}/orders.parquet")
    return (
        orders.groupBy("order channel")
        .pivot("status", ["paid", "open"])
        .agg(F.count("order_id").alias("n"), F.max("amount").alias("top"))
    )


def status_pivot_two_aggregates_truth(t: Tables) -> Frame:
    values = ["paid", "open"]
    # A count of no rows is NULL in a pivot.
    n = agg(lambda rows: len(rows) or None)
    return _channels(t).pivot("channel", "status", values, n=n, top=high("amount"))


def _channels(t: Tables) -> Frame:
    return t("orders").rename(**{"order channel": "channel"})


def pivot_values_found_in_data(spark: SparkSession, folder: str) -> DataFrame:
    logs = spark.read.json(f"{folder}/logs.json")
    return logs.groupBy("service").pivot("level").count().na.fill(0)


def pivot_values_found_in_data_truth(t: Tables) -> Frame:
    levels = [None, "ERROR", "INFO", "WARN"]
    return t("logs").pivot("service", "level", levels, n=count())


def pivot_in_sql(spark: SparkSession, folder: str) -> DataFrame:
    spark.read.parquet(f"{folder}/sales").createOrReplaceTempView("sales")
    return spark.sql("""
        SELECT * FROM (SELECT region, sku, units FROM sales WHERE year = 2024)
        PIVOT (SUM(units) AS total, MAX(units) AS best FOR sku IN ('s1' AS lamp, 's2' AS desk))
    """)


def pivot_in_sql_truth(t: Tables) -> Frame:
    sales = t("sales").where(lambda r: r.year == 2024).select("region sku units")
    return sales.pivot("region", "sku", ["s1", "s2"], total=total("units"), best=high("units"))


def conditional_columns(spark: SparkSession, folder: str) -> DataFrame:
    spark.read.parquet(f"{folder}/orders.parquet").createOrReplaceTempView("orders")
    return spark.sql("""
        SELECT `order channel` AS channel,
               SUM(CASE WHEN status = 'paid' THEN amount ELSE 0 END) AS paid,
               COUNT(CASE WHEN status = 'cancelled' THEN 1 END) AS cancelled,
               COUNT(*) FILTER (WHERE amount IS NULL) AS unpriced
        FROM orders GROUP BY `order channel`
    """)


def conditional_columns_truth(t: Tables) -> Frame:
    return _channels(t).group(
        "channel",
        paid=total(lambda r: r.amount if r.status == "paid" else Decimal(0)),
        cancelled=count_if(lambda r: r.status == "cancelled"),
        unpriced=count_if(lambda r: r.amount is None),
    )


def rollup_of_sales(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    sales = spark.read.parquet(f"{folder}/sales")
    return sales.rollup("year", "region").agg(
        F.sum("units").alias("units"), F.count(F.lit(1)).alias("n")
    )


def rollup_of_sales_truth(t: Tables) -> Frame:
    return t("sales").rollup("year region", units=total("units"), n=count())


def rollup_with_labels(spark: SparkSession, folder: str) -> DataFrame:
    spark.read.parquet(f"{folder}/sales").createOrReplaceTempView("sales")
    return spark.sql("""
        SELECT CASE WHEN grouping(region) = 1 THEN 'all' ELSE coalesce(region, '?') END AS region,
               grouping_id() AS level, MIN(units) AS least, MAX(units) AS most
        FROM sales GROUP BY ROLLUP (region, year) HAVING COUNT(*) > 1
    """)


def rollup_with_labels_truth(t: Tables) -> Frame:
    sales = t("sales")
    made = []
    for level, names in ((0, "region year"), (1, "region"), (3, "")):
        groups = sales.group(names, least=low("units"), most=high("units"), n=count())
        # The count is read by HAVING, so a group has all its rows behind it.
        kept = groups.where(lambda r: r.n > 1)
        label = (lambda r: "all") if level == 3 else (lambda r: r.region or "?")
        made.append(kept.pick(region=label, level=lambda r, at=level: at,
                              least="least", most="most"))  # fmt: skip
    return made[0].union(made[1]).union(made[2])


def cube_of_channels(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    orders = spark.read.parquet(f"{folder}/orders.parquet")
    renamed = orders.withColumnRenamed("order channel", "channel")
    return renamed.cube("channel", "status").agg(
        F.grouping_id().alias("gid"), F.avg("amount").cast("double").alias("mean")
    )


def cube_of_channels_truth(t: Tables) -> Frame:
    made = []
    orders = _channels(t)
    for gid, names in enumerate(("channel status", "channel", "status", "")):
        level = orders.sets([names.split()], ["channel", "status"], mean=_mean_6("amount"))
        made.append(level.pick("channel", "status", gid=lambda r, at=gid: at, mean="mean"))
    return made[0].union(made[1]).union(made[2]).union(made[3])


def _mean_6(column: str):
    """The average of decimals, which has four more digits after the point."""
    exact = mean(column)
    return agg(lambda rows: null(lambda v: round(v, 6), exact.value(rows)))


def grouping_sets_report(spark: SparkSession, folder: str) -> DataFrame:
    spark.read.parquet(f"{folder}/sales").createOrReplaceTempView("sales")
    return spark.sql("""
        SELECT region, sku, SUM(units) AS units FROM sales WHERE year = 2023
        GROUP BY GROUPING SETS ((region), (sku), ())
    """)


def grouping_sets_report_truth(t: Tables) -> Frame:
    sales = t("sales").where(lambda r: r.year == 2023)
    return sales.sets([["region"], ["sku"], []], ["region", "sku"], units=total("units"))


def departments_above_average(spark: SparkSession, folder: str) -> DataFrame:
    spark.read.parquet(f"{folder}/employees.parquet").createOrReplaceTempView("emp")
    return spark.sql("""
        SELECT dept, AVG(salary) AS pay, COUNT(*) AS heads FROM emp GROUP BY dept
        HAVING AVG(salary) > (SELECT AVG(salary) FROM emp)
    """)


def departments_above_average_truth(t: Tables) -> Frame:
    groups = t("employees").group("dept", pay=mean("salary"), heads=count())
    every = t("employees").group(all=mean("salary"))
    above = groups.scalar("bar", every).where(lambda r: r.pay is not None and r.pay > r.bar)
    return above.select("dept pay heads")


def describe_by_hand(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    sales = spark.read.parquet(f"{folder}/sales").where(F.col("month").isin(1, 2))
    return sales.agg(
        F.min("units").alias("low"), F.max("units").alias("high"), F.count("units").alias("n"),
        F.sort_array(F.collect_set("region")).alias("regions"),
    )  # fmt: skip


def describe_by_hand_truth(t: Tables) -> Frame:
    some = t("sales").where(lambda r: r.month in (1, 2))
    return some.group("", low=low("units"), high=high("units"), n=count("units"),
                      regions=ordered_set("region"))  # fmt: skip


def extremes_by_region(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    sales = spark.read.parquet(f"{folder}/sales").where("year = 2024")
    return sales.groupBy("region").agg(F.min("units"), F.max("units"), F.max("month"))


def extremes_by_region_truth(t: Tables) -> Frame:
    some = t("sales").where(lambda r: r.year == 2024)
    return some.group("region", a=low("units"), b=high("units"), c=high("month"))


PROGRAMS = (
    Program(revenue_by_category, revenue_by_category_truth),
    Program(sales_pivot_by_year, sales_pivot_by_year_truth),
    Program(status_pivot_two_aggregates, status_pivot_two_aggregates_truth),
    Program(pivot_values_found_in_data, pivot_values_found_in_data_truth),
    Program(pivot_in_sql, pivot_in_sql_truth),
    Program(conditional_columns, conditional_columns_truth),
    Program(rollup_of_sales, rollup_of_sales_truth),
    Program(rollup_with_labels, rollup_with_labels_truth),
    Program(cube_of_channels, cube_of_channels_truth),
    Program(grouping_sets_report, grouping_sets_report_truth),
    Program(departments_above_average, departments_above_average_truth),
    Program(describe_by_hand, describe_by_hand_truth),
    Program(extremes_by_region, extremes_by_region_truth),
)
