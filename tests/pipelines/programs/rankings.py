"""Rankings and shares: top-n, ties, quantiles, numbers, shares of totals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.pipelines.aggregates import agg, count, count_if, high, low, total
from tests.pipelines.kit import Frame, Row, Tables, null
from tests.pipelines.program import Program
from tests.pipelines.windows import (
    At,
    dense_rank,
    over,
    part,
    rank,
    row_number,
    top,
    window,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def _known(t: Tables) -> Frame:
    return t("orders").where(lambda r: r.customer_id is not None)


def shares_of_total(spark: SparkSession, folder: str) -> DataFrame:
    spark.read.parquet(f"{folder}/sales").createOrReplaceTempView("sales")
    return spark.sql("""
        SELECT region, sku, units, units / SUM(units) OVER (PARTITION BY region) AS share
        FROM (SELECT region, sku, SUM(units) AS units FROM sales GROUP BY region, sku)
    """)


def shares_of_total_truth(t: Tables) -> Frame:
    groups = t("sales").group("region sku", units=total("units"))
    shared = window(groups, "region", "", all=over(total("units")))
    return shared.pick("region", "sku", "units",
                       share=lambda r: null(lambda a, b: a / b, r.units, r.all))  # fmt: skip


def top_two_products(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    items = spark.read.parquet(f"{folder}/items.parquet")
    products = spark.read.parquet(f"{folder}/products.parquet")
    sold = items.join(products, "sku").groupBy("category", "sku").agg(F.sum("qty").alias("qty"))
    w = Window.partitionBy("category").orderBy(F.desc("qty"), "sku")
    return sold.withColumn("rn", F.row_number().over(w)).where("rn <= 2").drop("rn")


def top_two_products_truth(t: Tables) -> Frame:
    sold = t("items").join(t("products"), "sku").group("category sku", qty=total("qty"))
    return top(sold, "category", "-qty sku", most=2)


def best_paid_with_ties(spark: SparkSession, folder: str) -> DataFrame:
    spark.read.parquet(f"{folder}/employees.parquet").createOrReplaceTempView("emp")
    return spark.sql("""
        SELECT dept, name, salary FROM (
          SELECT *, dense_rank() OVER (PARTITION BY dept ORDER BY salary DESC) AS r FROM emp)
        WHERE r <= 2
    """)


def best_paid_with_ties_truth(t: Tables) -> Frame:
    best = top(t("employees"), "dept", "-salary", most=2, by=dense_rank())
    return best.select("dept name salary")


def salary_ranks(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    w = Window.partitionBy("dept").orderBy(F.col("salary").desc_nulls_last())
    employees = spark.read.parquet(f"{folder}/employees.parquet")
    return employees.select("name", F.rank().over(w).alias("r"), F.dense_rank().over(w).alias("d"))


def salary_ranks_truth(t: Tables) -> Frame:
    placed = window(t("employees"), "dept", "-salary", r=rank(), d=dense_rank())
    return placed.select("name r d")


def salary_quantiles(spark: SparkSession, folder: str) -> DataFrame:
    spark.read.parquet(f"{folder}/employees.parquet").createOrReplaceTempView("emp")
    return spark.sql("""
        SELECT name, ntile(4) OVER (ORDER BY hired) AS quarter,
               percent_rank() OVER (PARTITION BY dept ORDER BY hired) AS pct
        FROM emp
    """)


def salary_quantiles_truth(t: Tables) -> Frame:
    def quarter(at: At) -> int:
        size, more = divmod(len(at.rows), 4)
        bounds = [size + (n < more) for n in range(4)]
        return next(n + 1 for n in range(4) if at.place < sum(bounds[: n + 1]))

    def share(at: At) -> float:
        return at.peers[at.place][0] / (len(at.rows) - 1) if len(at.rows) > 1 else 0.0

    first = window(t("employees"), "", "hired", quarter=part(quarter))
    return window(first, "dept", "hired", pct=part(share)).select("name quarter pct")


def numbered_orders(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    w = Window.partitionBy("customer_id").orderBy("ordered_at", "order_id")
    orders = spark.read.parquet(f"{folder}/orders.parquet").dropDuplicates(["order_id"])
    return orders.select("order_id", "customer_id", F.row_number().over(w).alias("nth"))


def numbered_orders_truth(t: Tables) -> Frame:
    orders = top(t("orders"), "order_id", "")
    numbered = window(orders, "customer_id", "ordered_at order_id", nth=row_number())
    return numbered.select("order_id customer_id nth")


def share_of_paid(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    orders = spark.read.parquet(f"{folder}/orders.parquet").where("customer_id IS NOT NULL")
    return orders.groupBy("customer_id").agg(
        F.expr("count_if(status = 'paid') / count(*)").alias("share"),
        F.expr("bool_or(status = 'cancelled')").alias("any_cancelled"),
    )


def share_of_paid_truth(t: Tables) -> Frame:
    def cancelled(group: Any) -> Any:
        known = [row.status == "cancelled" for row in group if row.status is not None]
        return any(known) if known else None

    paid = count_if(lambda r: r.status == "paid")
    groups = _known(t).group("customer_id", paid=paid, n=count(), any_=agg(cancelled))
    return groups.pick("customer_id", share=lambda r: r.paid / r.n, any_="any_")


def buckets_of_prices(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    items = spark.read.parquet(f"{folder}/items.parquet")
    bucket = (
        F.when(F.col("unit_price") < 1, "cheap")
        .when(F.col("unit_price").between(1, 5), "fair")
        .when(F.col("unit_price").isNotNull(), "dear")
    )
    return items.groupBy(bucket.alias("bucket")).agg(F.count("*"), F.min("line"), F.max("qty"))


def buckets_of_prices_truth(t: Tables) -> Frame:
    def bucket(r: Row) -> str | None:
        if r.unit_price is None:
            return None
        return "cheap" if r.unit_price < 1 else "fair" if r.unit_price <= 5 else "dear"

    named = t("items").add(bucket=bucket)
    return named.group("bucket", n=count(), first=low("line"), most=high("qty"))


PROGRAMS = (
    Program(shares_of_total, shares_of_total_truth),
    Program(top_two_products, top_two_products_truth),
    Program(best_paid_with_ties, best_paid_with_ties_truth),
    Program(salary_ranks, salary_ranks_truth),
    Program(salary_quantiles, salary_quantiles_truth),
    Program(numbered_orders, numbered_orders_truth),
    Program(share_of_paid, share_of_paid_truth),
    Program(buckets_of_prices, buckets_of_prices_truth),
)
