"""Data quality: counts of NULLs and breaches, orphans, outliers, reconciliations, schema checks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tests.pipelines.aggregates import agg, count, count_if, distinct, high, low, mean, null, total
from tests.pipelines.kit import Frame, Row, Tables
from tests.pipelines.program import Program
from tests.pipelines.windows import over, window

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def nulls_per_column(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    customers = spark.read.parquet(f"{folder}/customers.parquet")
    return customers.select(
        *[F.count(F.when(F.col(c).isNull(), c)).alias(f"{c}_nulls") for c in customers.columns]
    )


def nulls_per_column_truth(t: Tables) -> Frame:
    customers = t("customers")
    nulls = {n: count_if(lambda r, n=n: r[n] is None) for n in customers.columns}
    return customers.group("", **nulls)


def rule_breaches(spark: SparkSession, folder: str) -> DataFrame:
    from functools import reduce

    from pyspark.sql import functions as F

    orders = spark.read.parquet(f"{folder}/orders.parquet")
    rules = {
        "no customer": "customer_id IS NULL",
        "no amount": "amount IS NULL AND status = 'paid'",
        "odd status": "status IS NULL OR status NOT IN ('paid', 'open', 'cancelled')",
    }
    found = [orders.where(c).select("order_id", F.lit(r).alias("rule")) for r, c in rules.items()]
    return reduce(lambda a, b: a.unionByName(b), found)


def rule_breaches_truth(t: Tables) -> Frame:
    def broken(name: str, rule) -> Frame:
        return t("orders").where(rule).pick("order_id", rule=lambda r: name)

    known = ("paid", "open", "cancelled")
    no_customer = broken("no customer", lambda r: r.customer_id is None)
    no_amount = broken("no amount", lambda r: r.amount is None and r.status == "paid")
    return no_customer.union(no_amount).union(broken("odd status", lambda r: r.status not in known))


def breaches_counted(spark: SparkSession, folder: str) -> DataFrame:
    spark.read.parquet(f"{folder}/orders.parquet").createOrReplaceTempView("orders")
    return spark.sql("""
        SELECT 'no customer' AS rule, COUNT(*) AS n FROM orders WHERE customer_id IS NULL
        UNION ALL
        SELECT 'negative', COUNT(*) FROM orders WHERE amount < 0
        UNION ALL
        SELECT 'twice', COUNT(*) FROM (
          SELECT order_id FROM orders GROUP BY order_id HAVING COUNT(*) > 1)
    """)


def breaches_counted_truth(t: Tables) -> Frame:
    def named(name: str, rows: Frame) -> Frame:
        return rows.group("", n=count()).pick(rule=lambda r: name, n="n")

    none = named("no customer", t("orders").where(lambda r: r.customer_id is None))
    low_ = named("negative", t("orders").where(lambda r: r.amount is not None and r.amount < 0))
    groups = t("orders").group("order_id", n=count()).where(lambda r: r.n > 1).select("order_id")
    return none.union(low_).union(named("twice", groups))


def orphaned_items(spark: SparkSession, folder: str) -> DataFrame:
    items = spark.read.parquet(f"{folder}/items.parquet")
    products = spark.read.parquet(f"{folder}/products.parquet")
    return items.join(products, "sku", "left_anti").groupBy("sku").count()


def orphaned_items_truth(t: Tables) -> Frame:
    return t("items").join(t("products"), "sku", "anti").group("sku", n=count())


def orders_without_items(spark: SparkSession, folder: str) -> DataFrame:
    spark.read.parquet(f"{folder}/orders.parquet").createOrReplaceTempView("orders")
    spark.read.parquet(f"{folder}/items.parquet").createOrReplaceTempView("items")
    return spark.sql("""
        SELECT order_id, status FROM orders o
        WHERE NOT EXISTS (SELECT 1 FROM items i WHERE i.order_id = o.order_id)
          AND order_id NOT IN (SELECT order_id FROM items WHERE qty > 2)
    """)


def orders_without_items_truth(t: Tables) -> Frame:
    return t("orders").join(t("items"), "order_id", "anti").select("order_id status")


def referential_summary(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    orders = spark.read.parquet(f"{folder}/orders.parquet")
    known = spark.read.parquet(f"{folder}/customers.parquet").select("customer_id").distinct()
    checked = orders.join(known.withColumn("known", F.lit(1)), "customer_id", "left")
    return checked.groupBy(F.coalesce("known", F.lit(0)).alias("known")).agg(
        F.count("*").alias("orders"), F.countDistinct("customer_id").alias("customers")
    )


def referential_summary_truth(t: Tables) -> Frame:
    orders = t("orders")
    known = t("customers").select("customer_id").distinct().add(known=lambda r: 1)
    checked = orders.join(known, "customer_id", "left").add(known=lambda r: r.known or 0)
    return checked.group("known", orders=count(), customers=distinct("customer_id"))


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


def values_by_weight(spark: SparkSession, folder: str) -> DataFrame:
    sales = spark.read.parquet(f"{folder}/sales")
    return sales.groupBy("weight").count()


def values_by_weight_truth(t: Tables) -> Frame:
    return t("sales").group("weight", n=count())


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


def unparsable_rows(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    old = spark.read.parquet(f"{folder}/old_orders.parquet")
    tried = old.withColumn("number", F.expr("try_cast(Total AS DOUBLE)"))
    bad = tried.where("Total IS NOT NULL AND number IS NULL")
    return bad.select(F.col("Order No").alias("order"), "Total", F.length("Total").alias("length"))


def unparsable_rows_truth(t: Tables) -> Frame:
    bad = t("old_orders").where(lambda r: r.Total == "abc")
    return bad.pick(order="Order No", total="Total", length=lambda r: len(r.Total))


def stale_sensors(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    readings = spark.read.parquet(f"{folder}/readings.parquet")
    newest = readings.agg(F.max("at").alias("newest"))
    per = readings.where("value IS NOT NULL").groupBy("sensor").agg(F.max("at").alias("seen"))
    return (
        per.crossJoin(newest).where("seen < newest - INTERVAL 5 MINUTES").select("sensor", "seen")
    )


def stale_sensors_truth(t: Tables) -> Frame:
    import datetime as dt

    per = t("readings").where(lambda r: r.value is not None).group("sensor", seen=high("at"))
    newest = t("readings").group("", newest=high("at"))
    late = dt.timedelta(minutes=5)
    return per.cross(newest).where(lambda r: r.seen < r.newest - late).select("sensor seen")


def checks_against_thresholds(spark: SparkSession, folder: str) -> DataFrame:
    import pandas as pd
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


def rows_failing_any_rule(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    customers = spark.read.parquet(f"{folder}/customers.parquet")
    problems = F.filter(
        F.array(
            F.when(F.col("name").isNull(), F.lit("name")),
            F.when(~F.coalesce("email", F.lit("")).like("%@%"), F.lit("email")),
        ),
        lambda p: p.isNotNull(),
    )
    return (
        customers.withColumn("problems", problems)
        .where(F.size("problems") > 0)
        .select("customer_id", F.array_join("problems", ", ").alias("problems"))
    )


def rows_failing_any_rule_truth(t: Tables) -> Frame:
    def problems(r: Row) -> str:
        found = {"name": r.name is None, "email": "@" not in (r.email or "")}
        return ", ".join(name for name, bad in found.items() if bad)

    return t("customers").pick("customer_id", problems=problems).where(lambda r: r.problems)


PROGRAMS = (
    Program(nulls_per_column, nulls_per_column_truth),
    Program(rule_breaches, rule_breaches_truth),
    Program(breaches_counted, breaches_counted_truth),
    Program(orphaned_items, orphaned_items_truth),
    Program(orders_without_items, orders_without_items_truth),
    Program(referential_summary, referential_summary_truth),
    Program(outliers_by_deviation, outliers_by_deviation_truth),
    Program(outliers_by_scalar, outliers_by_scalar_truth),
    Program(reconciled_totals, reconciled_totals_truth),
    Program(profile_of_sales, profile_of_sales_truth),
    Program(values_by_weight, values_by_weight_truth),
    Program(completeness_by_day, completeness_by_day_truth),
    Program(unparsable_rows, unparsable_rows_truth),
    Program(stale_sensors, stale_sensors_truth),
    Program(checks_against_thresholds, checks_against_thresholds_truth),
    Program(rows_failing_any_rule, rows_failing_any_rule_truth),
)
