"""Histories: slowly changing dimensions, as-of look-ups, snapshots, change feeds."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from tests.pipelines.aggregates import agg, count, high, total
from tests.pipelines.kit import Frame, Tables, null
from tests.pipelines.program import Program
from tests.pipelines.windows import lag, top, window

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def dimension_type_1(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    dim = spark.read.parquet(f"{folder}/dim_customer.parquet").where("is_current")
    new = spark.read.parquet(f"{folder}/updates.parquet").where("op <> 'D'")
    last_new = new.groupBy("customer_id").agg(
        F.max_by("city", "changed_on").alias("new_city"), F.max("changed_on").alias("changed_on")
    )
    return dim.join(last_new, "customer_id", "left").select(
        "customer_id", F.coalesce("new_city", "city").alias("city"), "changed_on"
    )


def dimension_type_1_truth(t: Tables) -> Frame:
    dim = t("dim_customer").where(lambda r: r.is_current)
    new = t("updates").where(lambda r: r.op != "D")
    latest = agg(lambda rows: max(rows, key=lambda r: r.changed_on).city)
    last_new = new.group("customer_id", new_city=latest, changed_on=high("changed_on"))
    joined = dim.join(last_new, "customer_id", "left")
    return joined.pick("customer_id", city=lambda r: r.new_city or r.city, on="changed_on")


def dimension_type_2(spark: SparkSession, folder: str) -> DataFrame:
    """Close current rows that changed, and append the new versions."""
    from pyspark.sql import functions as F

    dim = spark.read.parquet(f"{folder}/dim_customer.parquet")
    new = spark.read.parquet(f"{folder}/updates.parquet").where("op = 'U' AND city IS NOT NULL")
    current = dim.where("is_current")
    changed = (
        current.alias("d")
        .join(new.alias("n"), F.col("d.customer_id") == F.col("n.customer_id"))
        .where("NOT (d.city <=> n.city AND d.tier <=> n.tier)")
    )
    closed = changed.select(
        "d.customer_id", "d.city", "d.tier", "d.valid_from",
        F.col("n.changed_on").alias("valid_to"), F.lit(False).alias("is_current"),
    )  # fmt: skip
    opened = changed.select(
        "n.customer_id", "n.city", "n.tier", "n.changed_on",
        F.lit(None).cast("date"), F.lit(True),
    )  # fmt: skip
    kept = dim.join(changed.select("d.key"), "key", "left_anti").drop("key")
    return kept.unionByName(closed).union(opened)


def dimension_type_2_truth(t: Tables) -> Frame:
    def changed() -> Frame:
        new = t("updates").where(lambda r: r.op == "U" and r.city is not None).prefix("n_")
        current = t("dim_customer").where(lambda r: r.is_current)
        pairs = current.join(new, lambda d, n: d.customer_id == n.n_customer_id)
        return pairs.where(lambda r: (r.city, r.tier) != (r.n_city, r.n_tier))

    dim = t("dim_customer")
    kept = dim.join(changed().select("key"), "key", "anti").drop("key")
    closed = changed().pick("customer_id", "city", "tier", "valid_from",
                            valid_to="n_changed_on", is_current=lambda r: False)  # fmt: skip
    opened = changed().pick("customer_id", a="n_city", b="n_tier", c="n_changed_on",
                            d=lambda r: None, e=lambda r: True)  # fmt: skip
    return kept.union(closed).union(opened)


def validity_from_changes(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    prices = spark.read.parquet(f"{folder}/prices.parquet")
    w = Window.partitionBy("sku").orderBy("valid_from")
    return prices.withColumn("valid_to", F.date_sub(F.lead("valid_from").over(w), 1)).withColumn(
        "is_current", F.col("valid_to").isNull()
    )


def validity_from_changes_truth(t: Tables) -> Frame:
    following = window(t("prices"), "sku", "valid_from", after=lag("valid_from", -1))
    ended = following.add(valid_to=lambda r: null(lambda d: d - dt.timedelta(days=1), r.after))
    return ended.drop("after").add(is_current=lambda r: r.valid_to is None)


def price_as_of_order(spark: SparkSession, folder: str) -> DataFrame:
    spark.read.parquet(f"{folder}/orders.parquet").createOrReplaceTempView("orders")
    spark.read.parquet(f"{folder}/items.parquet").createOrReplaceTempView("items")
    spark.read.parquet(f"{folder}/prices.parquet").createOrReplaceTempView("prices")
    return spark.sql("""
        WITH priced AS (
          SELECT i.line, i.sku, p.list_price, p.valid_from,
                 row_number() OVER (PARTITION BY i.line ORDER BY p.valid_from DESC) AS rn
          FROM items i
          JOIN (SELECT DISTINCT order_id, to_date(ordered_at) AS day FROM orders) o
            ON o.order_id = i.order_id
          JOIN prices p ON p.sku = i.sku AND p.valid_from <= o.day
        )
        SELECT line, sku, list_price, valid_from FROM priced WHERE rn = 1
    """)


def price_as_of_order_truth(t: Tables) -> Frame:
    items = t("items")
    days = t("orders").pick("order_id", day=lambda r: t.local(r.ordered_at).date()).distinct()
    prices = t("prices").rename(sku="p_sku")
    dated = items.join(days, "order_id")
    pairs = dated.join(prices, lambda i, p: i.sku == p.p_sku and p.valid_from <= i.day)
    return top(pairs, "line", "-valid_from").select("line sku list_price valid_from")


def customer_version_of_order(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    orders = spark.read.parquet(f"{folder}/orders.parquet")
    dim = spark.read.parquet(f"{folder}/dim_customer.parquet")
    day = F.to_date("ordered_at")
    return (
        orders.join(
            dim.withColumnRenamed("customer_id", "cid"),
            (F.col("customer_id") == F.col("cid"))
            & (day >= F.col("valid_from"))
            & (day < F.coalesce("valid_to", F.lit("9999-12-31").cast("date"))),
            "left",
        )
        .groupBy(F.coalesce("city", F.lit("(unknown)")).alias("city"))
        .agg(F.sum("amount").alias("amount"), F.count("*").alias("n"))
    )


def customer_version_of_order_truth(t: Tables) -> Frame:
    orders = t("orders").add(day=lambda r: t.local(r.ordered_at).date())
    dim = t("dim_customer").rename(customer_id="cid")
    versions = orders.join(
        dim,
        lambda o, d: o.customer_id == d.cid and d.valid_from <= o.day
        and (d.valid_to is None or o.day < d.valid_to),
        "left",
    )  # fmt: skip
    placed = versions.add(city=lambda r: r.city or "(unknown)")
    return placed.group("city", amount=total("amount"), n=count())


def snapshot_difference(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    old = spark.read.parquet(f"{folder}/dim_customer.parquet").where("is_current").alias("o")
    new = spark.read.parquet(f"{folder}/updates.parquet").where("op <> 'D'").alias("n")
    return old.join(new, F.col("o.customer_id") == F.col("n.customer_id"), "full").select(
        F.coalesce("o.customer_id", "n.customer_id").alias("id"),
        F.when(F.col("o.key").isNull(), "added")
        .when(F.col("n.op").isNull(), "gone")
        .when(F.col("o.city").eqNullSafe(F.col("n.city")), "same")
        .otherwise("changed")
        .alias("verdict"),
    )


def snapshot_difference_truth(t: Tables) -> Frame:
    old = t("dim_customer").where(lambda r: r.is_current)
    new = t("updates").where(lambda r: r.op != "D").prefix("n_")
    both = old.join(
        new, lambda o, n: o.customer_id is not None and o.customer_id == n.n_customer_id, "full"
    )

    def verdict(r):
        if r.key is None:
            return "added"
        if r.n_op is None:
            return "gone"
        return "same" if r.city == r.n_city else "changed"

    return both.pick(id=lambda r: r.customer_id or r.n_customer_id, verdict=verdict)


def apply_change_feed(spark: SparkSession, folder: str) -> DataFrame:
    spark.read.parquet(f"{folder}/dim_customer.parquet").createOrReplaceTempView("dim")
    spark.read.parquet(f"{folder}/updates.parquet").createOrReplaceTempView("feed")
    return spark.sql("""
        SELECT customer_id, city, tier FROM (
          SELECT *, row_number() OVER (PARTITION BY customer_id ORDER BY changed_on DESC) AS rn
          FROM (
            SELECT customer_id, city, tier, valid_from AS changed_on, 'I' AS op FROM dim
            UNION ALL
            SELECT customer_id, city, tier, changed_on, op FROM feed
          )
        ) WHERE rn = 1 AND op <> 'D'
    """)


def apply_change_feed_truth(t: Tables) -> Frame:
    dim = t("dim_customer").pick("customer_id", "city", "tier", changed_on="valid_from",
                                 op=lambda r: "I")  # fmt: skip
    every = dim.union(t("updates").select("customer_id city tier changed_on op"))
    latest = top(every, "customer_id", "-changed_on")
    return latest.where(lambda r: r.op != "D").select("customer_id city tier")


PROGRAMS = (
    Program(dimension_type_1, dimension_type_1_truth),
    Program(dimension_type_2, dimension_type_2_truth),
    Program(validity_from_changes, validity_from_changes_truth),
    Program(price_as_of_order, price_as_of_order_truth),
    Program(customer_version_of_order, customer_version_of_order_truth),
    Program(snapshot_difference, snapshot_difference_truth),
    Program(apply_change_feed, apply_change_feed_truth),
)
