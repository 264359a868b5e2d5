"""Functions whose results a run kept: asked in another process, without the function.

The truth is the function itself, called here.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as f

import predtrace
from predtrace.environment import python_functions
from predtrace.errors import PredTraceError, StoreError
from predtrace.jobs.store import JobStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAN = float("nan")
ZONED = pa.timestamp("us", "UTC")
UTC = dt.UTC
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "s": (pa.string(), ["a", "b", "", None, "ä\U0001f600", " a", "A", "a", "ab", "c"]),
    "n": (pa.int64(), [1, 2, None, 0, -1, 2**62, -(2**62), 1, 7, 3]),
    "i": (pa.int32(), [1, 2, None, 0, -1, 2**31 - 1, -(2**31), 1, 7, 3]),
    "x": (pa.float64(), [0.0, -0.0, NAN, None, float("inf"), -1.5, 0.1, 1e300, 7.0, -0.0]),
    "y": (pa.float32(), [0.0, -0.0, NAN, None, float("inf"), -1.5, 0.1, 1e30, 7.0, -0.0]),
    "b": (pa.bool_(), [True, False, None, True, False, None, True, True, False, True]),
    "d": (pa.date32(), [dt.date(2024, 1, day) for day in range(1, 9)] + [None, dt.date(1, 1, 1)]),
    "t": (
        ZONED,
        [dt.datetime(2024, 10, 27, hour, 30, tzinfo=UTC) for hour in range(8)]
        + [None, dt.datetime(1970, 1, 1, tzinfo=UTC)],
    ),
    "m": (pa.decimal128(10, 2), [Decimal(k) / 4 for k in range(-4, 5)] + [None]),
    "l": (pa.list_(pa.int64()), [[], [1], [1, None], None, [2, 1], [1, 2], [0], [1], [3], [None]]),
    "r": (
        pa.struct([("a", pa.int64()), ("b", pa.string())]),
        [{"a": k % 3, "b": "x" if k % 2 else None} for k in range(8)] + [None, {"a": 0, "b": ""}],
    ),
    "z": (pa.binary(), [b"", b"a", b"\xff", None, b"b", b"c", b"a", b"\x00", b"ab", b"z"]),
}
"""Columns: their type, and edge values."""


def digested(value: Any) -> str | None:
    """A result that nobody reads from the source, and that tells -0.0 from 0.0, and NaN."""
    if value is None:
        return None
    if isinstance(value, dt.datetime) and value.tzinfo is None:
        value = value.astimezone(UTC)
    if value == 7:
        raise ValueError("seven")
    return hashlib.sha256(repr(_plain(value)).encode()).hexdigest()[:3]


def _plain(value: Any) -> Any:
    if hasattr(value, "asDict"):
        return value.asDict()
    return list(value) if isinstance(value, (list, tuple)) else value


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("kept") / "t.parquet"
    columns = {name: pa.array(values, kind) for name, (kind, values) in VALUES.items()}
    pq.write_table(pa.table({"id": range(10), **columns}), path)
    return path


@pytest.fixture(autouse=True)
def _nothing_known() -> Iterator[None]:
    python_functions.forget()
    yield
    python_functions.forget()


def _asked(job: Any, targets: list[Any], engine: str) -> list[list[int]]:
    answer = job.lineage(targets, engine=engine)
    (scan,) = answer.scans
    assert answer.label == "precise", scan.reason
    found: list[list[int]] = [[] for _ in targets]
    for row in scan.to_arrow(["id"]).to_pylist():
        found[row["target"]].append(row["id"])
    return [sorted(ids) for ids in found]


@pytest.mark.parametrize("ansi", [True, False])
def test_values_of_all_types(spark: SparkSession, table: Path, tmp_path: Path, ansi: bool) -> None:
    """One column for each type; a function is not called where it raises."""
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    session.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    called = f.udf(digested, "string", useArrow=ansi)
    frame = session.read.parquet(str(table)).filter("n <> 7 OR n IS NULL")
    made = frame.select("id", *(called(name).alias(name) for name in VALUES))
    grouped = frame.select(*(called(name).alias(name) for name in "sx")).groupBy("s", "x").count()
    jobs = [predtrace.trace(each).run(tmp_path / "store") for each in (made, grouped)]
    truth = [row for row in range(10) if VALUES["n"][1][row] != 7]
    outputs = [job.output.collect() for job in jobs]
    python_functions.forget()
    for engine in ("duckdb", "spark"):
        targets: list[Any] = [
            {k: v for k, v in r.asDict().items() if k != "id"} for r in outputs[0]
        ]
        targets: list[Any] = [r.asDict() for r in outputs[0]] + [{"x": r["x"]} for r in outputs[0]]
        same_x = {
            r["id"]: sorted(o["id"] for o in outputs[0] if o["x"] == r["x"]) for r in outputs[0]
        }
        assert sorted(same_x) == truth
        expected = [[r["id"]] for r in outputs[0]] + [same_x[r["id"]] for r in outputs[0]]
        opened = predtrace.open_job(tmp_path / "store", jobs[0].id)
        assert _asked(opened, targets, engine) == expected
        keys = {(r["s"], r["x"]): [] for r in outputs[0]}
        for r in outputs[0]:
            keys[r["s"], r["x"]].append(r["id"])
        opened = predtrace.open_job(tmp_path / "store", jobs[1].id)
        asked = _asked(opened, [{"s": s, "x": x} for s, x in keys], engine)
        assert asked == [sorted(ids) for ids in keys.values()]
    zeros = [outputs[0][row]["x"] for row in (0, 1, 2)]
    assert len(set(zeros)) == 3


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "filter": lambda t, u: t.filter(u("s") < "8").select("n"),
    "join": lambda t, u: (
        t.alias("a")
        .join(t.select(u("s").alias("k")).distinct(), u("a.s") == f.col("k"))
        .select("n", "k")
    ),
    "after a group": lambda t, u: t.groupBy("b").agg(u(f.max("s")).alias("k")),
    "nested": lambda t, u: t.select(u(u("s")).alias("k"), "n"),
    "sort key": lambda t, u: t.orderBy(u("s")).select("n", "s"),
    "after a condition": lambda t, u: t.filter((f.col("n") < 7) & (u("n") != "?")).select("n"),
}
"""Places of calls."""


@pytest.mark.parametrize(("name", "keep"), [*((n, "inline") for n in CALLS), ("filter", "late")])
def test_places(spark: SparkSession, table: Path, tmp_path: Path, name: str, keep: str) -> None:
    """The answers with kept results are those with the function."""
    called = f.udf(digested, "string", useArrow=True)
    frame = CALLS[name](spark.read.parquet(str(table)), called)
    job = predtrace.trace(frame).run(tmp_path, keep=keep).wait()
    bare = predtrace.trace(frame).run(tmp_path, keep="none")
    targets = [tuple(row) for row in job.output.collect()][:4]
    with_function = [sorted(_rows(bare, target)) for target in targets]
    assert any(with_function)
    python_functions.forget()
    assert job.record.functions[0].results
    assert [sorted(_rows(job, target)) for target in targets] == with_function


def _rows(job: Any, target: Any) -> list[tuple[str, int]]:
    answer = job.lineage(target)
    assert answer.label == "precise"
    return [
        (f"{scan.table} {scan.occurrence}", row)
        for scan in answer.scans
        for row in scan.to_arrow(["id"]).column("id").to_pylist()
    ]


def test_rows_that_another_run_may_not_repeat(
    spark: SparkSession, table: Path, tmp_path: Path
) -> None:
    """What was not stored is not computed again: the results might be those of other rows."""
    called = f.udf(digested, "string", useArrow=True)
    some = spark.read.parquet(str(table)).select("id", "s").limit(3)
    job = predtrace.trace(some.select(called("s").alias("k"), "id")).run(tmp_path)
    python_functions.forget()
    for row in job.output.collect():
        answer = job.lineage(tuple(row))
        found = answer.scans[0].to_arrow(["id"]).column("id").to_pylist()
        assert found == [row.id] if answer.label == "precise" else row.id in found


def test_another_process(spark: SparkSession, table: Path, tmp_path: Path) -> None:
    def hidden() -> Any:
        def secret(s: str | None) -> str:
            return hashlib.md5((s or "").encode()).hexdigest()[:1]

        return f.udf(secret, "string", useArrow=False)

    made = spark.read.parquet(str(table)).groupBy(hidden()("s").alias("k")).agg(f.max("n"))
    job = predtrace.trace(made).run(tmp_path)
    kept = job.record.functions[0].results
    assert kept
    (line,) = JobStore(tmp_path).jobs()
    output = job.record.output
    assert output is not None
    assert line.bytes >= output.bytes + sum(each.bytes for each in kept)
    code = (
        "import sys, predtrace\n"
        f"job = predtrace.open_job({str(tmp_path)!r}, {job.id!r})\n"
        "answer = job.lineage({'k': sys.argv[1]})\n"
        "ids = answer.scans[0].to_arrow(['id']).column('id').to_pylist()\n"
        "print(answer.label, sorted(ids), 'pyspark' in sys.modules)\n"
    )
    first = hashlib.md5(b"a").hexdigest()[:1]
    done = subprocess.run(
        [sys.executable, "-c", code, first], capture_output=True, text=True, check=True
    )
    rows = [
        (row, VALUES["n"][1][row])
        for row, s in enumerate(VALUES["s"][1])
        if hashlib.md5((s or "").encode()).hexdigest()[:1] == first
    ]
    most = max(n for _, n in rows if n is not None)
    expected = [row for row, n in rows if n == most]
    assert done.stdout == f"precise {expected} False\n"
    assert done.stderr == ""


def test_damaged_and_not_deterministic(spark: SparkSession, table: Path, tmp_path: Path) -> None:
    called = f.udf(digested, "string", useArrow=True)
    source = spark.read.parquet(str(table))
    # Results of the same content are looked up in one table, whichever job kept them.
    made = source.select(called(f.concat("s", f.lit("?"))).alias("k"))
    job = predtrace.trace(made).run(tmp_path)
    stored = job.folder / job.record.functions[0].results[0].folder
    file, *_ = stored.glob("*.parquet")
    data = bytearray(file.read_bytes())
    data[40] ^= 1
    file.write_bytes(data)
    with pytest.raises(StoreError, match="damaged"):
        job.lineage({"k": job.output.collect()[0].k}).scans[0].count()
    import random

    drawn = f.udf(lambda s: str(random.random()), "string", useArrow=True)
    job = predtrace.trace(source.select(drawn("s").alias("k"))).run(tmp_path)
    with pytest.raises(PredTraceError, match="several results for the same arguments"):
        job.lineage({"k": job.output.collect()[0].k}).scans[0].count()


def test_functions_that_nobody_needs_are_checked(
    spark: SparkSession, table: Path, tmp_path: Path
) -> None:
    def plain(s: str | None) -> str | None:
        return s.strip() if s else s

    source = spark.read.parquet(str(table))
    for function in (plain, digested):
        made = source.select(f.udf(function, "string", useArrow=True)("s").alias("k"))
        job = predtrace.trace(made).run(tmp_path)
        given = {function.__name__: function}
        again = predtrace.open_job(tmp_path, job.id, functions=given)
        target = job.output.collect()[1].k
        assert again.lineage({"k": target}, functions=given).label == "precise"
        with pytest.raises(PredTraceError, match="is not the function"):
            predtrace.open_job(tmp_path, job.id, functions={function.__name__: len})
        with pytest.raises(PredTraceError, match="calls no Python function 'other'"):
            predtrace.open_job(tmp_path, job.id, functions={"other": len})


def test_a_module_that_changed(
    spark: SparkSession, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PySpark sends its functions by name: the bytes in the plan stay the same."""
    text = "import math\ndef wide(n):\n    return None if n is None else n + math.gcd({0}, {0})\n"
    module = tmp_path / "changing_module.py"
    module.write_text(text.format(1))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    import changing_module  # type: ignore[import-not-found]

    with pytest.MonkeyPatch.context() as patch:
        patch.delitem(sys.modules, "changing_module")
        spark.sparkContext.addPyFile(str(module))
    function = f.udf(changing_module.wide, "long", useArrow=True)
    made = spark.read.parquet(str(table)).select(function("n").alias("k"))
    job = predtrace.trace(made).run(tmp_path / "store", keep="none")
    given = {"wide": changing_module.wide}
    assert predtrace.open_job(tmp_path / "store", job.id, functions=given).id == job.id
    module.write_text(text.format(10))
    with pytest.raises(PredTraceError, match="wide changed since the pipeline was read"):
        job.lineage({"k": 2}).scans[0].count()
    python_functions.forget()
    with pytest.raises(PredTraceError, match="is not the function wide"):
        predtrace.open_job(tmp_path / "store", job.id, functions=given)
    assert job.lineage({"k": 2}).label == "superset"
