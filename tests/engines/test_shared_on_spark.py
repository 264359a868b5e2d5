"""What several operators read, on Spark: selections united, CTEs copied up to a bound."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from predtrace import open_job
from predtrace.engines.sql import blocks
from predtrace.errors import EngineError
from tests.chains import chain
from tests.reference.answers import check_answer
from tests.reference.jobs import store_job
from tests.test_random_answers import runs_of


@pytest.mark.parametrize("mode", ["stored", "replayed"])
def test_spark_answers_as_the_reference(mode: str, spark: SparkSession, tmp_path: Path) -> None:
    pipeline = chain(["left join"], 2)
    runs = runs_of(pipeline)[:1]
    ((plan, reference),) = runs
    assert any(item.also for item in plan.intermediates)
    rows = reference.distinct_rows()
    job = open_job(*store_job(tmp_path, *pipeline, runs))
    answer = job.lineage([*rows, rows[0]], mode=mode, engine="spark", spark=spark)
    check_answer(answer, reference, pipeline.graph, rows)
    assert "\nOR " in answer.scans[0].predicate_sql()


def test_too_many_copies_are_refused(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "MOST_UNFOLDED", 10)
    pipeline = chain(["left join"], 3)
    runs = runs_of(pipeline)[:1]
    job = open_job(*store_job(tmp_path, *pipeline, runs))
    target = runs[0][1].rows[0]
    with pytest.raises(EngineError, match=r"more than 10 operators .*use engine='duckdb'"):
        job.lineage(target, mode="replayed", engine="spark", spark=spark).scans[0].row_ids()
