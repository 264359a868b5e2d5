"""Behaviour over time: sessions, funnels, gaps and islands, streaks, conversion."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from tests.pipelines.aggregates import agg, count, count_if, distinct, high, low, null, total
from tests.pipelines.kit import Frame, Tables
from tests.pipelines.program import Program
from tests.pipelines.windows import lag, over, row_number, rows, top, window

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_HALF_HOUR = dt.timedelta(minutes=30)


def sessionised_events(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    events = spark.read.parquet(f"{folder}/events.parquet").filter(F.col("user").isNotNull())
    w = Window.partitionBy("user").orderBy("at")
    return (
        events.withColumn("prev", F.lag("at").over(w))
        .withColumn("gap", F.unix_timestamp("at") - F.unix_timestamp("prev"))
        .withColumn(
            "is_new", F.when(F.col("prev").isNull() | (F.col("gap") > 1800), 1).otherwise(0)
        )
        .withColumn("session", F.sum("is_new").over(w))
        .select("user", "event_id", "session")
    )


def sessionised_events_truth(t: Tables) -> Frame:
    return _sessions(t).select("user event_id session")


def _sessions(t: Tables) -> Frame:
    events = t("events").where(lambda r: r.user is not None)
    seen = window(events, "user", "at", prev=lag("at"))
    flagged = seen.add(is_new=lambda r: 1 if r.prev is None or r.at - r.prev > _HALF_HOUR else 0)
    return window(flagged, "user", "at", session=over(total("is_new")))


def session_table(spark: SparkSession, folder: str) -> DataFrame:
    spark.read.parquet(f"{folder}/events.parquet").createOrReplaceTempView("events")
    return spark.sql("""
        WITH marked AS (
          SELECT *, CASE WHEN at > lag(at) OVER (PARTITION BY user ORDER BY at)
                              + INTERVAL 30 MINUTES
                         OR lag(at) OVER (PARTITION BY user ORDER BY at) IS NULL
                    THEN 1 ELSE 0 END AS is_new
          FROM events WHERE user IS NOT NULL
        ), numbered AS (
          SELECT *, SUM(is_new) OVER (PARTITION BY user ORDER BY at) AS session FROM marked
        )
        SELECT user, session, MIN(at) AS started, MAX(at) AS ended, COUNT(*) AS clicks
        FROM numbered GROUP BY user, session
    """)


def session_table_truth(t: Tables) -> Frame:
    return _sessions(t).group("user session", a=low("at"), b=high("at"), clicks=count())


def sessions_by_session_window(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    events = spark.read.parquet(f"{folder}/events.parquet").where("user IN ('u1', 'u2')")
    return (
        events.groupBy("user", F.session_window("at", "30 minutes").alias("s"))
        .agg(F.count("*").alias("n"))
        .select("user", "s.start", "s.end", "n")
    )


def sessions_by_session_window_truth(t: Tables) -> Frame:
    events = t("events").where(lambda r: r.user in ("u1", "u2"))

    def numbered(rows):
        ordered = sorted(rows, key=lambda r: r.at)
        parts = [[ordered[0]]]
        for row in ordered[1:]:
            if row.at < parts[-1][-1].at + _HALF_HOUR:
                parts[-1].append(row)
            else:
                parts.append([row])
        return parts

    made = []
    for user in ("u1", "u2"):
        own = events.where(lambda r, user=user: r.user == user)
        for part in numbered(own.rows):
            one = own.made(own.columns, part)
            made.append(one.group("user", start=low("at"), last=high("at"), n=count()))
    every = made[0]
    for one in made[1:]:
        every = every.union(one)
    return every.pick("user", "start", end=lambda r: r["last"] + _HALF_HOUR, n="n")


def hourly_clicks(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    events = spark.read.parquet(f"{folder}/events.parquet")
    return (
        events.groupBy(F.window("at", "1 hour"), "kind")
        .agg(F.count("*").alias("n"))
        .select(F.col("window.start").alias("hour"), "kind", "n")
    )


def hourly_clicks_truth(t: Tables) -> Frame:
    def hour(at):
        return at.replace(minute=0, second=0, microsecond=0)

    events = t("events").add(hour=lambda r: hour(r.at))
    return events.group("hour kind", n=count())


def sliding_clicks(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    events = spark.read.parquet(f"{folder}/events.parquet").where("user = 'u1'")
    return (
        events.groupBy(F.window("at", "2 hours", "1 hour").alias("w"))
        .count()
        .select("w.start", "count")
    )


def sliding_clicks_truth(t: Tables) -> Frame:
    events = t("events").where(lambda r: r.user == "u1")
    hour = dt.timedelta(hours=1)

    def starts(row):
        last = row.at.replace(minute=0, second=0, microsecond=0)
        return [(last,), (last - hour,)]

    return events.expand("start", starts).group("start", count=count())


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


def login_streaks(spark: SparkSession, folder: str) -> DataFrame:
    spark.read.parquet(f"{folder}/logins.parquet").createOrReplaceTempView("logins")
    return spark.sql("""
        WITH days AS (SELECT DISTINCT user, day FROM logins),
        grouped AS (
          SELECT user, day,
                 date_sub(day, CAST(row_number() OVER (PARTITION BY user ORDER BY day) AS INT)) AS g
          FROM days
        )
        SELECT user, MIN(day) AS first_day, MAX(day) AS last_day, COUNT(*) AS length
        FROM grouped GROUP BY user, g HAVING COUNT(*) >= 2
    """)


def login_streaks_truth(t: Tables) -> Frame:
    days = t("logins").distinct()
    numbered = window(days, "user", "day", n=row_number())
    island = numbered.pick("user", "day", g=lambda r: r.day - dt.timedelta(days=r.n))
    streaks = island.group("user g", a=low("day"), b=high("day"), length=count())
    return streaks.where(lambda r: r.length >= 2).select("user a b length")


def login_gaps(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    w = Window.partitionBy("user").orderBy("day")
    return (
        spark.read.parquet(f"{folder}/logins.parquet")
        .dropDuplicates(["user", "day"])
        .withColumn("next_day", F.lead("day").over(w))
        .withColumn("missed", F.datediff("next_day", "day") - 1)
        .where(F.col("missed") > 0)
    )


def login_gaps_truth(t: Tables) -> Frame:
    days = window(t("logins").distinct(), "user", "day", next_day=lag("day", -1))
    gaps = days.add(missed=lambda r: null(lambda a, b: (a - b).days - 1, r.next_day, r.day))
    return gaps.where(lambda r: r.missed is not None and r.missed > 0)


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


def rolling_activity(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    w = Window.partitionBy("user").orderBy("at", "event_id").rowsBetween(-2, 0)
    return (
        spark.read.parquet(f"{folder}/events.parquet")
        .withColumn("buy", (F.col("kind") == "buy").cast("int"))
        .select("event_id", F.sum("buy").over(w).alias("recent_buys"))
    )


def rolling_activity_truth(t: Tables) -> Frame:
    flagged = t("events").add(buy=lambda r: int(r.kind == "buy"))
    rolled = window(flagged, "user", "at event_id", recent=over(total("buy"), rows(-2, 0)))
    return rolled.select("event_id recent")


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
    Program(sessionised_events, sessionised_events_truth),
    Program(session_table, session_table_truth),
    Program(sessions_by_session_window, sessions_by_session_window_truth),
    Program(hourly_clicks, hourly_clicks_truth),
    Program(sliding_clicks, sliding_clicks_truth),
    Program(funnel_counts, funnel_counts_truth),
    Program(ordered_funnel, ordered_funnel_truth),
    Program(login_streaks, login_streaks_truth),
    Program(login_gaps, login_gaps_truth),
    Program(first_touch, first_touch_truth),
    Program(page_transitions, page_transitions_truth),
    Program(events_before_purchase, events_before_purchase_truth),
    Program(rolling_activity, rolling_activity_truth),
    Program(bounce_rate, bounce_rate_truth),
    Program(users_without_purchase, users_without_purchase_truth),
)
