"""Subqueries, chains of CTEs and set operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.pipelines.aggregates import distinct, high, mean, total
from tests.pipelines.kit import Frame, Row, Tables, null
from tests.pipelines.program import Program
from tests.pipelines.windows import limit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def _views(spark: SparkSession, folder: str, *names: str) -> None:
    for name in names:
        spark.read.parquet(f"{folder}/{name}.parquet").createOrReplaceTempView(name)


def chain_of_ctes(spark: SparkSession, folder: str) -> DataFrame:
    _views(spark, folder, "orders", "items", "products")
    return spark.sql("""
        WITH lines AS (
          SELECT i.order_id, p.category, i.qty * p.price AS revenue
          FROM items i JOIN products p ON p.sku = i.sku WHERE i.qty IS NOT NULL
        ), per_order AS (
          SELECT order_id, SUM(revenue) AS revenue, COUNT(DISTINCT category) AS categories
          FROM lines GROUP BY order_id
        ), ranked AS (
          SELECT o.customer_id, MAX(p.revenue) AS best, SUM(p.categories) AS breadth
          FROM per_order p JOIN (SELECT DISTINCT order_id, customer_id FROM orders) o
            ON o.order_id = p.order_id
          GROUP BY o.customer_id
        )
        SELECT * FROM ranked WHERE best > (SELECT AVG(revenue) FROM per_order)
    """)


def chain_of_ctes_truth(t: Tables) -> Frame:
    def per_order() -> Frame:
        items = t("items").where(lambda r: r.qty is not None)
        lines = items.join(t("products"), "sku").add(
            revenue=lambda r: null(lambda q, p: q * p, r.qty, r.price)
        )
        return lines.group("order_id", revenue=total("revenue"), categories=distinct("category"))

    orders = per_order()
    ids = t("orders").select("order_id customer_id").distinct()
    ranked = orders.join(ids, "order_id").group(
        "customer_id", best=high("revenue"), breadth=total("categories")
    )
    above = ranked.scalar("bar", per_order().group("", m=mean("revenue")))
    kept = above.where(lambda r: r.best is not None and r.best > r.bar)
    return kept.select("customer_id best breadth")


def customers_with_paid_orders(spark: SparkSession, folder: str) -> DataFrame:
    _views(spark, folder, "customers", "orders")
    return spark.sql("""
        SELECT customer_id, name FROM customers c
        WHERE EXISTS (SELECT 1 FROM orders o
                      WHERE o.customer_id = c.customer_id AND o.status = 'paid')
    """)


def customers_with_paid_orders_truth(t: Tables) -> Frame:
    paid = t("customers").join(
        t("orders"), lambda c, o: c.customer_id == o.customer_id and o.status == "paid", "semi"
    )
    return paid.select("customer_id name")


def either_or_customers(spark: SparkSession, folder: str) -> DataFrame:
    _views(spark, folder, "customers", "orders")
    return spark.sql("""
        SELECT customer_id, tier FROM customers c
        WHERE tier = 'gold' OR customer_id IN (
          SELECT customer_id FROM orders WHERE status = 'cancelled' AND customer_id IS NOT NULL)
    """)


def either_or_customers_truth(t: Tables) -> Frame:
    customers = t("customers")
    orders = t("orders").where(lambda r: r.status == "cancelled" and r.customer_id is not None)
    marked = customers.mark("hit", orders, lambda c, o: c.customer_id == o.customer_id)
    return marked.where(lambda r: r.tier == "gold" or r.hit).select("customer_id tier")


def above_own_average(spark: SparkSession, folder: str) -> DataFrame:
    _views(spark, folder, "employees")
    return spark.sql("""
        SELECT name, salary FROM employees e
        WHERE salary >= (SELECT AVG(salary) FROM employees x WHERE x.dept = e.dept)
    """)


def above_own_average_truth(t: Tables) -> Frame:
    every = t("employees")
    others = t("employees")

    def average(row: Row) -> Frame:
        return others.where(lambda x: x.dept == row.dept).group("", m=mean("salary"))

    marked = every.scalar("m", average)
    return marked.where(lambda r: r.salary is not None and r.salary >= r.m).select("name salary")


def skus_in_both(spark: SparkSession, folder: str) -> DataFrame:
    items = spark.read.parquet(f"{folder}/items.parquet").select("sku")
    prices = spark.read.parquet(f"{folder}/prices.parquet").select("sku")
    return items.intersect(prices)


def skus_in_both_truth(t: Tables) -> Frame:
    return t("items").select("sku").intersect(t("prices").select("sku"))


def skus_never_sold(spark: SparkSession, folder: str) -> DataFrame:
    _views(spark, folder, "products", "items")
    return spark.sql("""
        SELECT sku FROM products WHERE price < 100
        EXCEPT
        SELECT sku FROM items WHERE qty > 1
    """)


def skus_never_sold_truth(t: Tables) -> Frame:
    cheap = t("products").where(lambda r: r.price is not None and r.price < 100).select("sku")
    sold = t("items").where(lambda r: r.qty is not None and r.qty > 1).select("sku")
    return cheap.minus(sold)


def contacts_united(spark: SparkSession, folder: str) -> DataFrame:
    _views(spark, folder, "customers", "employees")
    return spark.sql("""
        SELECT trim(name) AS name, 'customer' AS kind FROM customers WHERE name IS NOT NULL
        UNION
        SELECT name, 'employee' FROM employees WHERE dept = 'hr'
        ORDER BY 1
    """)


def contacts_united_truth(t: Tables) -> Frame:
    people = t("customers").where(lambda r: r.name is not None)
    one = people.pick(name=lambda r: r.name.strip(" "), kind=lambda r: "customer")
    staff = t("employees").where(lambda r: r.dept == "hr")
    return one.union(staff.pick("name", kind=lambda r: "employee")).distinct()


def newest_three_orders(spark: SparkSession, folder: str) -> DataFrame:
    _views(spark, folder, "orders", "customers")
    return spark.sql("""
        SELECT o.order_id, c.name FROM (
          SELECT * FROM orders WHERE customer_id IS NOT NULL
          ORDER BY ordered_at DESC, order_id LIMIT 3 OFFSET 1
        ) o LEFT JOIN customers c ON c.customer_id = o.customer_id
    """)


def newest_three_orders_truth(t: Tables) -> Frame:
    known = t("orders").where(lambda r: r.customer_id is not None)
    newest = limit(known, "-ordered_at order_id", 3, offset=1)
    return newest.join(t("customers"), "customer_id", "left").select("order_id name")


PROGRAMS = (
    Program(chain_of_ctes, chain_of_ctes_truth),
    Program(customers_with_paid_orders, customers_with_paid_orders_truth),
    Program(either_or_customers, either_or_customers_truth),
    Program(above_own_average, above_own_average_truth),
    Program(skus_in_both, skus_in_both_truth),
    Program(skus_never_sold, skus_never_sold_truth),
    Program(contacts_united, contacts_united_truth),
    Program(newest_three_orders, newest_three_orders_truth),
)
