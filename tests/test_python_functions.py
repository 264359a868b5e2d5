"""Functions of users in Python: carried by their bytes, evaluated where they are at hand."""

from __future__ import annotations

import functools
import math
import uuid
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as f

import predtrace
from predtrace.environment import python_functions
from predtrace.errors import NonDeterministicError, PredTraceError
from symbolic.functions import PythonFunction

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

TEXTS = [" A", "b ", "A", None, "", "Ä", "x1", "B", "a", None]
NUMBERS = [1, 2, None, 4, 5, 6, 7, 8, 1, -3]
ROWS = [(i, s, n) for i, (s, n) in enumerate(zip(TEXTS, NUMBERS, strict=True))]
TABLE = pa.table(
    {
        "id": pa.array(range(10), pa.int64()),
        "s": pa.array(TEXTS),
        "n": pa.array(NUMBERS, pa.int64()),
    }
)
PREFIX = {"of": "p"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("python")
    pq.write_table(TABLE, path / "t.parquet")
    pq.write_table(pa.table({"k": ["a", "b", "ä"], "w": [10, 20, 30]}), path / "u.parquet")
    return path


@pytest.fixture
def table(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.read.parquet(str(folder / "t.parquet"))


@pytest.fixture(autouse=True)
def _nothing_known() -> Iterator[None]:
    python_functions.forget()
    yield
    python_functions.forget()


def clean(s: str | None) -> str | None:
    return s.strip().lower() if s else s


def tens(n: int) -> int:
    if n == 7:
        raise ValueError("seven")
    return n * 10


def prefixed(s: str | None) -> str:
    return "{}{}".format(PREFIX["of"], s)


class Adds:
    def __init__(self, more: int) -> None:
        self.more = more

    def __call__(self, n: int | None) -> int | None:
        return None if n is None else n + self.more


def plus(n: int | None, more: int = 1) -> int | None:
    return None if n is None else n + more


def doubled(x: pd.Series) -> pd.Series:
    if (x == 7).any():
        raise ValueError("seven")
    return x * 2


def doubled_in_turn(series: Iterator[pd.Series]) -> Iterator[pd.Series]:
    for x in series:
        yield doubled(x)


def doubled_arrow(x: pa.Array) -> pa.Array:
    if pc.any(pc.equal(x, 7)).as_py():
        raise ValueError("seven")
    return pc.multiply(x, 2)


def doubled_arrow_in_turn(arrays: Iterator[pa.Array]) -> Iterator[pa.Array]:
    for x in arrays:
        yield doubled_arrow(x)


def _udf(function: Callable[..., Any], returns: str) -> Any:
    """Without a look at annotations, which are texts in this file."""
    return f.udf(function, returns, useArrow=True)


def _batched(make: Any, function: Callable[..., Any], kind: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make(function, "long", kind)


def _ids(answer: Any, scan: str = "t") -> list[int]:
    (found,) = (each for each in answer.scans if each.table == scan)
    assert found.label == "precise"
    return sorted(found.to_arrow(["id"]).column("id").to_pylist())


def by_value(values: list[Any]) -> dict[Any, list[int]]:
    found: dict[Any, list[int]] = {}
    for row, value in zip(ROWS, values, strict=True):
        found.setdefault(value, []).append(row[0])
    return found


ROWWISE: dict[str, tuple[Callable[[], Any], str, Callable[[Any], Any]]] = {
    "by Arrow": (lambda: f.udf(clean, "string", useArrow=True), "s", clean),
    "by pickle": (lambda: f.udf(clean, "string", useArrow=False), "s", clean),
    "lambda": (lambda: _udf(lambda s: (s or "?")[0], "string"), "s", lambda s: (s or "?")[0]),
    "with a constant": (lambda: _udf(prefixed, "string"), "s", prefixed),
    "an object": (lambda: _udf(Adds(5), "long"), "n", Adds(5)),
    "partial": (
        lambda: _udf(functools.partial(plus, more=9), "long"),
        "n",
        functools.partial(plus, more=9),
    ),
}


@pytest.mark.parametrize("name", ROWWISE)
def test_projection_and_group(table: DataFrame, tmp_path: Path, name: str) -> None:
    """The truth is the function itself, called here."""
    make, column, function = ROWWISE[name]
    udf = make()
    truth = by_value([function(row["sn".index(column) + 1]) for row in ROWS])
    job = predtrace.trace(table.select(udf(column).alias("v"))).run(tmp_path / "store")
    grouped = table.groupBy(udf(column).alias("v")).agg(f.count("*").alias("c"))
    groups = predtrace.trace(grouped).run(tmp_path / "store")
    targets = [{"v": value} for value in truth]
    for answer in (job.lineage(targets), groups.lineage(targets)):
        (scan,) = answer.scans
        assert answer.label == "precise"
        found = scan.to_arrow(["id"]).to_pylist()
        assert sorted((row["target"], row["id"]) for row in found) == [
            (target, row) for target, ids in enumerate(truth.values()) for row in ids
        ]
    assert _ids(groups.lineage(targets[0])) == next(iter(truth.values()))
    kept = groups.record.functions
    assert name in ("an object", "partial") or kept[0].source
    assert (not kept[0].results) == (name == "lambda")


BATCHES: dict[str, Callable[[], Any]] = {
    "values": lambda: _udf(tens, "long"),
    "series": lambda: _batched(f.pandas_udf, doubled, f.PandasUDFType.SCALAR),
    "series in turn": lambda: _batched(f.pandas_udf, doubled_in_turn, f.PandasUDFType.SCALAR_ITER),
    "arrays": lambda: _batched(f.arrow_udf, doubled_arrow, f.ArrowUDFType.SCALAR),
    "arrays in turn": lambda: _batched(
        f.arrow_udf, doubled_arrow_in_turn, f.ArrowUDFType.SCALAR_ITER
    ),
}


@pytest.mark.parametrize("name", BATCHES)
def test_rows_on_which_a_function_raises(table: DataFrame, tmp_path: Path, name: str) -> None:
    """Questions evaluate the function on all rows of the source, the pipeline did on few."""
    function, factor = BATCHES[name](), 10 if name == "values" else 2
    kept = table.filter("n < 7 AND n > 0").select("id", function("n").alias("v"))
    job = predtrace.trace(kept).run(tmp_path / "store")
    assert _ids(job.lineage({"v": factor})) == [0, 8]
    assert _ids(job.lineage({"v": 6 * factor})) == [5]
    assert _ids(job.lineage([{"v": 4 * factor}, {"id": 1}])) == [1, 3]


def test_filters_joins_and_named_arguments(
    spark: SparkSession, folder: Path, table: DataFrame, tmp_path: Path
) -> None:
    udf = _udf(clean, "string")
    kept = predtrace.trace(table.filter(udf("s") == "b").select("n")).run(tmp_path / "store")
    assert _ids(kept.lineage({"n": 8})) == [7]
    other = spark.read.parquet(str(folder / "u.parquet"))
    joined = table.join(other, udf(s=f.col("s")) == other.k).groupBy("w").count()
    job = predtrace.trace(joined).run(tmp_path / "store")
    assert _ids(job.lineage({"w": 10})) == [0, 2, 8]
    assert _ids(job.lineage({"w": 20})) == [1, 7]
    replayed = predtrace.trace(joined.filter("count > 2")).run(tmp_path / "store", keep="none")
    assert _ids(replayed.lineage({"w": 10}, mode="replayed")) == [0, 2, 8]


def test_names_in_the_catalog_stay(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    session = spark.newSession()
    session.udf.register("tidy", clean)
    session.read.parquet(str(folder / "t.parquet")).createOrReplaceTempView("t")
    before = session.sql("SHOW USER FUNCTIONS").collect()
    query = "SELECT tidy(s) AS c, sum(n) AS n FROM t GROUP BY tidy(s)"
    job = predtrace.trace(query, session).run(tmp_path / "store")
    assert _ids(job.lineage({"c": "b"})) == [1, 7]
    assert session.sql("SHOW USER FUNCTIONS").collect() == before
    assert len(before) == 1


def test_a_function_in_a_broadcast(table: DataFrame, tmp_path: Path) -> None:
    ballast = b"x" * 2_000_000
    udf = _udf(lambda n: None if n is None else n + len(ballast) // math.gcd(1, 2), "long")
    job = predtrace.trace(table.select(udf("n").alias("v"))).run(tmp_path / "store")
    assert _ids(job.lineage({"v": 2_000_001})) == [0, 8]


def _saved(table: DataFrame, store: Path) -> str:
    grouped = table.groupBy(_udf(prefixed, "string")("s").alias("c")).agg(f.max("n").alias("m"))
    job_id = predtrace.trace(grouped).run(store, keep="none").id
    python_functions.forget()
    return job_id


def test_without_the_function_it_is_a_superset(table: DataFrame, tmp_path: Path) -> None:
    job_id = _saved(table, tmp_path)
    job = predtrace.open_job(tmp_path, job_id)
    (kept,) = job.record.functions
    assert (kept.name, 'PREFIX["of"]' in kept.source) == ("prefixed", True)
    assert [(each.name, each.text) for each in kept.constants] == [("PREFIX", "{'of': 'p'}")]
    for engine in ("duckdb", "spark"):
        answer = job.lineage({"c": "pB"}, engine=engine)
        (scan,) = answer.scans
        assert (answer.label, 7 in scan.to_arrow().column("id").to_pylist()) == ("superset", True)
        assert "functions={'prefixed': prefixed}" in scan.reason


def test_a_replay_without_the_function(table: DataFrame, tmp_path: Path) -> None:
    grouped = table.groupBy(_udf(clean, "string")("s").alias("c")).agg(f.max("n").alias("m"))
    ranked = grouped.filter("m > 4").orderBy("m").limit(1).groupBy("c").agg(f.sum("m").alias("t"))
    job = predtrace.trace(ranked.groupBy("t").count()).run(tmp_path, keep="none")
    assert _ids(job.lineage({"t": 5})) == [4]
    python_functions.forget()
    with pytest.raises(PredTraceError, match=r"clean is not at hand.*functions=.*naive"):
        job.lineage({"t": 5}, mode="replayed")
    answer = job.lineage({"t": 5})
    (scan,) = answer.scans
    assert (answer.mode, answer.label) == ("naive", "superset")
    assert 4 in scan.to_arrow().column("id").to_pylist()


def test_the_function_is_given(table: DataFrame, tmp_path: Path) -> None:
    job_id = _saved(table, tmp_path)
    job = predtrace.open_job(tmp_path, job_id, functions={"prefixed": prefixed})
    assert _ids(job.lineage({"c": "pB"})) == [7]
    python_functions.forget()
    wrapped = _udf(prefixed, "string")
    again = predtrace.open_job(tmp_path, job_id)
    assert _ids(again.lineage({"c": "pB"}, functions={"prefixed": wrapped})) == [7]
    # The same text and constants under another name of a module have other bytes.
    python_functions.forget()
    space: dict[str, Any] = {"__name__": "elsewhere", "PREFIX": {"of": "p"}}
    moved = type(prefixed)(prefixed.__code__, space)
    assert _ids(again.lineage({"c": "pB"}, functions={"prefixed": moved})) == [7]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"prefixed": clean}, "its code, a value that it uses, or its result type changed"),
        ({"prefixed": "text"}, "not a value of type str"),
        ({"other": clean}, "calls no Python function 'other'; it calls prefixed"),
        ({"prefixed": lambda s: f"{PREFIX['of']}{s}"}, "its code"),
    ],
)
def test_another_function_is_given(
    table: DataFrame, tmp_path: Path, given: dict[str, Any], said: str
) -> None:
    job_id = _saved(table, tmp_path)
    with pytest.raises(PredTraceError, match=said):
        predtrace.open_job(tmp_path, job_id, functions=given)


def test_a_function_changed_since(table: DataFrame, tmp_path: Path) -> None:
    limits = {"low": 1}
    udf = _udf(lambda n: (n or 0) > limits["low"] * math.gcd(1, 2), "boolean")
    frame = table.select("id", udf("n").alias("v"))
    job = predtrace.trace(frame).run(tmp_path, keep="none")
    limits["low"] = 5
    with pytest.raises(PredTraceError, match="<lambda> changed since the pipeline was read"):
        job.lineage({"v": True})


def test_given_when_traced(table: DataFrame, tmp_path: Path) -> None:
    def hidden() -> Column:
        def odd(n: int | None) -> bool:
            return bool(n) and n % 2 == 1

        return _udf(odd, "boolean")("n").alias("v")

    frame = table.select(hidden())
    answer = predtrace.trace(frame).run(tmp_path, keep="none").lineage({"v": True})
    assert answer.label == "superset"
    assert predtrace.trace(frame).run(tmp_path).lineage({"v": True}).label == "precise"
    with pytest.raises(PredTraceError, match="is not the function odd that the pipeline ran"):
        predtrace.trace(frame, functions={"odd": clean})


def test_what_only_the_run_knows(table: DataFrame, tmp_path: Path) -> None:
    """A function marked non-deterministic; and pandas, which has 1 or 1.0 by the other rows."""
    marked = _udf(lambda s: f"{s}{uuid.uuid4()}", "string").asNondeterministic()
    job = predtrace.trace(table.select("id", marked("s").alias("v"))).run(tmp_path)
    assert _ids(job.lineage({"v": job.output.collect()[3].v})) == [3]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        texts = f.pandas_udf(lambda x: x.astype(str), "string", f.PandasUDFType.SCALAR)
    job = predtrace.trace(table.select("id", texts("n").alias("v"))).run(tmp_path)
    assert {row.id: row.v for row in job.output.collect()}[3] == "4.0"
    assert _ids(job.lineage({"v": "4.0"})) == [3]
    bare = predtrace.trace(table.select(texts("n").alias("v"))).run(tmp_path, keep="none")
    with pytest.raises(NonDeterministicError, match="keep='inline'"):
        bare.lineage({"v": "4.0"})


def test_identity() -> None:
    """Functions of the same bytes are the same, whichever call they come from."""
    one = PythonFunction("clean", "ab", 101, '"string"', ("",))
    assert PythonFunction.read(one.id) == one
    assert PythonFunction.read("upper") is None
    with pytest.raises(ValueError, match="python function"):
        PythonFunction.read("python {}")
