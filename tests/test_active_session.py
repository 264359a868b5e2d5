"""The active session: it does not decide what a plan means, and questions do not change it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import predtrace
from predtrace.environment.sessions import as_active
from predtrace.frontends.spark import read_pipeline
from pushdown.operators import RowTransform
from symbolic.expr import Literal, walk


@pytest.fixture
def own(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SparkSession]:
    """A session with the view `t`, which is not the active one."""
    session = spark.newSession()
    # PySpark takes the last session that made a DataFrame of local rows for the active one.
    monkeypatch.setattr(SparkSession, "_activeSession", spark)
    pq.write_table(pa.table({"k": [1, 2, 2], "v": [5, 6, 7]}), tmp_path / "t.parquet")
    session.read.parquet(str(tmp_path / "t.parquet")).createOrReplaceTempView("t")
    with as_active(spark):
        yield session


def other(spark: SparkSession, key: str, value: str) -> SparkSession:
    session = spark.newSession()
    session.conf.set(key, value)
    return session


def test_plans_are_read_with_the_settings_of_their_own_session(
    spark: SparkSession, own: SparkSession
) -> None:
    frame = own.sql(
        "SELECT a.k FROM t a WHERE v > (SELECT 0.5 * sum(v) FROM t b WHERE b.k = a.k AND b.v < 7)"
    )
    expected = read_pipeline(frame).graph.operators()
    with as_active(other(spark, "spark.sql.constraintPropagation.enabled", "false")):
        assert read_pipeline(frame).graph.operators() == expected


def test_the_time_zone_is_that_of_the_frame(spark: SparkSession, own: SparkSession) -> None:
    own.conf.set("spark.sql.session.timeZone", "Pacific/Kiritimati")
    frame = own.sql("SELECT k, current_timezone() AS zone FROM t")
    with as_active(other(spark, "spark.sql.session.timeZone", "Pacific/Pago_Pago")):
        graph = read_pipeline(frame).graph
    top = graph[graph.root]
    assert isinstance(top, RowTransform)
    (zone,) = [e.value for a in top.assignments for e in walk(a.value) if isinstance(e, Literal)]
    assert zone == frame.first()["zone"] == "Pacific/Kiritimati"


@pytest.mark.parametrize("mode", ["stored", "replayed", "refined"])
def test_questions_leave_the_users_session_active(
    spark: SparkSession, own: SparkSession, tmp_path: Path, mode: str
) -> None:
    frame = own.sql("SELECT k, sum(v) AS s FROM t GROUP BY k")
    job = predtrace.trace(frame).run(store=tmp_path / "store")
    answer = job.lineage((2, 13), engine="spark", spark=own, mode=mode)
    assert answer.scans[0].count() == 2
    answer.scans[0].row_ids()
    answer.scans[0].to_pandas()
    assert SparkSession.getActiveSession() is spark
    active = spark._jvm.org.apache.spark.sql.classic.SparkSession.getActiveSession().get()
    assert active.equals(spark._jsparkSession)


def test_a_thread_without_an_active_session_stays_so(spark: SparkSession) -> None:
    sessions = spark._jvm.org.apache.spark.sql.classic.SparkSession
    with as_active(spark):
        sessions.clearActiveSession()
        with as_active(spark.newSession()):
            assert sessions.getActiveSession().isDefined()
        assert not sessions.getActiveSession().isDefined()
