"""Windows end to end: the lineage of every output row, in every mode, against plain Python."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import predtrace
from predtrace.errors import NonDeterministicError
from predtrace.frontends.spark import read_pipeline
from pushdown.operators import Window

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = dict[str, Any]
Partners = Callable[[Row], Sequence[Row]]
COLUMNS: dict[str, list[Any]] = {
    "id": list(range(14)),
    "p": [1, 1, 1, 1, 1, 2, 2, 2, 2, None, None, None, 3, 1],
    "k": [3, 1, 1, None, 5, 2, None, None, 4, 1, 1, 2, None, 3],
    "x": [7, None, 4, 9, 4, None, None, 3, 8, 2, 2, None, None, 9],
    "f": [0.0, -0.0, 1.5, None, float("nan"), 2.0, None, float("nan"), 0.0, 1.0, 1.0, -0.0, 5.0,
          float("nan")],
}  # fmt: skip
ROWS: list[Row] = [
    dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)
]


def place(value: Any, ascending: bool = True, nulls_first: bool = True) -> tuple[float, Any]:
    """The place of a value in a sort order; NaN is greatest, and 0.0 is -0.0."""
    if value is None:
        return (0 if nulls_first else 2), 0
    number = float("inf") if value != value else value + 0.0
    return 1, number if ascending else -number


def partition(row: Row) -> list[Row]:
    return [other for other in ROWS if other["p"] == row["p"]]


def before(key: str, *how: bool) -> Partners:
    return lambda row: [
        other for other in partition(row) if place(other[key], *how) < place(row[key], *how)
    ]


def up_to(key: str, *how: bool) -> Partners:
    return lambda row: [
        other for other in partition(row) if place(other[key], *how) <= place(row[key], *how)
    ]


def attaining(rows: Partners, pick: Callable[..., Any] = max) -> Partners:
    def find(row: Row) -> list[Row]:
        held = [other for other in rows(row) if other["x"] is not None]
        best = pick((other["x"] for other in held), default=None)
        return [other for other in held if other["x"] == best]

    return find


def near(row: Row) -> list[Row]:
    """RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING; NULLs are near to NULLs."""
    rows, k = partition(row), row["k"]
    if k is None:
        return [other for other in rows if other["k"] is None]
    return [other for other in rows if other["k"] is not None and k - 2 <= other["k"] <= k + 1]


def nothing(row: Row) -> list[Row]:
    return []


def several(*parts: Partners) -> Partners:
    return lambda row: list(itertools.chain(*(part(row) for part in parts)))


def shifted(by: int, column: str = "x", skip: bool = False) -> Partners:
    """The row that `lag` (or, below 0, `lead`) by `id` takes its value from."""

    def find(row: Row) -> list[Row]:
        rows = partition(row)
        others = rows[: rows.index(row)][::-1] if by > 0 else rows[rows.index(row) + 1 :]
        others = [other for other in others if not skip or other[column] is not None]
        return others[abs(by) - 1 : abs(by)]

    return find


def rows_from(low: int, high: int) -> Partners:
    """The rows of a frame of rows, in the order of `id`."""

    def find(row: Row) -> list[Row]:
        rows = partition(row)
        here = rows.index(row)
        return rows[max(here + low, 0) : max(here + high + 1, 0)]

    return find


def first_with_value(row: Row) -> list[Row]:
    """The row of the first `x` by `k` that is not NULL; no such rows tie in the view `u`."""
    held = [other for other in up_to("k")(row) if other["id"] in UNTIED]
    held = sorted((r for r in held if r["x"] is not None), key=lambda r: place(r["k"]))
    return held[:1]


UNTIED = (1, 3, 4, 5, 6, 8, 9, 11, 12, 13)
DOWN = (False, False)
CASES: dict[str, tuple[str, Partners]] = {
    "rank": ("SELECT id, p, k, rank() OVER (PARTITION BY p ORDER BY k) AS n FROM t", before("k")),
    "rank, its keys not in the output": (
        "SELECT id, dense_rank() OVER (PARTITION BY p ORDER BY k DESC) AS n FROM t",
        before("k", *DOWN),
    ),
    "rank by floats": (
        "SELECT id, rank() OVER (PARTITION BY p ORDER BY f NULLS LAST) AS n FROM t",
        before("f", True, False),
    ),
    "row_number by a key": (
        "SELECT id, row_number() OVER (PARTITION BY p ORDER BY id) AS n FROM t",
        before("id"),
    ),
    "shares of a partition": (
        "SELECT id, percent_rank() OVER w AS a, cume_dist() OVER w AS b FROM t WHERE p = 1 "
        "WINDOW w AS (PARTITION BY p ORDER BY k)",
        partition,
    ),
    "ntile": ("SELECT id, ntile(2) OVER (PARTITION BY p ORDER BY k, id) AS n FROM t", partition),
    "sum of a partition": ("SELECT id, sum(x) OVER (PARTITION BY p) AS s FROM t", partition),
    "running sum": ("SELECT id, sum(x) OVER (PARTITION BY p ORDER BY k) AS s FROM t", up_to("k")),
    "running max": (
        "SELECT id, max(x) OVER (PARTITION BY p ORDER BY k DESC) AS m FROM t",
        attaining(up_to("k", *DOWN)),
    ),
    "min of a partition": (
        "SELECT id, min(x) OVER (PARTITION BY p) AS m FROM t", attaining(partition, min)
    ),
    "max with a filter": (
        "SELECT id, max(x) FILTER (WHERE x > 3) OVER (PARTITION BY p) AS m FROM t", partition
    ),
    "values near": (
        "SELECT id, count(*) OVER (PARTITION BY p ORDER BY k RANGE BETWEEN 2 PRECEDING AND "
        "1 FOLLOWING) AS n FROM t",
        near,
    ),
    "lag": ("SELECT id, lag(x) OVER (PARTITION BY p ORDER BY id) AS v FROM t", shifted(1)),
    "lag by two, with a default": (
        "SELECT id, lag(x, 2, -1) OVER (PARTITION BY p ORDER BY id) AS v FROM t", shifted(2)
    ),
    "lead": ("SELECT id, lead(x) OVER (PARTITION BY p ORDER BY id) AS v FROM t", shifted(-1)),
    "lag by less than nothing": (
        "SELECT id, lag(x, -2) OVER (PARTITION BY p ORDER BY id) AS v FROM t", shifted(-2)
    ),
    "filled forward": (
        "SELECT id, lag(x) IGNORE NULLS OVER (PARTITION BY p ORDER BY id) AS v FROM t",
        shifted(1, skip=True),
    ),
    "the first value": (
        "SELECT id, first_value(x) IGNORE NULLS OVER (PARTITION BY p ORDER BY k) AS v FROM t "
        f"WHERE id IN {UNTIED}",
        first_with_value,
    ),
    "the last value of rows": (
        "SELECT id, last_value(x) OVER (PARTITION BY p ORDER BY id ROWS BETWEEN 2 PRECEDING AND "
        "1 FOLLOWING) AS v FROM t",
        lambda row: rows_from(-2, 1)(row)[-1:],
    ),
    "the second value": (
        "SELECT id, nth_value(x, 2) OVER (PARTITION BY p ORDER BY id) AS v FROM t",
        lambda row: rows_from(-20, 0)(row)[1:2],
    ),
    "a moving sum": (
        "SELECT id, sum(x) OVER (PARTITION BY p ORDER BY id ROWS BETWEEN 2 PRECEDING AND "
        "1 PRECEDING) AS s FROM t",
        rows_from(-2, -1),
    ),
    "a moving max": (
        "SELECT id, max(x) OVER (PARTITION BY p ORDER BY id DESC ROWS BETWEEN 1 PRECEDING AND "
        "CURRENT ROW) AS m FROM t",
        attaining(rows_from(0, 1)),
    ),
    "from no rows before": (
        "SELECT id, sum(x) OVER (PARTITION BY p ORDER BY id ROWS BETWEEN 0 PRECEDING AND "
        "1 FOLLOWING) AS s, count(x) OVER (PARTITION BY p ORDER BY id ROWS BETWEEN 0 FOLLOWING "
        "AND CURRENT ROW) AS n FROM t",
        rows_from(0, 1),
    ),
    "to no rows after": (
        "SELECT id, sum(x) OVER (PARTITION BY p ORDER BY id ROWS BETWEEN 1 PRECEDING AND "
        "0 FOLLOWING) AS s FROM t",
        rows_from(-1, 0),
    ),
    "rows and ranges": (
        "SELECT id, count(x) OVER (PARTITION BY p ORDER BY id ROWS BETWEEN CURRENT ROW AND "
        "1 FOLLOWING) AS n, rank() OVER (PARTITION BY p ORDER BY k) AS r FROM t",
        several(rows_from(0, 1), before("k")),
    ),
    "days near": (
        "SELECT id, count(*) OVER (PARTITION BY p ORDER BY date_add(DATE '2020-01-30', k) DESC "
        "RANGE BETWEEN INTERVAL '1' DAY PRECEDING AND INTERVAL '2' DAYS FOLLOWING) AS n FROM t "
        "WHERE p = 1",
        near,
    ),
    "two windows": (
        "SELECT id, rank() OVER (PARTITION BY p ORDER BY k) AS n, "
        "sum(x) OVER (ORDER BY id) AS s FROM t",
        several(before("k"), lambda row: ROWS[: row["id"] + 1]),
    ),
    "two windows, a filter between them": (
        "SELECT id, n, s FROM (SELECT id, x, rank() OVER (PARTITION BY p ORDER BY k) AS n, "
        "sum(k) OVER (PARTITION BY p, x) AS s FROM t) WHERE x = 9 OR x IS NULL",
        several(before("k"), lambda row: [r for r in partition(row) if r["x"] == row["x"]]),
    ),
    "the first rows": (
        "SELECT id FROM (SELECT *, rank() OVER (PARTITION BY p ORDER BY k DESC) AS n FROM t) "
        "WHERE n <= 2",
        nothing,
    ),
    "deduplicated": (
        "SELECT id, p, k, x, f FROM (SELECT *, row_number() OVER (PARTITION BY p ORDER BY k, id) "
        "AS n FROM t) WHERE n = 1",
        nothing,
    ),
    "the first rows, their rank shown": (
        "SELECT id, n FROM (SELECT *, rank() OVER (PARTITION BY p ORDER BY k) AS n FROM t) "
        "WHERE n <= 2",
        before("k"),
    ),
    "QUALIFY": (
        "SELECT id, sum(x) OVER w AS s FROM t QUALIFY rank() OVER w <= 2 "
        "WINDOW w AS (PARTITION BY p ORDER BY k)",
        up_to("k"),
    ),
    "read by nothing": (
        "SELECT id, p FROM (SELECT *, rank() OVER (PARTITION BY p ORDER BY k) AS n FROM t)",
        nothing,
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def session(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """A session with the table `t`."""
    own = spark.newSession()
    path = tmp_path_factory.mktemp("windows") / "t.parquet"
    types = {"p": pa.int32(), "k": pa.int32(), "x": pa.int32()}
    pq.write_table(
        pa.table({name: pa.array(column, types.get(name)) for name, column in COLUMNS.items()}),
        path,
    )
    own.read.parquet(str(path)).createOrReplaceTempView("t")
    return own


@pytest.mark.parametrize("name", CASES)
def test_lineage_of_every_row(name: str, session: SparkSession, tmp_path: Path) -> None:
    text, partners = CASES[name]
    job = predtrace.trace(session.sql(text)).run(store=str(tmp_path))
    job.build_index()
    outputs = [row.asDict() for row in session.sql(text).collect()]
    assert outputs
    asked = 0
    for mode, rows in {"stored": outputs, "replayed": outputs[:4], "indexed": outputs}.items():
        for row in rows:
            answer = job.lineage({"id": row["id"]}, mode=mode)
            own = ROWS[row["id"]]
            expected = {other["id"] for other in [own, *partners(own)]}
            found = set(answer["t"].row_ids().column("row").to_pylist())
            assert (answer.label, found) == ("precise", expected), (mode, row)
            asked += 1
    assert asked >= len(outputs) * 2


REFINED = (
    "SELECT id, p, k, rank() OVER (PARTITION BY p ORDER BY k) AS n, "
    "sum(x) OVER (PARTITION BY p ORDER BY k) AS s FROM t"
)


def test_keys_in_the_output_are_enough(session: SparkSession, tmp_path: Path) -> None:
    """Nothing is stored, and the sources alone give the answer."""
    job = predtrace.trace(session.sql(REFINED)).run(store=str(tmp_path))
    assert not job.record.plans[0].intermediates
    for row in session.sql(REFINED).collect():
        answer = job.lineage(row.asDict(), mode="refined")
        found = set(answer["t"].row_ids().column("row").to_pylist())
        expected = {other["id"] for other in up_to("k")(ROWS[row["id"]])}
        assert (answer.label, found) == ("precise", expected)


TIED = (
    "SELECT id, n FROM (SELECT *, row_number() OVER (PARTITION BY p ORDER BY k) AS n FROM t) "
    "WHERE n = 1"
)


def test_ties_at_the_cut_are_stored(session: SparkSession, tmp_path: Path) -> None:
    """The kept rows are the ones that this run kept; a replay refuses to choose again."""
    trace = predtrace.trace(session.sql(TIED))
    job = trace.run(store=str(tmp_path / "inline"))
    for row in job.output.collect():
        answer = job.lineage(row.asDict(), mode="stored")
        found = answer["t"].row_ids().column("row").to_pylist()
        assert (answer.label, found) == ("precise", [row["id"]])
    late = session.sql(TIED.replace("SELECT id, n", "SELECT p, n"))
    again = predtrace.trace(late).run(store=str(tmp_path / "late"), keep="late")
    with pytest.raises(NonDeterministicError, match=r"Window.*rows that tie"):
        again.lineage({"p": 1}, mode="replayed")["t"].count()


TIED_FRAMES = (
    "SELECT id, sum(CAST(shiftleft(1L, CAST(id AS INT)) AS DECIMAL(20))) OVER (PARTITION BY p "
    "ORDER BY k ROWS BETWEEN {} AND {}) AS s FROM t"
)
"""The bits of the sum tell which rows were in the frame."""


@pytest.mark.parametrize("ends", [("1 PRECEDING", "1 FOLLOWING"), ("2 PRECEDING", "1 PRECEDING")])
def test_frames_of_rows_that_tie(
    ends: tuple[str, str], session: SparkSession, tmp_path: Path
) -> None:
    """Which of the peers are in a frame is up to the run: its own positions are kept."""
    job = predtrace.trace(session.sql(TIED_FRAMES.format(*ends))).run(store=str(tmp_path))
    for row in job.output.collect():
        answer = job.lineage({"id": row["id"]}, mode="stored")
        found = set(answer["t"].row_ids().column("row").to_pylist())
        bits = int(row["s"] or 0)
        framed = {other["id"] for other in ROWS if bits >> other["id"] & 1}
        assert (answer.label, found) == ("precise", framed | {row["id"]})
    with pytest.raises(NonDeterministicError, match=r"Window.*rows that tie"):
        job.lineage({"id": 1}, mode="replayed")["t"].count()


def test_lag_among_peers(session: SparkSession, tmp_path: Path) -> None:
    """The row that gave the value, and its peers that hold it."""
    text = "SELECT id, lag(id % 2) OVER (PARTITION BY p ORDER BY k) AS v FROM t"
    job = predtrace.trace(session.sql(text)).run(store=str(tmp_path))
    outputs = job.output.collect()
    place_of = {row["id"]: number for number, row in enumerate(outputs)}
    assert len(place_of) == len(ROWS)
    asked = 0
    for row in outputs:
        own = ROWS[row["id"]]
        answer = job.lineage({"id": own["id"]}, mode="stored")
        found = set(answer["t"].row_ids().column("row").to_pylist()) - {own["id"]}
        assert answer.label == "precise"
        assert {ROWS[other]["id"] % 2 for other in found} == {row["v"]} - {None}
        assert len({ROWS[other]["k"] for other in found}) <= 1
        rows = [r for r in ROWS if r["id"] in found]
        for other in rows:
            key = (other["k"], row["v"])
            same = [r["id"] for r in partition(own) if (r["k"], r["id"] % 2) == key]
            assert found | {own["id"]} >= set(same)
        asked += bool(found)
    assert asked > len(ROWS) // 2


def test_windows_of_one_select_are_one_operator(session: SparkSession) -> None:
    text = "SELECT id, {} AS a, {} AS b, {} AS c FROM t".format(
        "sum(x) OVER (PARTITION BY p)", "rank() OVER (ORDER BY k)", "max(x) OVER (ORDER BY id)"
    )
    graph = read_pipeline(session.sql(text)).graph
    assert [len(o.functions) for o in graph.operators() if isinstance(o, Window)] == [3]
    nested = f"SELECT id, sum(a) OVER (ORDER BY b, id) AS d FROM ({text})"
    graph = read_pipeline(session.sql(nested)).graph
    assert [len(o.functions) for o in graph.operators() if isinstance(o, Window)] == [1, 2]
