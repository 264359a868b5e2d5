"""Rows that the pipeline never evaluated a function on do not make a question fail."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlglot import exp

from predtrace.engines.base import Targets
from predtrace.engines.spark.dialect import QUESTIONS
from predtrace.engines.spark.engine import SparkEngine
from predtrace.engines.sql.compiler import Compiler
from predtrace.frontends.spark import read_pipeline
from tests.frontends.spark.shapes import projected

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS: dict[str, tuple[pa.DataType, Any, Any]] = {
    "id": (pa.int32(), 1, 2),
    "month": (pa.int32(), 5, 13),
    "weekday": (pa.string(), "Mon", "never"),
    "place": (pa.int32(), 1, 0),
    "list": (pa.list_(pa.int32()), [7], [7]),
    "far": (pa.date32(), 18_000, 2**31 - 1),
    "name": (pa.string(), "b", "a"),
    "pattern": (pa.string(), "yyyy", "("),
    "format": (pa.string(), "yyyy", "bbb"),
    "zero": (pa.int32(), 3, 0),
    "least": (pa.int64(), 5, -(2**63)),
    "most": (pa.int32(), 5, 2**31 - 1),
    "text": (pa.string(), "8", "x"),
    "ts": (pa.timestamp("us", "UTC"), dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1)),
}
"""By name the type, a value on which all functions work, and one on which some fails."""
KEYS = (
    "make_date(2020, month, 1)",
    "next_day(DATE'2020-01-01', weekday)",
    "element_at(list, place)",
    "slice(list, place, 1)",
    "CAST(far AS timestamp)",
    "map_from_arrays(array('a', name), array(1, id))['a']",
    "'yyyy' RLIKE pattern",
    "date_format(ts, format)",
    "id DIV zero",
    "pmod(id, zero)",
    "id % zero",
    "id / zero",
    "-least",
    "abs(least)",
    "least - 1L",
    "least * 3L",
    "round(most, -1)",
    "most + 5",
    "CAST(text AS int)",
    "CAST(least AS tinyint)",
    "CAST(CAST(CONCAT(text, '-1') AS INTERVAL YEAR TO MONTH) AS string)",
)


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_what_fails_on_other_rows_gives_null(
    spark: SparkSession, tmp_path: Path, ansi: str
) -> None:
    """Questions give what the pipeline gave where it gave something, and fail nowhere."""
    columns = {name: pa.array([good, bad], kind) for name, (kind, good, bad) in COLUMNS.items()}
    pq.write_table(pa.table(columns), tmp_path / "r.parquet")
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", ansi)
    session.read.parquet(str(tmp_path / "r.parquet")).createOrReplaceTempView("r")
    frame = session.sql(f"SELECT {', '.join(KEYS)} FROM r WHERE id = 1")
    pipeline = read_pipeline(frame)
    asking = SparkEngine(spark).open(Targets(pa.table({}), (), False), pipeline.settings).session
    asking.read.parquet(str(tmp_path / "r.parquet")).createOrReplaceTempView("r")
    (scan,) = pipeline.graph.scans()
    functions = QUESTIONS[pipeline.settings.ansi].functions
    compiler = Compiler("spark", functions, {c.id: exp.column(c.name) for c in scan.columns})
    texts = [compiler(expr).sql("spark") for expr in projected(pipeline)]
    good = asking.sql(f"SELECT {', '.join(texts)} FROM r WHERE id = 1").collect()
    assert [tuple(row) for row in good] == [tuple(row) for row in frame.collect()]
    assert None not in good[0]
    for text, key in zip(texts, KEYS, strict=True):
        (bad,) = asking.sql(f"SELECT {text} FROM r WHERE id = 2").collect()
        assert ansi == "false" or bad[0] is None, key
