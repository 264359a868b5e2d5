"""Joins: self-joins, semi and anti joins, ranges, laterals, grids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.pipelines.aggregates import count, high, low, total
from tests.pipelines.kit import Frame, Tables, null
from tests.pipelines.program import Program
from tests.pipelines.windows import top

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def _views(spark: SparkSession, folder: str, *names: str) -> None:
    for name in names:
        spark.read.parquet(f"{folder}/{name}.parquet").createOrReplaceTempView(name)


def managers_of_employees(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    emp = spark.read.parquet(f"{folder}/employees.parquet")
    e, m = emp.alias("e"), emp.alias("m")
    return e.join(m, F.col("e.manager_id") == F.col("m.id"), "left").select(
        F.col("e.name").alias("employee"), F.col("m.name").alias("manager"),
        (F.col("e.salary") > F.col("m.salary")).alias("earns_more"),
    )  # fmt: skip


def managers_of_employees_truth(t: Tables) -> Frame:
    pairs = t("employees").join(
        t("employees").prefix("m_"), lambda e, m: e.manager_id == m.m_id, "left"
    )
    return pairs.pick(a="name", b="m_name",
                      c=lambda r: null(lambda x, y: x > y, r.salary, r.m_salary))  # fmt: skip


def teams_of_managers(spark: SparkSession, folder: str) -> DataFrame:
    _views(spark, folder, "employees")
    return spark.sql("""
        SELECT m.name, COUNT(e.id) AS reports, MIN(e.hired) AS first_hire
        FROM employees m LEFT JOIN employees e ON e.manager_id = m.id AND e.dept = m.dept
        GROUP BY m.name HAVING COUNT(e.id) > 0
    """)


def teams_of_managers_truth(t: Tables) -> Frame:
    pairs = t("employees").join(
        t("employees").prefix("e_"),
        lambda m, e: e.e_manager_id == m.id and e.e_dept == m.dept,
        "left",
    )
    teams = pairs.group("name", reports=count("e_id"), first=low("e_hired"))
    return teams.where(lambda r: r.reports > 0)


def colleagues_hired_close(spark: SparkSession, folder: str) -> DataFrame:
    _views(spark, folder, "employees")
    return spark.sql("""
        SELECT a.name AS one, b.name AS other FROM employees a JOIN employees b
          ON a.dept = b.dept AND a.id < b.id AND datediff(b.hired, a.hired) <= 20
    """)


def colleagues_hired_close_truth(t: Tables) -> Frame:
    pairs = t("employees").join(
        t("employees").prefix("b_"),
        lambda a, b: a.dept == b.b_dept and a.id < b.b_id and (b.b_hired - a.hired).days <= 20,
    )
    return pairs.pick(one="name", other="b_name")


def customers_by_semi_join(spark: SparkSession, folder: str) -> DataFrame:
    customers = spark.read.parquet(f"{folder}/customers.parquet")
    big = spark.read.parquet(f"{folder}/orders.parquet").where("amount > 100")
    return customers.join(big, on="customer_id", how="left_semi").groupBy("tier").count()


def customers_by_semi_join_truth(t: Tables) -> Frame:
    customers = t("customers")
    big = t("orders").where(lambda r: r.amount is not None and r.amount > 100)
    return customers.join(big, "customer_id", "semi").group("tier", n=count())


def full_join_of_counts(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    ordered = (
        spark.read.parquet(f"{folder}/orders.parquet")
        .groupBy("customer_id")
        .agg(F.count("*").alias("orders"))
    )
    people = (
        spark.read.parquet(f"{folder}/customers.parquet")
        .groupBy("customer_id")
        .agg(F.count("*").alias("rows"))
    )
    return ordered.join(people, "customer_id", "full").where("orders IS NULL OR rows IS NULL")


def full_join_of_counts_truth(t: Tables) -> Frame:
    ordered = t("orders").group("customer_id", orders=count())
    people = t("customers").rename(customer_id="c").group("c", rows=count())
    both = ordered.join(people, lambda a, b: a.customer_id is not None and a.customer_id == b.c,
                        "full")  # fmt: skip
    made = both.pick(id=lambda r: r.customer_id or r.c, orders="orders", rows="rows")
    return made.where(lambda r: r.orders is None or r.rows is None)


def null_safe_join(spark: SparkSession, folder: str) -> DataFrame:
    dim = spark.read.parquet(f"{folder}/dim_customer.parquet").select("city", "key").distinct()
    customers = spark.read.parquet(f"{folder}/customers.parquet")
    return customers.join(dim, customers["city"].eqNullSafe(dim["city"])).groupBy("key").count()


def null_safe_join_truth(t: Tables) -> Frame:
    customers = t("customers")
    dim = t("dim_customer").pick("key", d_city="city").distinct()
    return customers.join(dim, lambda c, d: c.city == d.d_city).group("key", n=count())


def price_bands(spark: SparkSession, folder: str) -> DataFrame:
    bands = spark.createDataFrame(
        [("low", 0.0, 5.0), ("mid", 5.0, 50.0), ("high", 50.0, 500.0)],
        "band string, lo double, hi double",
    )
    products = spark.read.parquet(f"{folder}/products.parquet")
    return (
        products.join(bands, (products["price"] >= bands["lo"]) & (products["price"] < bands["hi"]))
        .groupBy("band")
        .count()
    )


def price_bands_truth(t: Tables) -> Frame:
    rows = [("low", 0.0, 5.0), ("mid", 5.0, 50.0), ("high", 50.0, 500.0)]
    products = t("products")
    joined = products.join(
        t.rows("bands", "band lo hi", rows),
        lambda p, b: p.price is not None and b.lo <= p.price < b.hi,
    )
    return joined.group("band", n=count())


def latest_order_lateral(spark: SparkSession, folder: str) -> DataFrame:
    _views(spark, folder, "customers", "orders")
    return spark.sql("""
        SELECT c.customer_id, l.order_id, l.amount FROM customers c,
        LATERAL (SELECT order_id, amount FROM orders o WHERE o.customer_id = c.customer_id
                 ORDER BY ordered_at DESC, order_id LIMIT 1) l
        WHERE c.tier IS NOT NULL
    """)


def latest_order_lateral_truth(t: Tables) -> Frame:
    people = t("customers").where(lambda r: r.tier is not None)
    latest = top(t("orders"), "customer_id", "-ordered_at order_id")
    return people.join(latest, "customer_id").select("customer_id order_id amount")


def sql_and_frames_mixed(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    _views(spark, folder, "orders", "items")
    totals = spark.sql("""
        SELECT order_id, SUM(qty * unit_price) AS total FROM items GROUP BY order_id
    """)
    totals.createOrReplaceTempView("totals")
    joined = spark.table("orders").join(totals, "order_id").where(F.col("total") > 10)
    joined.createOrReplaceTempView("joined")
    return spark.sql("SELECT status, MAX(total) AS best FROM joined GROUP BY status").filter(
        "status IS NOT NULL"
    )


def sql_and_frames_mixed_truth(t: Tables) -> Frame:
    orders = t("orders")
    priced = t("items").add(v=lambda r: null(lambda q, p: q * p, r.qty, r.unit_price))
    totals = priced.group("order_id", total=total("v"))
    joined = orders.join(totals, "order_id").where(lambda r: r.total is not None and r.total > 10)
    return joined.group("status", best=high("total")).where(lambda r: r.status is not None)


def all_combinations(spark: SparkSession, folder: str) -> DataFrame:
    """A complete grid of sensors and hours, with the readings that there are."""
    from pyspark.sql import functions as F

    readings = spark.read.parquet(f"{folder}/readings.parquet").withColumn("h", F.hour("at"))
    sensors, hours = readings.select("sensor").distinct(), readings.select("h").distinct()
    present = readings.where("value > 2").groupBy("sensor", "h").agg(F.max("value").alias("top"))
    return sensors.crossJoin(hours).join(present, ["sensor", "h"], "left")


def all_combinations_truth(t: Tables) -> Frame:
    def readings() -> Frame:
        return t("readings").add(h=lambda r: t.local(r.at).hour)

    grid = readings().select("sensor").distinct().cross(readings().select("h").distinct())
    high_ = readings().where(lambda r: r.value is not None and r.value > 2)
    return grid.join(high_.group("sensor h", top=high("value")), "sensor h", "left")


def cart_before_purchase(spark: SparkSession, folder: str) -> DataFrame:
    import warnings

    import pyspark.pandas as ps
    from pyspark.sql import functions as F

    events = spark.read.parquet(f"{folder}/events.parquet").where("user IS NOT NULL")
    bought = events.where("kind = 'buy'").select("user", "event_id", "at")
    carts = events.where("kind = 'cart'").select("user", "event_id", F.col("at").alias("put_at"))
    carts = carts.withColumnRenamed("event_id", "cart_id")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas-on-Spark's advice
        found = ps.merge_asof(
            bought.pandas_api().sort_values("at"),
            carts.pandas_api().sort_values("put_at"),
            left_on="at",
            right_on="put_at",
            by="user",
        )
        return found.to_spark().select("event_id", "cart_id")


def cart_before_purchase_truth(t: Tables) -> Frame:
    events = t("events").where(lambda r: r.user is not None)
    bought = events.where(lambda r: r.kind == "buy").select("user event_id at")
    again = t("events").where(lambda r: r.user is not None and r.kind == "cart")
    carts = again.select("user event_id at").rename(user="u", event_id="cart_id", at="put_at")
    pairs = bought.join(carts, lambda a, b: a.user == b.u and b.put_at <= a.at, "left")
    return top(pairs, "event_id", "-put_at").select("event_id cart_id")


PROGRAMS = (
    Program(managers_of_employees, managers_of_employees_truth),
    Program(teams_of_managers, teams_of_managers_truth),
    Program(colleagues_hired_close, colleagues_hired_close_truth),
    Program(customers_by_semi_join, customers_by_semi_join_truth),
    Program(full_join_of_counts, full_join_of_counts_truth),
    Program(null_safe_join, null_safe_join_truth),
    Program(price_bands, price_bands_truth),
    Program(latest_order_lateral, latest_order_lateral_truth),
    Program(sql_and_frames_mixed, sql_and_frames_mixed_truth),
    Program(all_combinations, all_combinations_truth),
    Program(cart_before_purchase, cart_before_purchase_truth),
)
