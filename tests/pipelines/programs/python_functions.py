"""Functions in Python: of rows, of columns, of groups and of tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from tests.pipelines.aggregates import count, low, over, total
from tests.pipelines.kit import Frame, Row, Tables, null
from tests.pipelines.program import Program

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def clean_name(name: str | None) -> str | None:
    if name is None:
        return None
    name = name.strip().title()
    return name or None


def email_domain(email: str | None) -> str:
    if not email or "@" not in email:
        return "none"
    return email.strip().lower().split("@")[1]


def parse_amount(text: str | None) -> float | None:
    try:
        return float(text)
    except (TypeError, ValueError):
        return None


def size_class(amount: float | None) -> str:
    if amount is None:
        return "unknown"
    if amount < 10:
        return "small"
    return "large" if amount >= 100 else "medium"


def names_by_udf(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql.functions import udf

    clean = udf(clean_name, "string")
    customers = spark.read.parquet(f"{folder}/customers.parquet")
    return customers.select("customer_id", clean("name").alias("name"))


def names_by_udf_truth(t: Tables) -> Frame:
    return t("customers").pick("customer_id", name=lambda r: clean_name(r.name))


def domains_counted(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    @F.udf("string")
    def domain(email: str | None) -> str:
        return email_domain(email)

    customers = spark.read.parquet(f"{folder}/customers.parquet")
    return customers.withColumn("domain", domain("email")).groupBy("domain").count()


def domains_counted_truth(t: Tables) -> Frame:
    return t("customers").add(domain=lambda r: email_domain(r.email)).group("domain", n=count())


def amounts_by_registered_udf(spark: SparkSession, folder: str) -> DataFrame:
    spark.udf.register("parse_amount", parse_amount, "double")
    spark.read.parquet(f"{folder}/old_orders.parquet").createOrReplaceTempView("old")
    return spark.sql("""
        SELECT `Customer#` AS customer, SUM(parse_amount(Total)) AS total, COUNT(*) AS n
        FROM old GROUP BY `Customer#`
    """)


def amounts_by_registered_udf_truth(t: Tables) -> Frame:
    old = t("old_orders").add(amount=lambda r: parse_amount(r.Total))
    return old.group("Customer#", total=total("amount"), n=count())


def sizes_by_lambda(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F
    from pyspark.sql.types import StringType

    size = F.udf(lambda a: size_class(float(a) if a is not None else None), StringType())
    orders = spark.read.parquet(f"{folder}/orders.parquet")
    return (
        orders.withColumn("size", size("amount"))
        .where("size <> 'unknown'")
        .groupBy("size")
        .agg(F.min("ordered_at").alias("first"))
    )


def sizes_by_lambda_truth(t: Tables) -> Frame:
    sized = t("orders").add(size=lambda r: size_class(null(float, r.amount)))
    return sized.where(lambda r: r.size != "unknown").group("size", first=low("ordered_at"))


def scaled_by_pandas_udf(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql.functions import pandas_udf

    @pandas_udf("double")
    def gross(price: pd.Series) -> pd.Series:
        return price * 1.19

    products = spark.read.parquet(f"{folder}/products.parquet")
    return products.withColumn("gross", gross("price")).where("gross > 5").select("sku", "gross")


def scaled_by_pandas_udf_truth(t: Tables) -> Frame:
    gross = t("products").add(gross=lambda r: null(lambda p: p * 1.19, r.price))
    return gross.where(lambda r: r.gross is not None and r.gross > 5).select("sku gross")


def ranges_by_pandas_aggregate(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql.functions import pandas_udf

    @pandas_udf("double")
    def spread(v: pd.Series) -> float:
        return float(v.max() - v.min())

    readings = spark.read.parquet(f"{folder}/readings.parquet").where("value IS NOT NULL")
    return readings.groupBy("sensor").agg(spread("value").alias("spread"))


def ranges_by_pandas_aggregate_truth(t: Tables) -> Frame:
    readings = t("readings").where(lambda r: r.value is not None)
    return readings.group("sensor", spread=over(lambda v: max(v) - min(v), "value"))


def centred_by_apply_in_pandas(spark: SparkSession, folder: str) -> DataFrame:
    readings = spark.read.parquet(f"{folder}/readings.parquet").where("value IS NOT NULL")

    def centre(frame: Any) -> Any:
        return frame.assign(value=frame["value"] - frame["value"].mean())

    return readings.groupBy("sensor").applyInPandas(centre, readings.schema)


def centred_by_apply_in_pandas_truth(t: Tables) -> Frame:
    def centre(rows):
        middle = sum(r.value for r in rows) / len(rows)
        return [(r.sensor, r.at, r.value - middle) for r in rows]

    readings = t("readings").where(lambda r: r.value is not None)
    return readings.apply("sensor", "sensor at value", centre)


def filtered_by_map_in_pandas(spark: SparkSession, folder: str) -> DataFrame:
    logs = spark.read.json(f"{folder}/logs.json").select("id", "level", "ms")

    def slow(frames: Any) -> Any:
        for frame in frames:
            yield frame[frame["ms"] > 50][["id", "level"]]

    return logs.mapInPandas(slow, "id bigint, level string")


def filtered_by_map_in_pandas_truth(t: Tables) -> Frame:
    # Not defined row by row (docs/semantics.md): all rows.
    logs = t("logs")
    every = frozenset(origin for row in logs.rows for origin in row.sources)
    kept = logs.where(lambda r: r.ms is not None and r.ms > 50).select("id level")
    return kept.made(kept.columns, [Row(row.values, every) for row in kept.rows])


PROGRAMS = (
    Program(names_by_udf, names_by_udf_truth),
    Program(domains_counted, domains_counted_truth),
    Program(amounts_by_registered_udf, amounts_by_registered_udf_truth),
    Program(sizes_by_lambda, sizes_by_lambda_truth),
    Program(scaled_by_pandas_udf, scaled_by_pandas_udf_truth),
    Program(ranges_by_pandas_aggregate, ranges_by_pandas_aggregate_truth),
    Program(centred_by_apply_in_pandas, centred_by_apply_in_pandas_truth),
    Program(filtered_by_map_in_pandas, filtered_by_map_in_pandas_truth),
)
