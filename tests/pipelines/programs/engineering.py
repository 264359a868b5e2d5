"""What engineers add: salts, surrogate keys, hints, file names, saved tables, calendars."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from tests.pipelines.aggregates import count, distinct, high, mean, total
from tests.pipelines.kit import Frame, Tables, null
from tests.pipelines.program import Program
from tests.pipelines.windows import first, lag, over, row_number, rows, top, window

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def salted_aggregation(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    items = spark.read.parquet(f"{folder}/items.parquet")
    salted = items.withColumn("salt", F.pmod(F.hash("line"), F.lit(4)))
    partial = salted.groupBy("sku", "salt").agg(F.sum("qty").alias("q"), F.count("*").alias("n"))
    return partial.groupBy("sku").agg(F.sum("q").alias("qty"), F.sum("n").alias("n"))


def salted_aggregation_truth(t: Tables) -> Frame:
    return t("items").group("sku", qty=total("qty"), n=count())


def randomly_salted_join(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    items = spark.read.parquet(f"{folder}/items.parquet").withColumn(
        "salt", (F.rand(seed=3) * 2).cast("int")
    )
    products = spark.read.parquet(f"{folder}/products.parquet").withColumn(
        "salt", F.explode(F.array(F.lit(0), F.lit(1)))
    )
    return items.join(products, ["sku", "salt"]).groupBy("category").agg(F.sum("qty").alias("qty"))


def randomly_salted_join_truth(t: Tables) -> Frame:
    return t("items").join(t("products"), "sku").group("category", qty=total("qty"))


def surrogate_keys(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    people = spark.read.parquet(f"{folder}/customers.parquet").select("customer_id").distinct()
    w = Window.orderBy("customer_id")
    keys = people.withColumn("key", F.row_number().over(w) + 1000)
    orders = spark.read.parquet(f"{folder}/orders.parquet")
    return orders.join(keys, "customer_id", "left").select(
        "order_id", F.coalesce("key", F.lit(-1)).alias("customer_key")
    )


def surrogate_keys_truth(t: Tables) -> Frame:
    orders = t("orders")
    people = t("customers").select("customer_id").distinct()
    keys = window(people, "", "customer_id", n=row_number())
    joined = orders.join(keys, "customer_id", "left")
    return joined.pick("order_id", key=lambda r: -1 if r.n is None else r.n + 1000)


def hinted_and_repartitioned(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    orders = spark.read.parquet(f"{folder}/orders.parquet").repartition(3, "customer_id")
    people = spark.read.parquet(f"{folder}/customers.parquet").hint("broadcast").coalesce(1)
    joined = orders.join(people, "customer_id").sortWithinPartitions("order_id").persist()
    return joined.groupBy("city").agg(F.max("ordered_at").alias("last")).orderBy("city")


def hinted_and_repartitioned_truth(t: Tables) -> Frame:
    return t("orders").join(t("customers"), "customer_id").group("city", last=high("ordered_at"))


def rows_per_file(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    sales = spark.read.parquet(f"{folder}/sales").where("year = 2024")
    named = sales.withColumn("file", F.regexp_extract(F.input_file_name(), r"month=(\d+)", 1))
    return named.groupBy("file").count()


def rows_per_file_truth(t: Tables) -> Frame:
    sales = t("sales").where(lambda r: r.year == 2024).add(file=lambda r: str(r.month))
    return sales.group("file", n=count())


def rows_by_metadata(spark: SparkSession, folder: str) -> DataFrame:
    sales = spark.read.parquet(f"{folder}/sales")
    return sales.where("_metadata.file_path LIKE '%year=2023/month=2%'").select(
        "region", "_metadata.file_name"
    )


def rows_by_metadata_truth(t: Tables) -> Frame:
    some = t("sales").where(lambda r: (r.year, r.month) == (2023, 2))
    return some.pick("region", file_name=lambda r: "part-0.parquet")


def saved_tables(spark: SparkSession, folder: str) -> DataFrame:
    items = spark.read.parquet(f"{folder}/items.parquet")
    spark.sql("DROP TABLE IF EXISTS saved_items")
    (
        items.where("sku IS NOT NULL").write.mode("overwrite").bucketBy(2, "sku").sortBy("line")
        .option("path", f"{folder}/saved_items").saveAsTable("saved_items")
    )  # fmt: skip
    return spark.sql("SELECT sku, SUM(qty) AS qty FROM saved_items GROUP BY sku")


def saved_tables_truth(t: Tables) -> Frame:
    items = t("items").where(lambda r: r.sku is not None)
    t.scans.clear()
    return t.written("saved_items", items).group("sku", qty=total("qty"))


def partitioned_and_back(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    orders = spark.read.parquet(f"{folder}/orders.parquet")
    (
        orders.withColumn("day", F.to_date("ordered_at")).select("order_id", "amount", "day")
        .write.mode("overwrite").partitionBy("day").parquet(f"{folder}/orders_by_day")
    )  # fmt: skip
    back = spark.read.parquet(f"{folder}/orders_by_day")
    return back.where("day >= '2024-04-01'").groupBy("day").agg(F.sum("amount").alias("amount"))


def partitioned_and_back_truth(t: Tables) -> Frame:
    orders = t("orders").pick("order_id", "amount", day=lambda r: t.local(r.ordered_at).date())
    t.scans.clear()
    stored = t.written("orders_by_day", orders)
    some = stored.where(lambda r: r.day >= dt.date(2024, 4, 1))
    return some.group("day", amount=total("amount"))


def calendar_from_range(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    days = spark.range(0, 30, 3).select(
        F.date_add(F.lit("2024-01-01").cast("date"), F.col("id").cast("int")).alias("day")
    )
    prices = spark.read.parquet(f"{folder}/prices.parquet")
    return (
        days.join(prices, days["day"] >= prices["valid_from"])
        .groupBy("day")
        .agg(F.countDistinct("sku").alias("priced"), F.max("valid_from").alias("newest"))
    )


def calendar_from_range_truth(t: Tables) -> Frame:
    start = dt.date(2024, 1, 1)
    ids = t.rows("range", "id", [(n,) for n in range(0, 30, 3)])
    days = ids.pick(day=lambda r: start + dt.timedelta(days=r.id))
    known = days.join(t("prices"), lambda d, p: d.day >= p.valid_from)
    return known.group("day", priced=distinct("sku"), newest=high("valid_from"))


def window_over_aggregates(spark: SparkSession, folder: str) -> DataFrame:
    spark.read.parquet(f"{folder}/sales").createOrReplaceTempView("sales")
    return spark.sql("""
        SELECT year, month, SUM(units) AS units,
               SUM(units) - LAG(SUM(units)) OVER (PARTITION BY year ORDER BY month) AS change,
               SUM(SUM(units)) OVER (PARTITION BY year ORDER BY month) AS so_far
        FROM sales GROUP BY year, month
    """)


def window_over_aggregates_truth(t: Tables) -> Frame:
    months = t("sales").group("year month", units=total("units"))
    seen = window(months, "year", "month", prev=lag("units"), so_far=over(total("units")))
    moved = seen.add(change=lambda r: null(lambda a, b: a - b, r.units, r.prev))
    return moved.select("year month units change so_far")


def year_over_year(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    months = (
        spark.read.parquet(f"{folder}/sales")
        .groupBy("year", "month")
        .agg(F.sum("units").alias("units"))
    )
    before = months.withColumn("year", F.col("year") + 1).withColumnRenamed("units", "last_year")
    return months.join(before, ["year", "month"]).withColumn(
        "growth", F.col("units") / F.col("last_year") - 1
    )


def year_over_year_truth(t: Tables) -> Frame:
    def months() -> Frame:
        return t("sales").group("year month", units=total("units"))

    now = months()
    before = months().add(year=lambda r: r.year + 1).rename(units="last_year")
    joined = now.join(before, "year month")
    return joined.add(growth=lambda r: null(lambda a, b: a / b - 1, r.units, r.last_year))


def three_month_mean(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    months = (
        spark.read.parquet(f"{folder}/sales")
        .groupBy("year", "month")
        .agg(F.sum("units").alias("units"))
    )
    w = Window.orderBy("year", "month").rowsBetween(-2, Window.currentRow)
    smooth, since = F.avg("units").over(w), F.first("units").over(w)
    return months.select("year", "month", smooth.alias("smooth"), since.alias("since"))


def three_month_mean_truth(t: Tables) -> Frame:
    months = t("sales").group("year month", units=total("units"))
    last = rows(-2, 0)
    return window(months, "", "year month", smooth=over(mean("units"), last),
                  f=first("units", last)).select("year month smooth f")  # fmt: skip


def deduplicated_then_pivoted(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    orders = spark.read.parquet(f"{folder}/orders.parquet")
    w = Window.partitionBy("order_id").orderBy(F.col("ordered_at").desc())
    latest = orders.withColumn("rn", F.row_number().over(w)).where("rn = 1")
    return (
        latest.groupBy("customer_id").pivot("order channel", ["web", "shop"]).agg(F.sum("amount"))
    )


def deduplicated_then_pivoted_truth(t: Tables) -> Frame:
    latest = top(t("orders"), "order_id", "-ordered_at").rename(**{"order channel": "channel"})
    return latest.pivot("customer_id", "channel", ["web", "shop"], amount=total("amount"))


PROGRAMS = (
    Program(salted_aggregation, salted_aggregation_truth),
    Program(randomly_salted_join, randomly_salted_join_truth),
    Program(surrogate_keys, surrogate_keys_truth),
    Program(hinted_and_repartitioned, hinted_and_repartitioned_truth),
    Program(rows_per_file, rows_per_file_truth),
    Program(rows_by_metadata, rows_by_metadata_truth),
    Program(saved_tables, saved_tables_truth),
    Program(partitioned_and_back, partitioned_and_back_truth),
    Program(calendar_from_range, calendar_from_range_truth),
    Program(window_over_aggregates, window_over_aggregates_truth),
    Program(year_over_year, year_over_year_truth),
    Program(three_month_mean, three_month_mean_truth),
    Program(deduplicated_then_pivoted, deduplicated_then_pivoted_truth),
)
