"""Sources: partitioned folders, CSV, JSON, tables that were written before."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from tests.pipelines.aggregates import count, high, total
from tests.pipelines.kit import Frame, Tables
from tests.pipelines.program import Program

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def partitions_pruned(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    return (
        spark.read.parquet(f"{folder}/sales")
        .where((F.col("year") == 2024) & F.col("month").between(2, 3))
        .groupBy("month", "region")
        .agg(F.sum("units").alias("units"))
        .orderBy("month")
    )


def partitions_pruned_truth(t: Tables) -> Frame:
    some = t("sales").where(lambda r: r.year == 2024 and r.month in (2, 3))
    return some.group("month region", units=total("units"))


def years_united(spark: SparkSession, folder: str) -> DataFrame:
    months = [
        spark.read.parquet(f"{folder}/sales").where(f"year = {year} AND month = {month}")
        for year, month in ((2023, 1), (2023, 2), (2024, 1))
    ]
    every = months[0]
    for month in months[1:]:
        every = every.unionByName(month)
    return every.groupBy("sku").count()


def years_united_truth(t: Tables) -> Frame:
    def month(year: int, number: int) -> Frame:
        return t("sales").where(lambda r: r.year == year and r.month == number)

    every = month(2023, 1).union(month(2023, 2)).union(month(2024, 1))
    return every.group("sku", n=count())


def folders_united(spark: SparkSession, folder: str) -> DataFrame:
    """A read for each partition's folder, as people write who do not trust partition columns."""
    from pyspark.sql import functions as F

    frames = [
        spark.read.parquet(f"{folder}/sales/year=2023/month={month}").withColumn(
            "month", F.lit(month)
        )
        for month in (1, 2)
    ]
    return frames[0].union(frames[1]).groupBy("month").agg(F.sum("units").alias("units"))


def folders_united_truth(t: Tables) -> Frame:
    columns = "region sku units weight"
    every = []
    for month in (1, 2):
        kept = [row[:4] for row in t.tables["sales"][1] if row[4:] == (2023, month)]
        frame = t.rows(f"month={month}", columns, kept)
        every.append(frame.add(month=lambda r, month=month: month))
    return every[0].union(every[1]).group("month", units=total("units"))


def stores_from_csv(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    schema = "store_id INT, `store name` STRING, region STRING, size INT"
    stores = spark.read.option("header", True).schema(schema).csv(f"{folder}/stores.csv")
    sales = spark.read.parquet(f"{folder}/sales").where("year = 2024")
    return (
        stores.join(sales.groupBy("region").agg(F.sum("units").alias("units")), "region", "left")
        .select(F.col("store name").alias("store"), "units", "size")
    )  # fmt: skip


def stores_from_csv_truth(t: Tables) -> Frame:
    sales = t("sales").where(lambda r: r.year == 2024).group("region", units=total("units"))
    joined = t("stores").join(sales, "region", "left")
    return joined.pick("units", "size", store="store name").select("store units size")


def inferred_csv(spark: SparkSession, folder: str) -> DataFrame:
    stores = spark.read.csv(f"{folder}/stores.csv", header=True, inferSchema=True)
    return stores.filter(stores["size"] >= 80).groupBy("size").count()


def inferred_csv_truth(t: Tables) -> Frame:
    big = t("stores").where(lambda r: r.size is not None and r.size >= 80)
    return big.group("size", n=count())


def logs_from_json(spark: SparkSession, folder: str) -> DataFrame:
    logs = spark.read.json(f"{folder}/logs.json")
    logs.createOrReplaceTempView("logs")
    errors = spark.sql("SELECT * FROM logs WHERE level = 'ERROR'")
    errors.createOrReplaceTempView("errors")
    return spark.sql("""
        SELECT service, COUNT(*) AS n, MAX(ms) AS worst FROM errors GROUP BY service
    """)


def logs_from_json_truth(t: Tables) -> Frame:
    errors = t("logs").where(lambda r: r.level == "ERROR")
    return errors.group("service", n=count(), worst=high("ms"))


def staged_in_csv(spark: SparkSession, folder: str) -> DataFrame:
    """A stage written as CSV, read again, and joined with its own origin."""
    from pyspark.sql import functions as F

    orders = spark.read.parquet(f"{folder}/orders.parquet")
    paid = (
        orders.where("status = 'paid' AND customer_id IS NOT NULL")
        .groupBy("customer_id")
        .agg(F.count("*").alias("paid"))
    )
    paid.coalesce(1).write.mode("overwrite").option("header", True).csv(f"{folder}/stage_paid")
    stage = (
        spark.read.schema("customer_id INT, paid BIGINT")
        .option("header", True)
        .csv(f"{folder}/stage_paid")
    )
    every = orders.groupBy("customer_id").agg(F.count("*").alias("n"))
    return every.join(stage, "customer_id").select("customer_id", "paid", "n")


def staged_in_csv_truth(t: Tables) -> Frame:
    paid = t("orders").where(lambda r: r.status == "paid" and r.customer_id is not None)
    t.scans.clear()
    groups = paid.group("customer_id", paid=count())
    every = t("orders").group("customer_id", n=count())
    stage = t.written("stage_paid", groups)
    return every.join(stage, "customer_id").select("customer_id paid n")


def two_systems_united(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    new = spark.read.parquet(f"{folder}/orders.parquet").select(
        F.col("order_id").cast("string").alias("id"), "amount", F.lit("new").alias("system")
    )
    old = spark.read.parquet(f"{folder}/old_orders.parquet").select(
        F.col("Order No").alias("id"),
        F.expr("try_cast(Total AS DECIMAL(10,2))").alias("amount"),
        F.lit("old").alias("system"),
    )
    return (
        new.unionByName(old)
        .where("amount IS NOT NULL")
        .groupBy("system")
        .agg(F.count("*").alias("n"), F.sum("amount").alias("amount"))
    )


def two_systems_united_truth(t: Tables) -> Frame:
    new = t("orders").pick("amount", system=lambda r: "new")
    old = t("old_orders").pick(
        amount=lambda r: None if r.Total in (None, "abc") else Decimal(r.Total),
        system=lambda r: "old",
    )
    every = new.union(old).where(lambda r: r.amount is not None)
    return every.group("system", n=count(), amount=total("amount"))


def checkpointed_stage(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    orders = spark.read.parquet(f"{folder}/orders.parquet")
    stage = orders.where("amount > 15").select("customer_id", "amount").localCheckpoint()
    return stage.groupBy("customer_id").agg(F.sum("amount").alias("amount"))


def checkpointed_stage_truth(t: Tables) -> Frame:
    some = t("orders").where(lambda r: r.amount is not None and r.amount > 15)
    t.scans.clear()
    stage = t.written("stage", some.select("customer_id amount"))
    return stage.group("customer_id", amount=total("amount"))


PROGRAMS = (
    Program(partitions_pruned, partitions_pruned_truth),
    Program(years_united, years_united_truth),
    Program(folders_united, folders_united_truth),
    Program(stores_from_csv, stores_from_csv_truth),
    Program(inferred_csv, inferred_csv_truth),
    Program(logs_from_json, logs_from_json_truth),
    Program(staged_in_csv, staged_in_csv_truth),
    Program(two_systems_united, two_systems_united_truth),
    Program(checkpointed_stage, checkpointed_stage_truth),
)
