"""JSON texts: paths, schemas, tuples."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.pipelines.aggregates import count, distinct, total
from tests.pipelines.kit import Frame, Tables
from tests.pipelines.program import Program

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def _json(text: str | None) -> Any:
    try:
        return json.loads(text or "")
    except ValueError:
        return {}


def payload_by_json_path(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    events = spark.read.parquet(f"{folder}/events.parquet")
    return (
        events.withColumn("os", F.get_json_object("payload", "$.device.os"))
        .where("os IS NOT NULL")
        .groupBy("os")
        .agg(F.countDistinct("user").alias("users"))
    )


def payload_by_json_path_truth(t: Tables) -> Frame:
    devices = t("events").add(os=lambda r: _json(r.payload).get("device", {}).get("os"))
    return devices.where(lambda r: r.os).group("os", users=distinct("user"))


def payload_by_schema_exploded(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    schema = "device STRUCT<os: STRING, v: INT>, ids ARRAY<INT>, ab STRING"
    events = spark.read.parquet(f"{folder}/events.parquet")
    parsed = events.withColumn("p", F.from_json("payload", schema))
    return parsed.select("event_id", "p.device.v", F.explode("p.ids").alias("product"))


def payload_by_schema_exploded_truth(t: Tables) -> Frame:
    events = t("events").add(p=lambda r: _json(r.payload))
    parts = events.add(ids=lambda r: r.p.get("ids"), v=lambda r: r.p.get("device", {}).get("v"))
    return parts.explode("ids", "product").select("event_id v product")


def viewed_products_joined(spark: SparkSession, folder: str) -> DataFrame:
    spark.read.parquet(f"{folder}/events.parquet").createOrReplaceTempView("events")
    spark.read.parquet(f"{folder}/products.parquet").createOrReplaceTempView("products")
    return spark.sql("""
        WITH ids AS (
          SELECT event_id, user, explode(from_json(payload, 'ids ARRAY<INT>').ids) AS id
          FROM events WHERE kind IN ('view', 'cart')
        )
        SELECT p.title, COUNT(*) AS n FROM ids
        JOIN products p ON p.sku = concat('s', ids.id) GROUP BY p.title
    """)


def viewed_products_joined_truth(t: Tables) -> Frame:
    events = t("events").where(lambda r: r.kind in ("view", "cart"))
    ids = events.add(ids=lambda r: _json(r.payload).get("ids")).explode("ids", "id")
    joined = ids.join(t("products"), lambda i, p: p.sku == f"s{i.id}")
    return joined.group("title", n=count())


def json_tuples(spark: SparkSession, folder: str) -> DataFrame:
    spark.read.parquet(f"{folder}/events.parquet").createOrReplaceTempView("events")
    return spark.sql("""
        SELECT event_id, ab FROM events LATERAL VIEW json_tuple(payload, 'ab', 'ids') j AS ab, ids
        WHERE user = 'u2'
    """)


def json_tuples_truth(t: Tables) -> Frame:
    events = t("events").where(lambda r: r.user == "u2")
    return events.pick("event_id", ab=lambda r: _json(r.payload).get("ab"))


def spending_per_device(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    events = spark.read.parquet(f"{folder}/events.parquet").where("kind = 'buy'")
    parsed = events.select(
        "event_id",
        F.get_json_object("payload", "$.device.v").cast("int").alias("v"),
        F.when(F.col("page") == "/p/1", 5).otherwise(2).alias("value"),
    )
    return parsed.groupBy("v").agg(F.sum("value").alias("value"), F.count("*").alias("n"))


def spending_per_device_truth(t: Tables) -> Frame:
    events = t("events").where(lambda r: r.kind == "buy")
    parsed = events.add(
        v=lambda r: _json(r.payload).get("device", {}).get("v"),
        value=lambda r: 5 if r.page == "/p/1" else 2,
    )
    return parsed.group("v", value=total("value"), n=count())


PROGRAMS = (
    Program(payload_by_json_path, payload_by_json_path_truth),
    Program(payload_by_schema_exploded, payload_by_schema_exploded_truth),
    Program(viewed_products_joined, viewed_products_joined_truth),
    Program(json_tuples, json_tuples_truth),
    Program(spending_per_device, spending_per_device_truth),
)
