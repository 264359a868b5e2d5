"""Programs over groups: in a run of ours each row comes with its group's key.

The truth is made here: groups by plain Python, and the programs called on them.
"""

from __future__ import annotations

import datetime as dt
import math
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as f

import predtrace
from predtrace.errors import NonDeterministicError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NAN = float("nan")
DAY = dt.date(2024, 3, 31)
NOON = dt.datetime(2024, 10, 27, 0, 30, tzinfo=dt.UTC)
KEYS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "s": (pa.string(), ["a", "b", None, "", "a", None, "nan", "\U0001f600", "b", "A"]),
    "i": (pa.int32(), [1, None, 1, 2, 0, None, -(2**31), 2**31 - 1, 2, 0]),
    "n": (pa.int64(), [2**62, 2**62 + 1, None, 1, 2**62, None, 0, -1, 1, 0]),
    "x": (pa.float64(), [0.0, -0.0, NAN, None, NAN, None, math.inf, 0.1, 0.1, 1e-300]),
    "y": (pa.float32(), [0.0, -0.0, NAN, None, NAN, None, -math.inf, 0.1, 0.1, 1e-40]),
    "b": (pa.bool_(), [True, False, None, True, False, None, True, True, False, True]),
    "d": (pa.date32(), [DAY, None, DAY, dt.date(1, 1, 1), None, DAY, *[dt.date(9999, 12, 31)] * 4]),
    "t": (
        pa.timestamp("us", "UTC"),
        [NOON, NOON + dt.timedelta(hours=1), None, NOON, None, *[NOON - dt.timedelta(1)] * 5],
    ),
    "m": (
        pa.decimal128(10, 2),
        [Decimal("1.50"), None, Decimal("1.50"), Decimal("-0.01")] + [None] * 6,
    ),
    "z": (pa.binary(), [b"", b"\xff", None, b"\x00", b"", None, b"a", b"A", b"\xff", b"a"]),
}
V = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("grouped")
    columns = {name: pa.array(values, kind) for name, (kind, values) in KEYS.items()}
    table = pa.table({"id": range(10), "v": V, **columns})
    pq.write_table(table, path / "t.parquet")
    other = pa.table({"id": range(4), "s": ["b", None, "c", "b"], "w": [1, 2, 3, 4]})
    pq.write_table(other, path / "u.parquet")
    return path


def read(spark: SparkSession, folder: Path, name: str = "t") -> DataFrame:
    return spark.read.parquet(str(folder / f"{name}.parquet"))


def grouped(keys: list[Any]) -> dict[str, list[int]]:
    """The rows of each group, as SQL groups: NaN is one, and so is zero."""
    found: dict[str, list[int]] = {}
    for row, key in enumerate(keys):
        found.setdefault(repr(key + 0.0 if isinstance(key, float) else key), []).append(row)
    return found


def ids(answer: Any) -> dict[str, list[int]]:
    found = {s.table: sorted(s.to_arrow(["id"]).column("id").to_pylist()) for s in answer.scans}
    assert answer.label == "precise", [scan.reason for scan in answer.scans]
    return found


def total(frame: pd.DataFrame) -> pd.DataFrame:
    assert list(frame.columns)[:2] == ["id", "v"]
    return pd.DataFrame({"low": [frame.v.min()], "v": [frame.v.sum()]})


def test_keys_of_all_types(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    """A sum and a minimum tell no group: 1 + 8 and 4 + 5; the key does."""
    for ansi, names in ((True, "sxyt"), (False, "nbdmz")):
        session = spark.newSession()
        session.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
        session.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
        for name in names:
            made = read(session, folder).groupBy(name).applyInPandas(total, "v long, low long")
            job = predtrace.trace(made).run(tmp_path)
            groups = grouped(KEYS[name][1])
            truth = {(sum(V[r] for r in g), min(V[r] for r in g)): g for g in groups.values()}
            assert len(truth) == len(groups)
            rows = [tuple(row) for row in job.output.collect()]
            assert sorted(rows) == sorted(truth)
            for row in rows:
                assert ids(job.lineage(row)) == {"t": truth[row]}, (name, row)


def centred(key: tuple[Any, ...], frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(v=frame.v - frame.v.min())[["v"]].iloc[::-1]


def positions(frame: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame([[1], [int(frame.v.max())]])


def nothing_for_some(frame: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame() if len(frame) > 1 else frame[["v"]]


def in_turn(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for frame in frames:
        yield frame[["v"]].head(1)
        yield frame[["v"]].head(0)


def batches_in_turn(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch.select(["v"]).slice(1)


def of_table(table: pa.Table) -> pa.Table:
    return table.select(["v"]).slice(0, 1)


def of_table_with_key(key: tuple[Any, ...], table: pa.Table) -> pa.Table:
    assert key[0].as_py() == table.column("s")[0].as_py()
    return table.select(["v"])


PROGRAMS: dict[str, tuple[Callable[[Any], Any], Callable[[list[int]], list[int]]]] = {
    "with the key": (
        lambda g: g.applyInPandas(centred, "v long"),
        lambda rows: [V[r] - V[rows[0]] for r in rows],
    ),
    "by position": (
        lambda g: g.applyInPandas(positions, "v long"),
        lambda rows: [1, V[rows[-1]]],
    ),
    "nothing": (
        lambda g: g.applyInPandas(nothing_for_some, "v long"),
        lambda rows: [] if len(rows) > 1 else [V[rows[0]]],
    ),
    "in turn": (lambda g: g.applyInPandas(in_turn, "v long"), lambda rows: [V[rows[0]]]),
    "Arrow in turn": (
        lambda g: g.applyInArrow(batches_in_turn, "v long"),
        lambda rows: [V[r] for r in rows[1:]],
    ),
    "Arrow": (lambda g: g.applyInArrow(of_table, "v long"), lambda rows: [V[rows[0]]]),
    "Arrow with the key": (
        lambda g: g.applyInArrow(of_table_with_key, "v long"),
        lambda rows: [V[r] for r in rows],
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(spark: SparkSession, folder: Path, tmp_path: Path, name: str) -> None:
    """Rows of several groups that are equal are traced together."""
    make, program = PROGRAMS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = make(read(spark, folder).groupBy("s"))
    job = predtrace.trace(frame).run(tmp_path)
    truth: dict[int, set[int]] = {}
    count = 0
    for rows in grouped(KEYS["s"][1]).values():
        for value in program(rows):
            count += 1
            truth.setdefault(value, set()).update(rows)
    assert sorted({row.v for row in job.output.collect()}) == sorted(truth)
    assert job.output.count() == frame.count() == count
    for value, rows_of in truth.items():
        assert ids(job.lineage({"v": value})) == {"t": sorted(rows_of)}


def both(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"l": [left.v.sum()], "r": [right.w.sum()]})


def both_in_arrow(left: pa.Table, right: pa.Table) -> pa.Table:
    sums = [sum(left.column("v").to_pylist()), sum(right.column("w").to_pylist())]
    return pa.table({"l": pa.array([sums[0]], pa.int64()), "r": pa.array([sums[1]], pa.int64())})


@pytest.mark.parametrize("arrow", [False, True])
def test_two_tables(spark: SparkSession, folder: Path, tmp_path: Path, arrow: bool) -> None:
    left, right = (read(spark, folder, name).groupBy("s") for name in "tu")
    pair = left.cogroup(right)
    schema = "l long, r long"
    made = pair.applyInArrow(both_in_arrow, schema) if arrow else pair.applyInPandas(both, schema)
    job = predtrace.trace(made).run(tmp_path)
    first, second = grouped(KEYS["s"][1]), grouped(["b", None, "c", "b"])
    truth = {}
    for key in {**first, **second}:
        rows = first.get(key, []), second.get(key, [])
        sums = sum(V[r] for r in rows[0]), sum(r + 1 for r in rows[1])
        truth[sums] = {"t": rows[0], "u": rows[1]}
    found = [tuple(row) for row in job.output.collect()]
    assert sorted(found) == sorted(truth)
    for row in found:
        assert ids(job.lineage(row)) == truth[row]


def test_below_and_above(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    """Filters below, computed keys, a join and a count above, another process."""
    other = read(spark, folder, "u").groupBy("s").agg(f.max("w").alias("w"))
    t = read(spark, folder).filter("v > 1").withColumn("k", f.upper("s"))
    made = t.groupBy("k", f.col("v") % 2).applyInPandas(
        lambda frame: frame[["s", "v"]].assign(v=frame.v.sum()), "s string, v long"
    )
    joined = made.join(other, "s").groupBy("w").agg(f.sum("v").alias("v"), f.count("*").alias("n"))
    job = predtrace.trace(joined.select("w", "n")).run(tmp_path)
    job = predtrace.open_job(tmp_path, job.id)
    groups: dict[Any, list[int]] = {}
    for row, s in enumerate(KEYS["s"][1]):
        if V[row] > 1:
            groups.setdefault((s and s.upper(), V[row] % 2), []).append(row)
    b_rows = sorted(r for g in groups.values() for r in g if any(KEYS["s"][1][x] == "b" for x in g))
    assert ids(job.lineage({"w": 4})) == {"t": b_rows, "u": [3]}
    one_group = read(spark, folder).groupBy().applyInPandas(total, "v long, low long")
    answer = predtrace.trace(one_group).run(tmp_path).lineage({"low": 1})
    assert ids(answer) == {"t": list(range(10))}


def test_what_the_run_does_not_tell(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    """A job that did not run through us, and keys that are not told."""
    made = read(spark, folder).groupBy("s").applyInPandas(total, "v long, low long")
    bare = predtrace.trace(made).record(tmp_path)
    for mode in ("auto", "naive"):
        answer = bare.lineage((1, 1), mode=mode)
        assert (answer.mode, answer.label, answer.scans[0].count()) == ("naive", "superset", 10)
    with pytest.raises(NonDeterministicError, match=r"applyInPandas\(total\).*inline"):
        bare.lineage((1, 1), mode="replayed")
    nested = (
        read(spark, folder).groupBy(f.struct("s", "i")).applyInPandas(total, "v long, low long")
    )
    answer = predtrace.trace(nested).run(tmp_path).lineage({"low": 1})
    assert (answer.label, answer.scans[0].count()) == ("superset", 10)
    assert "applyInPandas(total)" in answer.scans[0].reason


def test_a_large_program(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    """Its bytes are in a broadcast, and the plan names that."""
    ballast = b"x" * 2_000_000

    def sized(frame: pd.DataFrame) -> pd.DataFrame:
        return frame[["id"]].assign(n=len(ballast))

    made = read(spark, folder).groupBy("s").applyInPandas(sized, "id long, n long")
    job = predtrace.trace(made).run(tmp_path)
    assert ids(job.lineage((0, 2_000_000))) == {"t": [0, 4]}


def test_errors_stay(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    def wrong(frame: pd.DataFrame) -> Any:
        return 5

    made = read(spark, folder).groupBy("s").applyInPandas(wrong, "v long")
    with pytest.raises(Exception, match=r"pandas\.DataFrame.*int"):
        predtrace.trace(made).run(tmp_path)
