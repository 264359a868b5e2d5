"""Cleaning: text, NULLs, types, look-up tables."""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from decimal import Decimal
from typing import TYPE_CHECKING

from tests.pipelines.aggregates import count, high, mean, ordered_set
from tests.pipelines.kit import Frame, Tables, null
from tests.pipelines.program import Program

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def normalised_cities(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    customers = spark.read.parquet(f"{folder}/customers.parquet")
    return (
        customers.withColumn("city", F.initcap(F.trim(F.coalesce("city", F.lit("unknown")))))
        .groupBy("city")
        .agg(F.count("*").alias("n"), F.collect_set("tier").alias("tiers"))
        .withColumn("tiers", F.array_join(F.sort_array("tiers"), "/"))
    )


def normalised_cities_truth(t: Tables) -> Frame:
    named = t("customers").add(city=lambda r: (r.city or "unknown").strip(" ").capitalize())
    groups = named.group("city", n=count(), tiers=ordered_set("tier"))
    return groups.add(tiers=lambda r: "/".join(r.tiers))


def parsed_old_orders(spark: SparkSession, folder: str) -> DataFrame:
    spark.read.parquet(f"{folder}/old_orders.parquet").createOrReplaceTempView("old")
    return spark.sql("""
        SELECT CAST(`Order No` AS INT) AS order_id,
               try_cast(`Customer#` AS INT) AS customer_id,
               try_cast(Total AS DECIMAL(10, 2)) AS amount,
               coalesce(try_to_date(Date, 'yyyy-MM-dd'), try_to_date(Date, 'dd.MM.yyyy')) AS day,
               lower(`Paid?`) LIKE 'y%' AS paid
        FROM old WHERE Total IS NOT NULL
    """)


def parsed_old_orders_truth(t: Tables) -> Frame:
    def whole(text):
        return int(text) if text and text.isdigit() else None

    def amount(text):
        return None if text == "abc" else Decimal(text)

    def day(text):
        if text is None:
            return None
        form = "%d.%m.%Y" if "." in text else "%Y-%m-%d"
        return dt.datetime.strptime(text, form).date()

    old = t("old_orders").where(lambda r: r.Total is not None)
    return old.pick(
        order=lambda r: int(r["Order No"]), customer=lambda r: whole(r["Customer#"]),
        amount=lambda r: amount(r.Total), day=lambda r: day(r.Date),
        paid=lambda r: null(lambda p: p.lower().startswith("y"), r["Paid?"]),
    )  # fmt: skip


def filled_and_dropped(spark: SparkSession, folder: str) -> DataFrame:
    return (
        spark.read.parquet(f"{folder}/customers.parquet")
        .na.drop(subset=["name"])
        .na.fill({"city": "?", "tier": "basic"})
        .na.replace({"Berlin": "BER", "berlin": "BER"}, subset=["city"])
        .select("customer_id", "city", "tier")
    )


def filled_and_dropped_truth(t: Tables) -> Frame:
    named = t("customers").where(lambda r: r.name is not None)
    codes = {None: "?", "Berlin": "BER", "berlin": "BER"}
    return named.pick("customer_id", city=lambda r: codes.get(r.city, r.city),
                      tier=lambda r: r.tier or "basic")  # fmt: skip


def imputed_by_group_mean(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    readings = spark.read.parquet(f"{folder}/readings.parquet")
    means = readings.groupBy("sensor").agg(F.avg("value").alias("mean"))
    return readings.join(F.broadcast(means), "sensor").select(
        "sensor", "at", F.coalesce("value", "mean").alias("value")
    )


def imputed_by_group_mean_truth(t: Tables) -> Frame:
    readings = t("readings")
    joined = readings.join(t("readings").group("sensor", mean=mean("value")), "sensor")
    return joined.pick("sensor", "at", v=lambda r: r.mean if r.value is None else r.value)


def mapped_by_values_table(spark: SparkSession, folder: str) -> DataFrame:
    spark.read.parquet(f"{folder}/orders.parquet").createOrReplaceTempView("orders")
    return spark.sql("""
        WITH names(code, label) AS (VALUES ('paid', 'Paid'), ('open', 'Waiting'), ('lost', 'Lost'))
        SELECT o.order_id, coalesce(n.label, '?') AS label
        FROM orders o LEFT JOIN names n ON o.status = n.code
    """)


def mapped_by_values_table_truth(t: Tables) -> Frame:
    pairs = [("paid", "Paid"), ("open", "Waiting"), ("lost", "Lost")]
    orders, names = t("orders"), t.rows("names", "code label", pairs)
    joined = orders.join(names, lambda o, n: o.status == n.code, "left")
    return joined.pick("order_id", label=lambda r: r.label or "?")


def mapped_by_created_frame(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    customers = spark.read.parquet(f"{folder}/customers.parquet")
    countries = spark.createDataFrame(
        [("Berlin", "DE"), ("Köln", "DE"), ("Paris", "FR"), ("Rome", "IT")], ["city", "country"]
    )
    return customers.join(F.broadcast(countries), "city", "inner").groupBy("country").count()


def mapped_by_created_frame_truth(t: Tables) -> Frame:
    pairs = [("Berlin", "DE"), ("Köln", "DE"), ("Paris", "FR"), ("Rome", "IT")]
    customers = t("customers")
    joined = customers.join(t.rows("countries", "city country", pairs), "city")
    return joined.group("country", n=count())


def extracted_by_regex(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    logs = spark.read.json(f"{folder}/logs.json")
    return (
        logs.withColumn("number", F.regexp_extract("message", r"(\d+)", 1))
        .where(F.col("number") != "")
        .groupBy(F.col("number").cast("int").alias("number"))
        .agg(F.count("*").alias("n"), F.max("ms").alias("worst"))
    )


def extracted_by_regex_truth(t: Tables) -> Frame:
    def number(r):
        found = re.search(r"\d+", r.message or "")
        return int(found.group()) if found else None

    found = t("logs").add(number=number).where(lambda r: r.number is not None)
    return found.group("number", n=count(), worst=high("ms"))


def masked_customers(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    return spark.read.parquet(f"{folder}/customers.parquet").select(
        F.sha2(F.col("customer_id").cast("string"), 256).alias("id"),
        F.concat(F.substring("name", 1, 1), F.lit("***")).alias("name"),
        F.date_trunc("month", "signup").cast("date").alias("month"),
    )


def masked_customers_truth(t: Tables) -> Frame:
    return t("customers").pick(
        id=lambda r: hashlib.sha256(str(r.customer_id).encode()).hexdigest(),
        name=lambda r: null(lambda n: n[:1] + "***", r.name),
        month=lambda r: r.signup.replace(day=1),
    )


PROGRAMS = (
    Program(normalised_cities, normalised_cities_truth),
    Program(parsed_old_orders, parsed_old_orders_truth),
    Program(filled_and_dropped, filled_and_dropped_truth),
    Program(imputed_by_group_mean, imputed_by_group_mean_truth),
    Program(mapped_by_values_table, mapped_by_values_table_truth),
    Program(mapped_by_created_frame, mapped_by_created_frame_truth),
    Program(extracted_by_regex, extracted_by_regex_truth),
    Program(masked_customers, masked_customers_truth),
)
