"""Sessions and time: sessionisation, time windows, streaks, gaps."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from tests.pipelines.aggregates import agg, count, high, low, total
from tests.pipelines.kit import Frame, Tables, null
from tests.pipelines.program import Program
from tests.pipelines.rows import Row
from tests.pipelines.windows import lag, over, row_number, rows, window

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_HALF_HOUR = dt.timedelta(minutes=30)


def _sessions(t: Tables) -> Frame:
    events = t("events").where(lambda r: r.user is not None)
    seen = window(events, "user", "at", prev=lag("at"))
    flagged = seen.add(is_new=lambda r: 1 if r.prev is None or r.at - r.prev > _HALF_HOUR else 0)
    return window(flagged, "user", "at", session=over(total("is_new")))


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


def sessions_with_own_gaps(spark: SparkSession, folder: str) -> DataFrame:
    from pyspark.sql import functions as F

    events = spark.read.parquet(f"{folder}/events.parquet").where("user IS NOT NULL")
    gap = F.when(F.col("kind") == "view", "5 minutes").otherwise("45 minutes")
    length = F.unix_seconds("session_window.end") - F.unix_seconds("session_window.start")
    return (
        events.groupBy("user", F.session_window("at", gap))
        .agg(F.count("*").alias("n"))
        .select("user", "n", length.alias("seconds"))
    )


def _end(row: Row) -> dt.datetime:
    return row.at + dt.timedelta(minutes=5 if row.kind == "view" else 45)


def sessions_with_own_gaps_truth(t: Tables) -> Frame:
    events = t("events").where(lambda r: r.user is not None)
    parts: list[list[Row]] = []
    for row in sorted(events.rows, key=lambda r: (r.user, r.at)):
        last = parts[-1] if parts and parts[-1][0].user == row.user else []
        if last and row.at <= max(map(_end, last)):
            last.append(row)
        else:
            parts.append([row])
    made = [
        events.made(events.columns, part).group(
            "user", n=count(), start=low("at"), end=agg(lambda rows: max(map(_end, rows)))
        )
        for part in parts
    ]
    every = made[0]
    for one in made[1:]:
        every = every.union(one)
    return every.pick("user", "n", seconds=lambda r: int((r.end - r.start).total_seconds()))


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


PROGRAMS = (
    Program(sessionised_events, sessionised_events_truth),
    Program(session_table, session_table_truth),
    Program(sessions_by_session_window, sessions_by_session_window_truth),
    Program(sessions_with_own_gaps, sessions_with_own_gaps_truth),
    Program(hourly_clicks, hourly_clicks_truth),
    Program(sliding_clicks, sliding_clicks_truth),
    Program(login_streaks, login_streaks_truth),
    Program(login_gaps, login_gaps_truth),
    Program(rolling_activity, rolling_activity_truth),
)
