"""Data quality: counts of NULLs and breaches, orphans, parsing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.pipelines.aggregates import count, count_if, distinct
from tests.pipelines.kit import Frame, Row, Tables
from tests.pipelines.program import Program

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


def values_by_weight(spark: SparkSession, folder: str) -> DataFrame:
    sales = spark.read.parquet(f"{folder}/sales")
    return sales.groupBy("weight").count()


def values_by_weight_truth(t: Tables) -> Frame:
    return t("sales").group("weight", n=count())


def unparsable_rows(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    old = spark.read.parquet(f"{folder}/old_orders.parquet")
    tried = old.withColumn("number", F.expr("try_cast(Total AS DOUBLE)"))
    bad = tried.where("Total IS NOT NULL AND number IS NULL")
    return bad.select(F.col("Order No").alias("order"), "Total", F.length("Total").alias("length"))


def unparsable_rows_truth(t: Tables) -> Frame:
    bad = t("old_orders").where(lambda r: r.Total == "abc")
    return bad.pick(order="Order No", total="Total", length=lambda r: len(r.Total))


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
    Program(values_by_weight, values_by_weight_truth),
    Program(unparsable_rows, unparsable_rows_truth),
    Program(rows_failing_any_rule, rows_failing_any_rule_truth),
)
