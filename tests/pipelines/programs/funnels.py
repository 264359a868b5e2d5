"""Funnels and paths: conversion, first touch, transitions."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from tests.pipelines.aggregates import agg, count, count_if, distinct, low, total
from tests.pipelines.kit import Frame, Tables, null
from tests.pipelines.program import Program
from tests.pipelines.windows import lag, top, window

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def funnel_counts(spark: SparkSession, folder: str) -> DataFrame:
    spark.read.parquet(f"{folder}/events.parquet").createOrReplaceTempView("events")
    return spark.sql("""
        SELECT COUNT(DISTINCT CASE WHEN kind = 'view' THEN user END) AS viewed,
               COUNT(DISTINCT CASE WHEN kind = 'cart' THEN user END) AS carted,
               COUNT(DISTINCT CASE WHEN kind = 'buy' THEN user END) AS bought
        FROM events WHERE page IS NOT NULL
    """)


def funnel_counts_truth(t: Tables) -> Frame:
    def step(kind):
        return distinct(lambda r: r.user if r.kind == kind else None)

    events = t("events").where(lambda r: r.page is not None)
    return events.group("", viewed=step("view"), carted=step("cart"), bought=step("buy"))


def ordered_funnel(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    events = spark.read.parquet(f"{folder}/events.parquet")

    def first(kind: str) -> DataFrame:
        return (
            events.where(F.col("kind") == kind).groupBy("user").agg(F.min("at").alias(f"{kind}_at"))
        )

    return (
        first("view")
        .join(first("cart"), "user", "left")
        .join(first("buy"), "user", "left")
        .withColumn("converted", F.col("buy_at") > F.col("cart_at"))
    )


def ordered_funnel_truth(t: Tables) -> Frame:
    def first(kind):
        return (
            t("events").where(lambda r: r.kind == kind).group("user", **{f"{kind}_at": low("at")})
        )

    steps = first("view").join(first("cart"), "user", "left").join(first("buy"), "user", "left")
    return steps.add(converted=lambda r: null(lambda a, b: a > b, r.buy_at, r.cart_at))


def first_touch(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    events = spark.read.parquet(f"{folder}/events.parquet")
    w = Window.partitionBy("user").orderBy("at", "event_id")
    firsts = events.withColumn("n", F.row_number().over(w)).where("n = 1").select("user", "page")
    buys = events.where("kind = 'buy'").groupBy("user").count()
    return firsts.join(buys, "user").groupBy("page").agg(F.sum("count").alias("buys"))


def first_touch_truth(t: Tables) -> Frame:
    firsts = top(t("events"), "user", "at event_id").select("user page")
    buys = t("events").where(lambda r: r.kind == "buy").group("user", n=count())
    return firsts.join(buys, "user").group("page", buys=total("n"))


def page_transitions(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    w = Window.partitionBy("user").orderBy("at", "event_id")
    return (
        spark.read.parquet(f"{folder}/events.parquet")
        .withColumn("to", F.lead("kind", 1, "(end)").over(w))
        .groupBy(F.col("kind").alias("from"), "to")
        .count()
    )


def page_transitions_truth(t: Tables) -> Frame:
    moved = window(t("events"), "user", "at event_id", to=lag("kind", -1, "(end)"))
    return moved.group("kind to", n=count())


def events_before_purchase(spark: SparkSession, folder: str) -> DataFrame:
    spark.read.parquet(f"{folder}/events.parquet").createOrReplaceTempView("e")
    return spark.sql("""
        SELECT b.user, b.event_id, COUNT(v.event_id) AS views
        FROM e b LEFT JOIN e v
          ON v.user = b.user AND v.kind = 'view'
         AND v.at BETWEEN b.at - INTERVAL 2 HOURS AND b.at
        WHERE b.kind = 'buy' GROUP BY b.user, b.event_id
    """)


def events_before_purchase_truth(t: Tables) -> Frame:
    buys = t("events").where(lambda r: r.kind == "buy")
    views = t("events").where(lambda r: r.kind == "view").prefix("v_")
    near = buys.join(
        views,
        lambda b, v: b.user is not None and b.user == v.v_user
        and dt.timedelta() <= b.at - v.v_at <= dt.timedelta(hours=2),
        "left",
    )  # fmt: skip
    return near.group("user event_id", views=count("v_event_id"))


def bounce_rate(spark: SparkSession, folder: str) -> DataFrame:
    spark.read.parquet(f"{folder}/events.parquet").createOrReplaceTempView("e")
    return spark.sql("""
        SELECT to_date(at) AS day, COUNT(*) AS events,
               COUNT_IF(kind = 'buy') / COUNT(*) AS buy_share
        FROM e GROUP BY to_date(at)
    """)


def bounce_rate_truth(t: Tables) -> Frame:
    events = t("events").add(day=lambda r: t.local(r.at).date())
    share = agg(lambda rows: sum(r.kind == "buy" for r in rows) / len(rows))
    return events.group("day", events=count(), share=share)


def users_without_purchase(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    events = spark.read.parquet(f"{folder}/events.parquet")
    users = events.groupBy("user").agg(
        F.count("*").alias("n"), F.count_if(F.col("kind") == "cart").alias("carts")
    )
    bought = events.where("kind = 'buy' AND page = '/p/1'").select("user").distinct()
    return users.join(bought, "user", "left_anti")


def users_without_purchase_truth(t: Tables) -> Frame:
    users = t("events").group("user", n=count(), carts=count_if(lambda r: r.kind == "cart"))
    bought = t("events").where(lambda r: r.kind == "buy" and r.page == "/p/1")
    return users.join(bought.select("user"), "user", "anti")


PROGRAMS = (
    Program(funnel_counts, funnel_counts_truth),
    Program(ordered_funnel, ordered_funnel_truth),
    Program(first_touch, first_touch_truth),
    Program(page_transitions, page_transitions_truth),
    Program(events_before_purchase, events_before_purchase_truth),
    Program(bounce_rate, bounce_rate_truth),
    Program(users_without_purchase, users_without_purchase_truth),
)
