"""ETL: several writes, layers, partitioned tables, CSV and JSON, caches, views, upserts."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tests.pipelines.aggregates import count, distinct, high, low, null, total
from tests.pipelines.kit import Frame, Tables
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
    import datetime as dt

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
    import datetime as dt

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
    Program(bronze_silver_gold, bronze_silver_gold_truth),
    Program(several_marts, several_marts_truth),
    Program(partitions_pruned, partitions_pruned_truth),
    Program(years_united, years_united_truth),
    Program(folders_united, folders_united_truth),
    Program(stores_from_csv, stores_from_csv_truth),
    Program(inferred_csv, inferred_csv_truth),
    Program(logs_from_json, logs_from_json_truth),
    Program(staged_in_csv, staged_in_csv_truth),
    Program(views_over_views, views_over_views_truth),
    Program(upsert_by_full_join, upsert_by_full_join_truth),
    Program(upsert_by_anti_join, upsert_by_anti_join_truth),
    Program(two_systems_united, two_systems_united_truth),
    Program(incremental_load, incremental_load_truth),
    Program(incremental_by_scalar, incremental_by_scalar_truth),
    Program(top_customers_report, top_customers_report_truth),
    Program(dead_letters, dead_letters_truth),
    Program(checkpointed_stage, checkpointed_stage_truth),
)
