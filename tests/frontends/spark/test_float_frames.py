"""RANGE frames with offsets over floating-point keys, against plain Python."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import predtrace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAN, INF = math.nan, math.inf
KEYS = [
    (1, 0.0), (1, -0.0), (1, 2.5), (1, 2.6), (1, -1.5), (1, None), (1, NAN), (1, INF), (1, 0.1),
    (2, -0.0), (2, 2.5), (2, None), (2, None), (2, NAN), (2, -INF), (2, 1e17), (2, 1e17 + 16),
    (None, 0.3), (None, 0.1), (None, 2.8000000000000003), (None, -2.2),
]  # fmt: skip


def place(key: float | None, nulls_last: bool) -> tuple[int, float]:
    if key is None:
        return (3 if nulls_last else 0, 0.0)
    return (2, 0.0) if math.isnan(key) else (1, key)


def framed(row: int, low: float, high: float, descending: bool) -> set[int]:
    """The rows of the partition between the own key plus `low` and plus `high`, as doubles add.

    In a descending order the offsets count downwards. NULLs are near to NULLs only.
    """
    part, key = KEYS[row]
    if descending:
        low, high = -high, -low
    ends = [None if key is None else key + each for each in (low, high)]
    return {
        other
        for other, (p, k) in enumerate(KEYS)
        if p == part
        and place(ends[0], nulls_last=False) <= place(k, nulls_last=False)
        and place(k, nulls_last=False) <= place(ends[1], nulls_last=False)
    }


@pytest.mark.parametrize("ansi", ["true", "false"])
@pytest.mark.parametrize("shown", ["p, k, ", ""])
def test_rows_near(ansi: str, shown: str, spark: SparkSession, tmp_path: Path) -> None:
    """With the keys in the output nothing is stored; else the keys are."""
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", ansi)
    parts, keys = zip(*KEYS, strict=True)
    table = pa.table({"id": range(len(KEYS)), "p": parts, "k": pa.array(keys, pa.float64())})
    pq.write_table(table, tmp_path / "t.parquet")
    session.read.parquet(str(tmp_path / "t.parquet")).createOrReplaceTempView("t")
    descending = ansi == "false"
    text = (
        f"SELECT id, {shown}sum(shiftleft(1L, id)) OVER (PARTITION BY p ORDER BY k "
        f"{'DESC' if descending else ''} RANGE BETWEEN 2.5D PRECEDING AND 0.2D FOLLOWING) AS s "
        "FROM t"
    )
    job = predtrace.trace(session.sql(text)).run(store=str(tmp_path / "store"))
    assert bool(job.record.plans[0].intermediates) == (not shown)
    rows = job.output.collect()
    for row in rows:
        expected = framed(row["id"], -2.5, 0.2, descending)
        assert row["s"] == sum(1 << number for number in expected), row
    for row in [row for row in rows if row["id"] in (0, 1, 6, 5, 9, 15, 17)]:
        for mode in ("stored", "replayed") if row["id"] == 1 else ("stored",):
            answer = job.lineage({"id": row["id"]}, mode=mode)
            found = set(answer["t"].row_ids().column("row").to_pylist())
            assert (answer.label, found) == ("precise", framed(row["id"], -2.5, 0.2, descending))
