"""ETL: several writes, layers, views, upserts, incremental loads."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from tests.pipelines.aggregates import count, distinct, high, low, total
from tests.pipelines.kit import Frame, Tables, null
from tests.pipelines.program import Program
from tests.pipelines.windows import limit, top

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def bronze_silver_gold(spark: SparkSession, folder: str) -> dict[str, DataFrame]:
    from pyspark.sql import functions as F

    bronze = spark.read.parquet(f"{folder}/orders.parquet")
    silver = (
        bronze.dropDuplicates()
        .where("order_id IS NOT NULL AND amount IS NOT NULL")
        .withColumn("day", F.to_date("ordered_at"))
        .withColumnRenamed("order channel", "channel")
    )
    silver.write.mode("overwrite").parquet(f"{folder}/silver_orders")
    stored = spark.read.parquet(f"{folder}/silver_orders")
    gold = stored.groupBy("day", "channel").agg(F.sum("amount").alias("revenue"))
    gold.write.mode("overwrite").partitionBy("day").parquet(f"{folder}/gold_revenue")
    return {"silver": silver, "gold": gold}


def bronze_silver_gold_truth(t: Tables) -> dict[str, Frame]:
    orders = t("orders").rename(**{"order channel": "channel"}).distinct()
    valid = orders.where(lambda r: r.amount is not None)
    silver = valid.add(day=lambda r: t.local(r.ordered_at).date())
    stored = t.written("silver_orders", silver)
    return {"silver": silver, "gold": stored.group("day channel", revenue=total("amount"))}


def several_marts(spark: SparkSession, folder: str) -> dict[str, DataFrame]:
    from pyspark.sql import functions as F

    base = (
        spark.read.parquet(f"{folder}/items.parquet")
        .join(spark.read.parquet(f"{folder}/products.parquet"), "sku")
        .withColumn("revenue", F.col("qty") * F.col("price"))
        .cache()
    )
    by_category = base.groupBy("category").agg(F.sum("revenue").alias("revenue"))
    by_order = base.groupBy("order_id").agg(F.sum("revenue").alias("revenue"), F.max("line"))
    dear = base.where("price > 50").select("order_id", "line", "title")
    for name, mart in {"category": by_category, "order": by_order, "dear": dear}.items():
        mart.write.mode("overwrite").parquet(f"{folder}/mart_{name}")
    return {"category": by_category, "order": by_order, "dear": dear}


def several_marts_truth(t: Tables) -> dict[str, Frame]:
    joined = t("items").join(t("products"), "sku")
    base = joined.add(revenue=lambda r: null(lambda q, p: q * p, r.qty, r.price))
    return {
        "category": base.group("category", revenue=total("revenue")),
        "order": base.group("order_id", revenue=total("revenue"), line=high("line")),
        "dear": base.where(lambda r: r.price is not None and r.price > 50).select(
            "order_id line title"
        ),
    }


def views_over_views(spark: SparkSession, folder: str) -> DataFrame:
    for name in ("orders", "customers"):
        spark.read.parquet(f"{folder}/{name}.parquet").createOrReplaceTempView(name)
    spark.sql("""
        CREATE OR REPLACE TEMP VIEW clean_customers AS
        SELECT DISTINCT customer_id, coalesce(tier, 'none') AS tier FROM customers
    """)
    spark.sql("""
        CREATE OR REPLACE TEMP VIEW enriched AS
        SELECT o.*, c.tier FROM orders o LEFT JOIN clean_customers c USING (customer_id)
    """)
    return spark.table("enriched").groupBy("tier").agg({"amount": "sum", "order_id": "count"})


def views_over_views_truth(t: Tables) -> Frame:
    orders = t("orders")
    people = t("customers").pick("customer_id", tier=lambda r: r.tier or "none").distinct()
    enriched = orders.join(people, "customer_id", "left")
    return enriched.group("tier", s=total("amount"), n=count("order_id"))


def upsert_by_full_join(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    target = (
        spark.read.parquet(f"{folder}/dim_customer.parquet")
        .where("is_current")
        .select("customer_id", "city")
    )
    source = spark.read.parquet(f"{folder}/updates.parquet").where(
        "customer_id IS NOT NULL AND changed_on < '2024-03-02' AND op <> 'D'"
    )
    source = source.select("customer_id", F.col("city").alias("new_city"))
    return target.join(source, "customer_id", "full_outer").select(
        "customer_id", F.coalesce("new_city", "city").alias("city")
    )


def upsert_by_full_join_truth(t: Tables) -> Frame:
    target = t("dim_customer").where(lambda r: r.is_current).select("customer_id city")
    day = dt.date(2024, 3, 2)
    source = t("updates").where(
        lambda r: r.customer_id is not None and r.changed_on < day and r.op != "D"
    )
    new = source.pick(id="customer_id", new_city="city")
    both = target.join(new, lambda a, b: a.customer_id == b.id, "full")
    return both.pick(id=lambda r: r.customer_id or r.id, city=lambda r: r.new_city or r.city)


def upsert_by_anti_join(spark: SparkSession, folder: str) -> DataFrame:
    target = (
        spark.read.parquet(f"{folder}/dim_customer.parquet")
        .where("is_current")
        .select("customer_id", "city", "tier")
    )
    source = spark.read.parquet(f"{folder}/updates.parquet")
    fresh = source.where("op IN ('U', 'I')").select("customer_id", "city", "tier")
    return target.join(source, "customer_id", "left_anti").unionByName(fresh)


def upsert_by_anti_join_truth(t: Tables) -> Frame:
    target = t("dim_customer").where(lambda r: r.is_current).select("customer_id city tier")
    kept = target.join(t("updates"), "customer_id", "anti")
    fresh = t("updates").where(lambda r: r.op in ("U", "I"))
    return kept.union(fresh.select("customer_id city tier"))


def incremental_load(spark: SparkSession, folder: str) -> DataFrame:
    """Only what is newer than what the target has."""
    orders = spark.read.parquet(f"{folder}/orders.parquet")
    orders.where("order_id < 115").write.mode("overwrite").parquet(f"{folder}/loaded_orders")
    loaded = spark.read.parquet(f"{folder}/loaded_orders")
    (newest,) = loaded.selectExpr("max(ordered_at)").first()
    new = orders.where(orders["ordered_at"] > newest)
    return new.select("order_id", "ordered_at").dropDuplicates(["order_id"])


def incremental_load_truth(t: Tables) -> Frame:
    orders = t("orders")
    newest = max(r.ordered_at for r in orders.rows if r.order_id < 115)
    new = orders.where(lambda r: r.ordered_at > newest)
    return top(new.select("order_id ordered_at"), "order_id", "")


def incremental_by_scalar(spark: SparkSession, folder: str) -> DataFrame:
    spark.read.parquet(f"{folder}/orders.parquet").createOrReplaceTempView("orders")
    spark.read.parquet(f"{folder}/events.parquet").createOrReplaceTempView("events")
    return spark.sql("""
        SELECT event_id, kind FROM events
        WHERE at > (SELECT MIN(ordered_at) + INTERVAL 6 HOURS FROM orders) AND user = 'u3'
    """)


def incremental_by_scalar_truth(t: Tables) -> Frame:
    events = t("events").where(lambda r: r.user == "u3")
    bound = t("orders").group("", m=low("ordered_at"))
    later = events.scalar("m", bound).where(lambda r: r.at > r.m + dt.timedelta(hours=6))
    return later.select("event_id kind")


def top_customers_report(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    orders = spark.read.parquet(f"{folder}/orders.parquet")
    spend = orders.groupBy("customer_id").agg(F.sum("amount").alias("spend"))
    best = spend.orderBy(F.desc("spend"), "customer_id").limit(3)
    return (
        best.join(orders, "customer_id")
        .groupBy("customer_id")
        .agg(F.countDistinct("order channel").alias("channels"))
    )


def top_customers_report_truth(t: Tables) -> Frame:
    spend = t("orders").group("customer_id", spend=total("amount"))
    best = limit(spend, "-spend customer_id", 3)
    joined = best.join(t("orders"), "customer_id")
    return joined.group("customer_id", channels=distinct("order channel"))


def dead_letters(spark: SparkSession, folder: str) -> dict[str, DataFrame]:
    from pyspark.sql import functions as F

    old = spark.read.parquet(f"{folder}/old_orders.parquet").withColumn(
        "amount", F.expr("try_cast(Total AS DOUBLE)")
    )
    good = old.where("amount IS NOT NULL").select(F.col("Order No").alias("id"), "amount")
    bad = old.where("amount IS NULL").select(
        F.col("Order No").alias("id"), F.lit("no amount").alias("reason")
    )
    good.write.mode("overwrite").parquet(f"{folder}/good_orders")
    bad.write.mode("overwrite").json(f"{folder}/bad_orders")
    return {"good": good, "bad": bad}


def dead_letters_truth(t: Tables) -> dict[str, Frame]:
    def amount(text: Any) -> float | None:
        return None if text in (None, "abc") else float(text)

    old = t("old_orders").pick(id="Order No", amount=lambda r: amount(r.Total))
    good = old.where(lambda r: r.amount is not None)
    bad = old.where(lambda r: r.amount is None).pick("id", reason=lambda r: "no amount")
    return {"good": good, "bad": bad}


PROGRAMS = (
    Program(bronze_silver_gold, bronze_silver_gold_truth),
    Program(several_marts, several_marts_truth),
    Program(views_over_views, views_over_views_truth),
    Program(upsert_by_full_join, upsert_by_full_join_truth),
    Program(upsert_by_anti_join, upsert_by_anti_join_truth),
    Program(incremental_load, incremental_load_truth),
    Program(incremental_by_scalar, incremental_by_scalar_truth),
    Program(top_customers_report, top_customers_report_truth),
    Program(dead_letters, dead_letters_truth),
)
