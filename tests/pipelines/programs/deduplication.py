"""Deduplication: the latest row a key, distinct rows, and counts of duplicates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.pipelines.aggregates import count, high
from tests.pipelines.kit import Frame, Tables
from tests.pipelines.program import Program
from tests.pipelines.windows import over, rank, top, window

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def latest_order_per_customer(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    orders = spark.read.parquet(f"{folder}/orders.parquet")
    w = Window.partitionBy("customer_id").orderBy(F.col("ordered_at").desc())
    return (
        orders.withColumn("rn", F.row_number().over(w))
        .filter(F.col("rn") == 1)
        .drop("rn")
        .select("customer_id", "order_id", "ordered_at", "status")
    )


def latest_order_per_customer_truth(t: Tables) -> Frame:
    latest = top(t("orders"), "customer_id", "-ordered_at")
    return latest.select("customer_id order_id ordered_at status")


def latest_paid_order_sql(spark: SparkSession, folder: str) -> DataFrame:
    spark.read.parquet(f"{folder}/orders.parquet").createOrReplaceTempView("orders")
    return spark.sql("""
        WITH ranked AS (
          SELECT *, ROW_NUMBER() OVER (PARTITION BY customer_id
                                       ORDER BY ordered_at DESC, order_id DESC) AS rn
          FROM orders WHERE status = 'paid'
        )
        SELECT customer_id, order_id, amount FROM ranked
        WHERE rn = 1 AND customer_id IS NOT NULL
    """)


def latest_paid_order_sql_truth(t: Tables) -> Frame:
    paid = t("orders").where(lambda r: r.status == "paid")
    latest = top(paid, "customer_id", "-ordered_at -order_id")
    return latest.where(lambda r: r.customer_id is not None).select("customer_id order_id amount")


def distinct_customers(spark: SparkSession, folder: str) -> DataFrame:
    return spark.read.parquet(f"{folder}/customers.parquet").dropDuplicates()


def distinct_customers_truth(t: Tables) -> Frame:
    return t("customers").distinct()


def first_email_per_customer(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    return (
        spark.read.parquet(f"{folder}/customers.parquet")
        .withColumn("email", F.lower(F.trim("email")))
        .where("email LIKE '%@%'")
        .orderBy("signup", "customer_id")
        .dropDuplicates(["email"])
        .select("email", "customer_id")
    )


def first_email_per_customer_truth(t: Tables) -> Frame:
    clean = t("customers").add(email=lambda r: r.email and r.email.strip(" ").lower())
    valid = clean.where(lambda r: r.email and "@" in r.email)
    return top(valid, "email", "signup customer_id").select("email customer_id")


def duplicate_report(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    orders = spark.read.parquet(f"{folder}/orders.parquet")
    return orders.groupBy("order_id").agg(F.count("*").alias("n")).filter("n > 1")


def duplicate_report_truth(t: Tables) -> Frame:
    return t("orders").group("order_id", n=count()).where(lambda r: r.n > 1)


def rows_behind_duplicates(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    w = Window.partitionBy("order_id")
    orders = spark.read.parquet(f"{folder}/orders.parquet")
    return orders.withColumn("copies", F.count("*").over(w)).where("copies > 1")


def rows_behind_duplicates_truth(t: Tables) -> Frame:
    return window(t("orders"), "order_id", "", copies=over(count())).where(lambda r: r.copies > 1)


def keep_latest_by_join(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    orders = spark.read.parquet(f"{folder}/orders.parquet").where("customer_id IS NOT NULL")
    latest = orders.groupBy("customer_id").agg(F.max("ordered_at").alias("ordered_at"))
    return orders.join(latest, ["customer_id", "ordered_at"]).select("customer_id", "order_id")


def keep_latest_by_join_truth(t: Tables) -> Frame:
    orders = t("orders").where(lambda r: r.customer_id is not None)
    again = t("orders").where(lambda r: r.customer_id is not None)
    latest = again.group("customer_id", ordered_at=high("ordered_at"))
    return orders.join(latest, "customer_id ordered_at").select("customer_id order_id")


def deduplicated_with_rank_kept(spark: SparkSession, folder: str) -> DataFrame:
    spark.read.parquet(f"{folder}/orders.parquet").createOrReplaceTempView("o")
    return spark.sql("""
        SELECT customer_id, order_id, amount,
               rank() OVER (PARTITION BY customer_id ORDER BY amount DESC) AS place
        FROM o WHERE customer_id < 6
        QUALIFY place <= 2
    """)


def deduplicated_with_rank_kept_truth(t: Tables) -> Frame:
    some = t("orders").where(lambda r: r.customer_id is not None and r.customer_id < 6)
    placed = window(some, "customer_id", "-amount", place=rank())
    return placed.where(lambda r: r.place <= 2).select("customer_id order_id amount place")


PROGRAMS = (
    Program(latest_order_per_customer, latest_order_per_customer_truth),
    Program(latest_paid_order_sql, latest_paid_order_sql_truth),
    Program(distinct_customers, distinct_customers_truth),
    Program(first_email_per_customer, first_email_per_customer_truth),
    Program(duplicate_report, duplicate_report_truth),
    Program(rows_behind_duplicates, rows_behind_duplicates_truth),
    Program(keep_latest_by_join, keep_latest_by_join_truth),
    Program(deduplicated_with_rank_kept, deduplicated_with_rank_kept_truth),
)
