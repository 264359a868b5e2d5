"""Feature tables: lags, running figures, recency, cohorts, encodings."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tests.pipelines.aggregates import count, distinct, high, low, mean, total
from tests.pipelines.kit import Frame, Tables, null
from tests.pipelines.program import Program
from tests.pipelines.windows import (
    lag,
    over,
    rows,
    top,
    window,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def _known(t: Tables) -> Frame:
    return t("orders").where(lambda r: r.customer_id is not None)


def recency_frequency_value(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    orders = spark.read.parquet(f"{folder}/orders.parquet").where("status = 'paid'")
    today = F.lit("2024-04-10").cast("date")
    return orders.groupBy("customer_id").agg(
        F.datediff(today, F.max(F.to_date("ordered_at"))).alias("recency"),
        F.countDistinct("order_id").alias("frequency"),
        F.coalesce(F.sum("amount"), F.lit(0)).alias("value"),
    )


def recency_frequency_value_truth(t: Tables) -> Frame:
    orders = t("orders").where(lambda r: r.status == "paid")
    dated = orders.add(day=lambda r: t.local(r.ordered_at).date())
    groups = dated.group("customer_id", last=high("day"), frequency=distinct("order_id"),
                         value=total("amount"))  # fmt: skip
    return groups.pick("customer_id", recency=lambda r: (dt.date(2024, 4, 10) - r["last"]).days,
                       frequency="frequency", value=lambda r: r.value or Decimal(0))  # fmt: skip


def running_totals(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    w = Window.partitionBy("customer_id").orderBy("ordered_at")
    orders = spark.read.parquet(f"{folder}/orders.parquet").where("customer_id IS NOT NULL")
    return orders.select(
        "order_id", F.sum("amount").over(w).alias("so_far"), F.count("*").over(w).alias("orders")
    )


def running_totals_truth(t: Tables) -> Frame:
    run = window(_known(t), "customer_id", "ordered_at",
                 so_far=over(total("amount")), orders=over(count()))  # fmt: skip
    return run.select("order_id so_far orders")


def time_between_orders(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    orders = spark.read.parquet(f"{folder}/orders.parquet").dropDuplicates()
    w = Window.partitionBy("customer_id").orderBy("ordered_at")
    seconds = F.unix_timestamp("ordered_at") - F.unix_timestamp(F.lag("ordered_at").over(w))
    return (
        orders.withColumn("hours", F.floor(seconds / 3600))
        .groupBy("customer_id")
        .agg(F.avg("hours").alias("mean_hours"), F.max("hours").alias("longest"))
    )


def time_between_orders_truth(t: Tables) -> Frame:
    seen = window(t("orders").distinct(), "customer_id", "ordered_at", prev=lag("ordered_at"))

    def hours(a: dt.datetime, b: dt.datetime) -> int:
        return int((a - b).total_seconds() // 3600)

    gaps = seen.add(hours=lambda r: null(hours, r.ordered_at, r.prev))
    return gaps.group("customer_id", mean_hours=mean("hours"), longest=high("hours"))


def lagged_features(spark: SparkSession, folder: str) -> DataFrame:
    spark.read.parquet(f"{folder}/readings.parquet").createOrReplaceTempView("r")
    return spark.sql("""
        SELECT sensor, at, lag(value) OVER w AS v1, lag(value, 2, -1D) OVER w AS v2,
               lead(at) OVER w AS next_at
        FROM r WINDOW w AS (PARTITION BY sensor ORDER BY at)
    """)


def lagged_features_truth(t: Tables) -> Frame:
    made = window(t("readings"), "sensor", "at", v1=lag("value"), v2=lag("value", 2, -1.0),
                  next_at=lag("at", -1))  # fmt: skip
    return made.select("sensor at v1 v2 next_at")


def rolling_mean_of_rows(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    w = Window.partitionBy("sensor").orderBy("at").rowsBetween(-3, -1)
    readings = spark.read.parquet(f"{folder}/readings.parquet")
    return readings.withColumn("mean3", F.avg("value").over(w)).withColumn(
        "max3", F.max("value").over(w)
    )


def rolling_mean_of_rows_truth(t: Tables) -> Frame:
    before = rows(-3, -1)
    # Two operators: the second one's rows have the first one's results among their columns.
    means = window(t("readings"), "sensor", "at", mean3=over(mean("value"), before))
    return window(means, "sensor", "at", max3=over(high("value"), before))


def cohort_retention(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    logins = spark.read.parquet(f"{folder}/logins.parquet")
    first = logins.groupBy("user").agg(F.min("day").alias("joined"))
    return (
        logins.join(first, "user")
        .withColumn("week", F.floor(F.datediff("day", "joined") / 7))
        .groupBy("joined", "week")
        .agg(F.countDistinct("user").alias("users"))
    )


def cohort_retention_truth(t: Tables) -> Frame:
    logins = t("logins")
    joined = logins.join(t("logins").group("user", joined=low("day")), "user")
    weeks = joined.add(week=lambda r: (r.day - r.joined).days // 7)
    return weeks.group("joined week", users=distinct("user"))


def cohort_table_pivoted(spark: SparkSession, folder: str) -> DataFrame:
    spark.read.parquet(f"{folder}/customers.parquet").createOrReplaceTempView("customers")
    spark.read.parquet(f"{folder}/orders.parquet").createOrReplaceTempView("orders")
    return spark.sql("""
        WITH cohort AS (
          SELECT DISTINCT customer_id, date_format(signup, 'yyyy-MM') AS month FROM customers
        )
        SELECT month, COUNT(DISTINCT c.customer_id) AS size,
               COUNT(DISTINCT CASE WHEN o.status = 'paid' THEN c.customer_id END) AS paying
        FROM cohort c LEFT JOIN orders o ON o.customer_id = c.customer_id
        GROUP BY month
    """)


def cohort_table_pivoted_truth(t: Tables) -> Frame:
    cohort = t("customers").pick("customer_id", month=lambda r: f"{r.signup:%Y-%m}").distinct()
    joined = cohort.join(t("orders"), "customer_id", "left")
    paying = distinct(lambda r: r.customer_id if r.status == "paid" else None)
    return joined.group("month", size=distinct("customer_id"), paying=paying)


def one_hot_channels(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    orders = spark.read.parquet(f"{folder}/orders.parquet")
    channels = ["web", "shop", "App"]
    return orders.groupBy("customer_id").agg(
        *[F.max((F.col("order channel") == c).cast("int")).alias(f"is_{c.lower()}")
          for c in channels]
    )  # fmt: skip


def one_hot_channels_truth(t: Tables) -> Frame:
    def flag(channel: str) -> Any:
        return high(lambda r: int(r["order channel"] == channel))

    return t("orders").group("customer_id", a=flag("web"), b=flag("shop"), c=flag("App"))


def target_encoding(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    orders = spark.read.parquet(f"{folder}/orders.parquet")
    customers = spark.read.parquet(f"{folder}/customers.parquet").dropDuplicates(["customer_id"])
    base = customers.join(orders, "customer_id", "left").withColumn(
        "y", (F.col("status") == "paid").cast("int")
    )
    rate = base.groupBy("tier").agg(F.avg("y").alias("rate"), F.count("y").alias("n"))
    return customers.join(rate, customers["tier"].eqNullSafe(rate["tier"])).select(
        "customer_id", "rate", "n"
    )


def target_encoding_truth(t: Tables) -> Frame:
    def people() -> Frame:
        return top(t("customers"), "customer_id", "")

    mine = people()
    base = people().join(t("orders"), "customer_id", "left")
    scored = base.add(y=lambda r: null(lambda s: int(s == "paid"), r.status))
    rate = scored.group("tier", rate=mean("y"), n=count("y")).rename(tier="of")
    return mine.join(rate, lambda a, b: a.tier == b.of).select("customer_id rate n")


def days_since_previous_event(spark: SparkSession, folder: str) -> DataFrame:
    spark.read.parquet(f"{folder}/employees.parquet").createOrReplaceTempView("emp")
    return spark.sql("""
        SELECT dept, name, datediff(hired, lag(hired) OVER (PARTITION BY dept ORDER BY hired)) AS d,
               COUNT(*) OVER (PARTITION BY dept ORDER BY hired) AS size
        FROM emp
    """)


def days_since_previous_event_truth(t: Tables) -> Frame:
    seen = window(t("employees"), "dept", "hired", prev=lag("hired"), size=over(count()))
    days = seen.add(d=lambda r: null(lambda a, b: (a - b).days, r.hired, r.prev))
    return days.select("dept name d size")


def customer_feature_table(spark: SparkSession, folder: str) -> DataFrame:
    """Several aggregates joined on the customer, as feature stores have them."""
    from pyspark.sql import functions as F

    orders = spark.read.parquet(f"{folder}/orders.parquet")
    items = spark.read.parquet(f"{folder}/items.parquet")
    customers = spark.read.parquet(f"{folder}/customers.parquet").select("customer_id").distinct()
    spend = orders.groupBy("customer_id").agg(F.sum("amount").alias("spend"))
    lines = (
        items.join(orders.select("order_id", "customer_id").distinct(), "order_id")
        .groupBy("customer_id")
        .agg(F.count("*").alias("lines"), F.countDistinct("sku").alias("skus"))
    )
    return (
        customers.join(spend, "customer_id", "left")
        .join(lines, "customer_id", "left")
        .fillna(0, ["lines", "skus"])
    )


def customer_feature_table_truth(t: Tables) -> Frame:
    customers = t("customers").select("customer_id").distinct()
    spend = t("orders").group("customer_id", spend=total("amount"))
    items = t("items")
    ids = t("orders").select("order_id customer_id").distinct()
    lines = items.join(ids, "order_id").group("customer_id", lines=count(), skus=distinct("sku"))
    joined = customers.join(spend, "customer_id", "left").join(lines, "customer_id", "left")
    return joined.add(lines=lambda r: r.lines or 0, skus=lambda r: r.skus or 0)


PROGRAMS = (
    Program(recency_frequency_value, recency_frequency_value_truth),
    Program(running_totals, running_totals_truth),
    Program(time_between_orders, time_between_orders_truth),
    Program(lagged_features, lagged_features_truth),
    Program(rolling_mean_of_rows, rolling_mean_of_rows_truth),
    Program(cohort_retention, cohort_retention_truth),
    Program(cohort_table_pivoted, cohort_table_pivoted_truth),
    Program(one_hot_channels, one_hot_channels_truth),
    Program(target_encoding, target_encoding_truth),
    Program(days_since_previous_event, days_since_previous_event_truth),
    Program(customer_feature_table, customer_feature_table_truth),
)
