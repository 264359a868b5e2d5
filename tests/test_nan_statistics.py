"""NaN where statistics do not know of it: Spark would skip what has nothing but NaN for the rest.

Also of what questions keep while they are asked, and of numbers inside of structs.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import predtrace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAN = math.nan
INEXACT = ("naive", "refined")
MODES = (*INEXACT, "replayed", "stored")


@pytest.fixture(scope="module")
def session(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """The tables s(id, b, p) and r(id, x), whose files' statistics are of 1.0 alone."""
    own = spark.newSession()
    folder = tmp_path_factory.mktemp("nan")
    points = [{"x": 1.0}, {"x": NAN}, {"x": NAN}]
    tables = {
        "s": pa.table({"id": [0, 1, 2], "b": ["u", "v", "v"], "p": points}),
        "r": pa.table({"id": [0, 1], "x": [0.5, 5.0]}),
    }
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet")
        own.read.parquet(str(folder / f"{name}.parquet")).createOrReplaceTempView(name)
    return own


def rows_of(answer: Any, occurrence: int) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {}
    for row in answer.scan("s", occurrence=occurrence).row_ids().to_pylist():
        found.setdefault(row["target"], set()).add(row["row"])
    return found


@pytest.mark.parametrize("mode", MODES)
def test_a_constant_nan_among_several_targets(
    session: SparkSession, tmp_path: Path, mode: str
) -> None:
    frame = session.sql(
        "SELECT double('NaN') AS k, b, count(*) AS n FROM s GROUP BY b "
        "UNION ALL SELECT 1.0D, b, 0 FROM s"
    )
    job = predtrace.trace(frame).run(tmp_path)
    answer = job.lineage([(1.0, "u", 0), (NAN, "v", 2), (NAN, "u", 1)], mode=mode, engine="spark")
    assert not answer.missing
    found = [rows_of(answer, scan) for scan in (1, 2)]
    assert [{1, 2} <= found[0].get(1, set()), {0} <= found[0].get(2, set())] == [True, True]
    assert {0} <= found[1].get(0, set())
    for scan, wanted in ((1, {1: {1, 2}, 2: {0}}), (2, {0: {0}})):
        precise = answer.scan("s", occurrence=scan).label == "precise"
        assert precise or mode in INEXACT
        assert not precise or found[scan - 1] == wanted


@pytest.mark.parametrize("mode", MODES)
def test_a_number_in_a_struct(session: SparkSession, tmp_path: Path, mode: str) -> None:
    """NaN is greater than any number."""
    frame = session.sql("SELECT r.id, count(*) AS n FROM r JOIN s ON s.p.x > r.x GROUP BY r.id")
    job = predtrace.trace(frame).run(tmp_path)
    for target, wanted in (((0, 3), {0, 1, 2}), ((1, 2), {1, 2})):
        answer = job.lineage(target, mode=mode, engine="spark")
        found = {row["row"] for row in answer["s"].row_ids().to_pylist()}
        assert wanted <= found
        precise = answer["s"].label == "precise"
        assert precise or mode in INEXACT
        assert not precise or wanted == found
