"""Python functions that are read from their source: asked without the function, on both engines.

The truth is the function itself, called here.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as f

import predtrace
from predtrace.environment import python_functions
from pushdown.calls import called
from symbolic.types import type_name
from tests.symbolic.pyfunc import users
from tests.symbolic.pyfunc.test_reading import FUNCTIONS, SAID, VALUES, read

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ARROW = {"s": pa.string(), "n": pa.int64(), "x": pa.float64(), "d": pa.date32(), "b": pa.bool_()}
UNCHECKED = {
    "plus_one_n", "add_none_n", "plus_lambda_n", "minus_lambda_n", "absolute_n", "decade_n",
}  # fmt: skip
"""Functions that are not said in functions of Spark if a result may wrap."""
UNSETTLED = {"holiday_d"}
"""Functions that use values of their module that are no literals."""


def _result(name: str, value: Any) -> Any:
    found = FUNCTIONS[name](value)
    if isinstance(found, int) and not -(2**63) <= found < 2**63:
        raise OverflowError
    return found


def _usable(names: list[str], values: list[Any]) -> list[Any]:
    """The values for which no function raises: the pipeline would fail."""
    found = []
    for value in values:
        try:
            for name in names:
                _result(name, value)
        except Exception:
            continue
        found.append(value)
    return found


def _key(values: tuple[Any, ...]) -> tuple[str, ...]:
    """Equal for rows that grouping takes for equal."""
    return tuple(repr(value + 0.0 if isinstance(value, float) else value) for value in values)


def _needed(job: Any) -> list[str]:
    """The functions that are not read."""
    return [each.name for each in called(e for o in job.record.graph for e in o.expressions)]


@pytest.mark.parametrize("arrow", [True, False])
@pytest.mark.parametrize("kind", ARROW)
def test_asked_without_the_function(
    spark: SparkSession, tmp_path: Path, kind: str, arrow: bool
) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", str(arrow).lower())
    names = sorted(name for name in SAID if name.endswith(f"_{kind}"))
    names = [name for name in names if name not in UNSETTLED]
    names = [name for name in names if arrow or name not in UNCHECKED]
    values = _usable(names, VALUES[kind])
    assert (len(names), len(values)) >= (3, 3)
    rows = pa.table({"id": range(len(values)), "v": pa.array(values, ARROW[kind])})
    pq.write_table(rows, tmp_path / "v.parquet")
    source = session.read.parquet(str(tmp_path / "v.parquet"))
    udfs = [f.udf(FUNCTIONS[name], type_name(read(name).type), useArrow=arrow) for name in names]
    columns = [udf("v").alias(name) for udf, name in zip(udfs, names, strict=True)]
    job = predtrace.trace(source.select(*columns)).run(tmp_path / "store")
    python_functions.forget()
    assert _needed(job) == []
    truth: dict[tuple[str, ...], list[int]] = {}
    for row, value in enumerate(values):
        results = tuple(_result(name, value) for name in names)
        truth.setdefault(_key(results), []).append(row)
    given = {_key(tuple(row)): tuple(row) for row in job.output.collect()}
    assert given.keys() == truth.keys()
    for engine in ("auto", "spark"):
        answer = job.lineage([given[key] for key in truth], engine=engine)
        (scan,) = answer.scans
        assert answer.label == "precise"
        found = [(row["target"], row["id"]) for row in scan.to_arrow(["id"]).to_pylist()]
        assert sorted(found) == [(n, row) for n, ids in enumerate(truth.values()) for row in ids]


def test_changed_modules_are_not_read(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark's processes import the module anew: they know nothing of changes here."""
    pq.write_table(pa.table({"v": ["CA", "XX"]}), tmp_path / "v.parquet")
    source = spark.read.parquet(str(tmp_path / "v.parquet"))
    state = f.udf(FUNCTIONS["state_s"], "string", useArrow=True)
    assert _needed(predtrace.trace(source.select(state("v"))).run(tmp_path)) == []
    monkeypatch.setitem(users.STATES, "CA", "changed here")
    job = predtrace.trace(source.select(state("v").alias("s"))).run(tmp_path)
    assert _needed(job) == ["state_s"]
    assert sys.modules[users.__name__] is users
    answer = job.lineage({"s": "California"})
    assert answer.scans[0].to_arrow().column("v").to_pylist() == ["CA"]
