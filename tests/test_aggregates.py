"""Every aggregate of Spark over groups: the whole group, whatever the aggregate makes of it."""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import predtrace
from predtrace.errors import NonDeterministicError
from predtrace.frontends.spark import read_pipeline
from predtrace.frontends.spark.functions_table import AGGREGATE
from predtrace.jobs.builtins import builtins
from predtrace.report.coverage import MADE_BY
from pushdown.operators import AggregateCall, GroupBy, Repeats
from symbolic.expr import render
from symbolic.functions import COMBINES, carried, opaque

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_KEYS = ["a", "a", None, "b", "a", None, "b", "c", "a", "d", "d"]
_SIZE = len(_KEYS)
_DAY = datetime.date(2024, 3, 31)
TABLE = pa.table(
    {
        "id": pa.array(range(_SIZE), pa.int32()),
        "k": pa.array(_KEYS, pa.string()),
        "i": pa.array([1, 2, None, 3, 2, 5, None, None, 1, 7, 7], pa.int32()),
        "l": pa.array([1, 2**40, 3, None, 2, 5, -6, None, 1, 7, 7], pa.int64()),
        "f": pa.array(
            [0.0, -0.0, float("nan"), 1.5, None, 2.5, -1.0, None, 1e300, 0.1, 0.2], pa.float64()
        ),
        "d": pa.array([Decimal(n).scaleb(-2) for n in range(_SIZE)], pa.decimal128(9, 2)),
        "s": pa.array(["x", "y", None, "", "y", "x", "é", None, "x", "'", "'"], pa.string()),
        "b": pa.array([True, None, False] * 3 + [None, None], pa.bool_()),
        "day": pa.array([None, *[_DAY + datetime.timedelta(n % 3) for n in range(_SIZE - 1)]]),
        "xs": pa.array([[1, 2], [2], None, [], [None], [3], [1, 2], None, [2], [0], [0]]),
        "st": pa.array([{"p": n % 2, "q": None if n % 3 else "q"} for n in range(_SIZE)]),
        "bin": pa.array([b"\x01", b"\x03", None] * 3 + [None, b""], pa.binary()),
    }
)
CALLS = """
collect_list(i) | collect_set(s) | array_agg(st) | collect_list(xs) | collect_list(DISTINCT i)
collect_set(f) FILTER (WHERE i > 1) | first(i) | first(s, true) | first_value(xs) | last(st)
last_value(i) FILTER (WHERE s = 'x') | any_value(day) | max_by(s, i) | min_by(st, f)
max_by(id, i) FILTER (WHERE b) | mode(s) | mode() WITHIN GROUP (ORDER BY i) | mode(i, true)
listagg(s) | listagg(s, ',') WITHIN GROUP (ORDER BY s DESC) | string_agg(DISTINCT s, '-')
string_agg(s, ';') WITHIN GROUP (ORDER BY id) FILTER (WHERE i IS NOT NULL)
percentile(i, 0.3) | percentile(i, array(0.1, 0.9)) | percentile(f, 0.5) | percentile(i, 0.5, 2)
percentile_cont(0.25) WITHIN GROUP (ORDER BY d) | median(i) | median(f)
percentile_cont(0.5) WITHIN GROUP (ORDER BY i DESC) | percentile_disc(0.5) WITHIN GROUP (ORDER BY i)
approx_percentile(i, 0.5) | percentile_approx(f, array(0.5), 100) | approx_count_distinct(s)
approx_count_distinct(i, 0.1) | approx_count_distinct(f) FILTER (WHERE b IS NULL)
approx_top_k(s) | approx_top_k(i, 2, 10) | approx_top_k_accumulate(s)
bit_and(i) | bit_or(l) | bit_xor(DISTINCT i) | bit_or(i) FILTER (WHERE s > '')
bitmap_or_agg(bin) | bitmap_and_agg(bin) | bitmap_construct_agg(bitmap_bit_position(i))
count_min_sketch(s, 0.5d, 0.5d, 1) | histogram_numeric(i, 3) | hll_sketch_agg(s)
hll_sketch_agg(i, 10) | theta_sketch_agg(l) | kll_sketch_agg_bigint(l) | kll_sketch_agg_double(f)
kll_sketch_agg_float(float(f)) | tuple_sketch_agg_double(s, f) | tuple_sketch_agg_integer(s, i)
kurtosis(i) | skewness(f) | regr_avgx(i, l) | regr_avgy(f, i) | regr_count(i, l)
regr_count(DISTINCT i, l) | regr_intercept(i, l) | regr_r2(i, f) | regr_slope(i, l)
regr_sxx(i, l) | regr_sxy(i, l) | regr_syy(i, l) | corr(i, l) | stddev(d) | try_avg(i) | try_sum(l)
every(b) | some(b) | any(b) | bool_or(DISTINCT b) | count(DISTINCT 1) | count_if(b)
schema_of_variant_agg(parse_json('1')) | vector_sum(array(float(i))) | vector_avg(array(float(i)))
sum(i) FILTER (WHERE i > 1) | avg(DISTINCT i) | sum(size(xs)) | count(soundex(s))
"""
"""Calls of aggregates; the table's columns are their arguments."""


def calls() -> list[str]:
    """The calls, one by one."""
    return [call.strip() for line in CALLS.strip().splitlines() for call in line.split(" | ")]


def _of(name: str) -> list[str]:
    return [call for call in calls() if call.startswith(f"{name}(")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("aggregates")
    pq.write_table(TABLE, path / "t.parquet")
    pq.write_table(TABLE.slice(0, 0), path / "none.parquet")
    return path


def session_of(spark: SparkSession, folder: Path, *, ansi: bool) -> SparkSession:
    """A session with the tables as views."""
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    for name in ("t", "none"):
        session.read.parquet(str(folder / f"{name}.parquet")).createOrReplaceTempView(name)
    return session


def groups() -> dict[Any, list[int]]:
    """The rows of the table by their key."""
    found = defaultdict(list)
    for number, key in enumerate(_KEYS):
        found[key].append(number)
    return dict(found)


def by_target(rows: Any, count: int) -> list[list[int]]:
    """The numbers of the rows that answer each target."""
    found: list[list[int]] = [[] for _ in range(count)]
    for target, number in zip(
        rows.column("target").to_pylist(), rows.column("row").to_pylist(), strict=True
    ):
        found[target].append(number)
    return [sorted(each) for each in found]


def queries() -> list[list[str]]:
    """The calls, in three queries; Spark cannot rewrite DISTINCT beside an ordered listagg."""
    distinct = [call for call in calls() if "DISTINCT" in call]
    others = [call for call in calls() if call not in distinct]
    return [distinct, others[::2], others[1::2]]


@pytest.mark.parametrize("ansi", [True, False])
def test_groups_whose_aggregates_are_output(
    spark: SparkSession, folder: Path, tmp_path: Path, ansi: bool
) -> None:
    """Nothing needs to be stored: the key says it all."""
    session = session_of(spark, folder, ansi=ansi)
    expected = groups()
    for some in queries():
        listed = ", ".join(f"{call} AS c{number}" for number, call in enumerate(some))
        trace = predtrace.trace(session.sql(f"SELECT k, {listed} FROM t GROUP BY k"))
        job = trace.run(store=tmp_path)
        answer = job.lineage([{"k": key} for key in expected])
        assert answer.label == "precise"
        assert by_target(answer["t"].row_ids(), len(expected)) == [*expected.values()]


@pytest.mark.parametrize("keep", ["inline", "late"])
def test_groups_known_only_by_their_aggregates(
    spark: SparkSession, folder: Path, tmp_path: Path, keep: str
) -> None:
    """The output counts the groups that have the same values; what they have is stored."""
    session = session_of(spark, folder, ansi=keep == "late")
    for some in queries():
        listed = ", ".join(f"to_json(struct({call} AS v)) AS c{n}" for n, call in enumerate(some))
        names = ", ".join(f"c{n}" for n in range(len(some)))
        inner = f"SELECT k, {listed} FROM t GROUP BY k"
        values = f"SELECT concat_ws('|', {names}) AS v FROM ({inner})"
        frame = session.sql(f"SELECT v, count(*) AS n FROM ({values}) WHERE v > '' GROUP BY v")
        job = predtrace.trace(frame).run(store=tmp_path, keep=keep)
        targets = job.output.collect()
        assert sum(row["n"] for row in targets) == len(groups())
        answer = job.lineage([tuple(row) for row in targets])
        assert answer.label == "precise"
        found = by_target(answer["t"].row_ids(), len(targets))
        assert sorted(found) == sorted(groups().values()), some


def _calls_of(frame: Any) -> dict[str, AggregateCall]:
    """The aggregates of a query by the names of their columns."""
    (group,) = (o for o in read_pipeline(frame).graph.operators() if isinstance(o, GroupBy))
    return {aggregation.column.name: aggregation.call for aggregation in group.aggregations}


def _read_calls(session: SparkSession) -> dict[str, AggregateCall]:
    """The calls as they are read. One that is read like another is left out."""
    read = {}
    for some in queries():
        listed = ", ".join(f"{call} AS c{number}" for number, call in enumerate(some))
        found = _calls_of(session.sql(f"SELECT k, {listed} FROM t GROUP BY k"))
        read |= {some[int(name[1:])]: call for name, call in found.items()}
    return read


def test_repeated_aggregates_do_not_depend_on_the_order(spark: SparkSession, folder: Path) -> None:
    """What is said to repeat gives the same values, however the rows are ordered and cut up."""
    session = session_of(spark, folder, ansi=True)
    repeated = [c for c, made in _read_calls(session).items() if made.repeats is Repeats.ALWAYS]
    listed = [f"to_json(struct({call}))" for call in repeated]
    values = []
    for order, size in (("id", 1), ("id DESC", 3), ("hash(id)", 11), ("k, id DESC", 2)):
        shuffled = session.sql(f"SELECT /*+ REPARTITION({size}) */ * FROM t SORT BY {order}")
        shuffled.createOrReplaceTempView("shuffled")
        found = session.sql(f"SELECT k, {', '.join(listed)} FROM shuffled GROUP BY k")
        values.append({row[0]: tuple(row[1:]) for row in found.collect()})
    assert all(each == values[0] for each in values)
    assert len(repeated) >= 24
    assert {"approx_count_distinct(s)", "bit_or(l)", "count_min_sketch(s, 0.5d, 0.5d, 1)"} <= {
        *repeated
    }


def test_values_that_the_order_decides_are_not_computed_again(
    spark: SparkSession, folder: Path, tmp_path: Path
) -> None:
    """Without stored results: the whole table, and an error for what would need the value."""
    session = session_of(spark, folder, ansi=True)
    frame = session.sql(
        "SELECT n FROM (SELECT size(collect_set(s)) AS n FROM t GROUP BY k) WHERE n > 1"
    )
    job = predtrace.trace(frame).run(store=tmp_path, keep="none")
    answer = job.lineage((2,), mode="refined")
    assert answer.label == "superset"
    assert "GroupBy" in answer.explain()
    assert {*answer["t"].row_ids().column("row").to_pylist()} >= {0, 1, 2, 4, 8}
    with pytest.raises(NonDeterministicError, match=r"GroupBy.*keep='inline'"):
        job.lineage((2,), mode="replayed")


@pytest.mark.parametrize("ansi", [True, False])
def test_carried_aggregates_are_computed_again_by_spark(
    spark: SparkSession, folder: Path, tmp_path: Path, ansi: bool
) -> None:
    session = session_of(spark, folder, ansi=ansi)
    some = {
        call
        for call, made in _read_calls(session).items()
        if carried(made.function) is not None and made.repeats is Repeats.ALWAYS
    }
    assert {call.partition("(")[0] for call in some} >= {
        "approx_count_distinct", "bit_and", "bit_or", "bit_xor", "bitmap_construct_agg",
        "bitmap_and_agg", "bitmap_or_agg", "count_min_sketch", "percentile",
    }  # fmt: skip
    listed = ", ".join(f"to_json(struct({call})) AS c{n}" for n, call in enumerate(sorted(some)))
    names = ", ".join(f"c{n}" for n in range(len(some)))
    frame = session.sql(
        f"SELECT concat_ws('|', {names}) AS v FROM (SELECT {listed} FROM t GROUP BY k)"
    )
    job = predtrace.trace(frame).run(store=tmp_path, keep="none")
    targets = job.output.collect()
    answer = job.lineage([tuple(row) for row in targets], mode="replayed")
    assert answer.label == "precise"
    found = by_target(answer["t"].row_ids(), len(targets))
    assert sorted(found) == sorted(groups().values())


@pytest.mark.parametrize("source", ["t", "none"])
def test_one_group_of_all_rows(
    spark: SparkSession, folder: Path, tmp_path: Path, source: str
) -> None:
    session = session_of(spark, folder, ansi=True)
    for some in queries():
        listed = ", ".join(f"to_json(struct({call})) AS c{n}" for n, call in enumerate(some))
        inner = f"SELECT {listed} FROM {source}"
        job = predtrace.trace(session.sql(f"SELECT * FROM ({inner}) WHERE c0 > ''")).run(
            store=tmp_path
        )
        answer = job.lineage([tuple(row) for row in job.output.collect()])
        assert answer.label == "precise"
        (found,) = by_target(answer[source].row_ids(), 1)
        assert found == list(range(_SIZE if source == "t" else 0))


def test_the_least_of_what_only_the_run_knows(
    spark: SparkSession, folder: Path, tmp_path: Path
) -> None:
    """Its argument is stored, so that the rows that attain it are known."""
    session = session_of(spark, folder, ansi=True)
    least = "min(arrays_zip(array(i), array(id)))"
    job = predtrace.trace(session.sql(f"SELECT k, {least} AS m FROM t GROUP BY k")).run(tmp_path)
    keys = list(groups())
    answer = job.lineage([{"k": key} for key in keys])
    assert answer.label == "precise"
    order = TABLE.column("i").to_pylist()
    first = [
        min(groups()[key], key=lambda row: (order[row] is not None, order[row] or 0, row))
        for key in keys
    ]
    assert by_target(answer["t"].row_ids(), len(keys)) == [[row] for row in first]


def test_arguments_that_cannot_be_read(spark: SparkSession, folder: Path) -> None:
    session = session_of(spark, folder, ansi=True)
    frame = session.sql("SELECT k, count(arrays_zip(xs, array(id))) FROM t GROUP BY k")
    (made,) = _calls_of(frame).values()
    assert opaque(made.function) is not None
    assert [render(arg) for arg in made.args] == ["xs", "id"]


def test_functions_of_users(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    """Two calls of one function stay two, with all columns that they read."""
    from pyspark.sql.functions import pandas_udf

    @pandas_udf("double")  # type: ignore[call-overload, untyped-decorator]
    def spread(values: pd.Series, more: pd.Series) -> float:
        return float(values.max() - values.min() + more.count())

    session = session_of(spark, folder, ansi=True)
    table = session.table("t")
    frame = table.groupBy("k").agg(spread("id", "i").alias("a"), spread("i", "id").alias("b"))
    made = _calls_of(frame).values()
    assert len({call.function for call in made}) == 2
    assert [[render(arg) for arg in call.args] for call in made] == [["id", "i"], ["i", "id"]]
    job = predtrace.trace(frame.where("a > 3").select("a", "b")).run(store=tmp_path)
    targets = [tuple(row) for row in job.output.collect()]
    answer = job.lineage(targets)
    assert answer.label == "precise"
    expected: dict[tuple[float, float], list[int]] = defaultdict(list)
    for rows in groups().values():
        if _spread(rows, "id", "i") > 3:
            expected[_spread(rows, "id", "i"), _spread(rows, "i", "id")] += rows
    found = by_target(answer["t"].row_ids(), len(targets))
    assert dict(zip(targets, found, strict=True)) == {
        values: sorted(rows) for values, rows in expected.items()
    }
    assert len(expected) > 1


def _spread(rows: Sequence[int], one: str, other: str) -> float:
    values, more = (
        [value for row in rows if (value := TABLE.column(name)[row].as_py()) is not None]
        for name in (one, other)
    )
    return max(values) - min(values) + len(more)


def test_every_aggregate_of_spark_is_in_the_tables() -> None:
    known = {call.partition("(")[0] for call in calls()}
    rows = [row for row in builtins().values() if row.kind == "aggregate"]
    made_by = {row.name: MADE_BY.get(row.expression, row.expression) for row in rows}
    without = {name for name in made_by.keys() - COMBINES.keys() if made_by[name] not in AGGREGATE}
    assert without == {"grouping", "grouping_id", "measure"}
    assert COMBINES.keys() <= {row.name for row in rows}
    assert len(known & COMBINES.keys()) > 45
