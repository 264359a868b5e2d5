"""Questions about cells, asked of jobs that ran on Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import predtrace
from predtrace.errors import (
    ArrayLineageError,
    EngineError,
    PredTraceError,
    SourceError,
    TargetError,
)
from predtrace.handle import JobHandle
from predtrace.lineage.cell_rows import CellLineage
from tests.cells.rows import at, replaced
from tests.frontends.spark.arrays import ROWS, SCHEMA, Row, write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Run = Callable[[str], JobHandle]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cells")


@pytest.fixture(scope="module")
def run(spark: SparkSession, folder: Path) -> Iterator[Run]:
    """Records a query over the tables r and, with the same rows once more, twice."""
    spark.read.parquet(str(write(folder / "r"))).createOrReplaceTempView("r")
    spark.read.parquet(str(write(folder / "twice", ROWS + ROWS))).createOrReplaceTempView("twice")
    spark.read.parquet(str(folder / "r")).select("k", "s").write.csv(str(folder / "csv"))
    spark.read.csv(str(folder / "csv"), schema="k int, s string").createOrReplaceTempView("texts")
    yield lambda query: predtrace.trace(query, spark).record(folder / "store")
    for view in ("r", "twice", "texts"):
        spark.catalog.dropTempView(view)


def told(cells: CellLineage) -> dict[str, dict[int, list[Any]]]:
    """Per source column the positions by the number of the row; those of one axis as numbers."""
    return {
        f"{source.scan.table}{source.scan.occurrence}.{source.column}": {
            row: [at[0] if len(at) == 1 else at for at in positions]
            for (_, row), positions in source.positions().items()
        }
        for source in cells.sources
    }


CASES: dict[str, tuple[str, Row, Any, dict[str, dict[int, list[Any]]]]] = {
    "a computed column, filtered and limited": (
        "SELECT k, zip_with(e, b, (x, y) -> x + y) AS e FROM (SELECT k, b, reverse(a) AS e FROM r "
        "WHERE k < 3) ORDER BY k LIMIT 1",
        (1, [7.0, None, 4.0, None]), [0, 3], {"r1.a": {0: [0, 3]}, "r1.b": {0: [0]}},
    ),
    "both sides of a join": (
        "SELECT x.k, concat(x.b, filter(y.b, v -> v > x.k)) AS e FROM r x JOIN r y ON x.k = y.k",
        (1, [3, 1, 2, 3, 2]), [2, 3, -1],
        {"r1.k": {0: [()]}, "r1.b": {0: [2]}, "r2.b": {0: [0, 2]}},
    ),
    "the branches of a union, each with its own way": (
        "SELECT k, sort_array(b) AS e FROM r WHERE k = 1 UNION "
        "SELECT k, array(1, k + 1, c) FROM (SELECT k, 3 AS c FROM r) WHERE k = 1",
        (1, [1, 2, 3]), [1], {"r1.b": {0: [2]}, "r2.k": {0: [()]}},
    ),
    "rows that are equal in the output": (
        "SELECT DISTINCT k, array_distinct(b) AS e FROM twice",
        (5, [2]), None, {"twice1.b": {4: [0, 1, 2], 9: [0, 1, 2]}},
    ),
    "beside an aggregate of another table": (
        "SELECT r.k, transform(r.a, (x, i) -> x * r.f) AS e, m FROM r JOIN "
        "(SELECT k, max(f) AS m FROM r GROUP BY k) g ON r.k = g.k WHERE r.k IN (SELECT k FROM r)",
        (1, [2.0, 4.0, None, 8.0], 2.0), [1], {"r1.a": {0: [1]}, "r1.f": {0: [()]}},
    ),
    "padded by an outer join": (
        "SELECT x.k, coalesce(y.e, x.a) AS e FROM r x LEFT JOIN (SELECT k, reverse(a) AS e "
        "FROM r WHERE k > 1) y ON x.k = y.k",
        (1, [1.0, 2.0, None, 4.0]), [1], {"r1.a": {0: [1]}},
    ),
    "with a partner in an outer join": (
        "SELECT x.k, coalesce(y.e, x.a) AS e FROM r x LEFT JOIN (SELECT k, reverse(a) AS e "
        "FROM r WHERE k > 1) y ON x.k = y.k",
        (2, [3.0, 1.0, 3.0]), [0], {"r2.a": {1: [2]}},
    ),
    "arrays in arrays": (
        "SELECT k, reverse(n) AS e FROM r",
        (5, [[6, 7, 8], [], [4, 5]]), [(0, 1), (-1, 0)], {"r1.n": {4: [(0, 0), (2, 1)]}},
    ),
    "one element": (
        "SELECT k, a[k] AS e FROM r WHERE k = 1", (1, 2.0), None,
        {"r1.k": {0: [()]}, "r1.a": {0: [1]}},
    ),
    "no such element": ("SELECT k, get(a, 7) AS e FROM r", (1, None), [()], {}),
    "an empty array": ("SELECT k, reverse(a) AS e FROM r", (4, []), None, {}),
    "a NULL array": ("SELECT k, reverse(a) AS e FROM r", (3, None), None, {}),
    "a constant of one branch": (
        "SELECT 1 AS k, array(k, 7) AS e FROM r UNION ALL SELECT 2, array(8, 9) FROM r",
        (2, [8, 9]), None, {},
    ),
    "beside a scan of which no column is needed": (
        "SELECT 1 AS k, reverse(y.b) AS e FROM r x CROSS JOIN r y", (1, [2, 1, 3]), [0],
        {"r2.b": {0: [2]}},
    ),
    "constants": ("SELECT k, array(1, 2) AS e FROM r", (3, [1, 2]), None, {}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_cells(run: Run, case: str) -> None:
    query, target, positions, expected = CASES[case]
    cells = run(query).lineage(target).cells("e", positions)
    assert told(cells) == expected
    assert cells.label == "precise"
    assert not cells.reasons


SUPERSETS: dict[str, tuple[Row, set[str], str]] = {
    "SELECT k, max(array_distinct(b)) AS e FROM r GROUP BY k":
        ((1, [3, 1, 2]), {"r.b"}, "GroupBy: it makes one row of several"),
    "SELECT k, zip_with(b, c, (x, y) -> x + y) AS e FROM r CROSS JOIN (SELECT max(n) AS n FROM r) "
    "JOIN (SELECT k AS l, max(b) AS c FROM twice GROUP BY k) ON k = l":
        ((1, [6, 2, 4]), {"r.b", "twice.b"}, "GroupBy: it makes one row of several"),
    "SELECT k, b AS e FROM r INTERSECT SELECT k, b FROM twice":
        ((1, [3, 1, 2]), {"r.b", "twice.b"}, "Intersect: a row stands for equal rows of"),
    "SELECT x.k, y.b AS e FROM r x LEFT JOIN (SELECT k, b FROM r UNION ALL SELECT k, b FROM twice) "
    "y ON x.k = y.k":
        ((1, [3, 1, 2]), {"r.b", "twice.b"}, "an outer join pads what a union gives"),
}  # fmt: skip


@pytest.mark.parametrize("query", SUPERSETS)
def test_all_cells_count_where_rows_are_not_passed_on(run: Run, query: str) -> None:
    target, columns, reason = SUPERSETS[query]
    cells = run(query).lineage(target).cells("e", [0])
    assert cells.label == "superset"
    assert reason in cells.reasons[0]
    assert {f"{source.scan.table}.{source.column}" for source in cells.sources} == columns
    assert all(source.everything for source in cells.sources)


def test_all_cells_of_all_rows_are_not_listed(run: Run) -> None:
    lineage = run("SELECT max(b) AS e FROM twice GROUP BY k").lineage(([3, 1, 2],))
    (source,) = lineage.cells("e").sources
    with pytest.raises(PredTraceError, match=r"all cells of twice\.b count in all rows"):
        source.positions()
    rows = source.to_arrow().to_pylist()
    assert sorted(row["row"] for row in rows) == [0, 5]
    assert {row["position"] for row in rows} == {None}


def test_limits_whose_rows_look_like_others(run: Run) -> None:
    """The rows that the limit left out could have been kept: a superset."""
    lineage = run(
        "SELECT s, e FROM (SELECT k, 'x' AS s, slice(b, 1, 1) AS e FROM twice WHERE k = 1 "
        "ORDER BY k LIMIT 1)"
    ).lineage(("x", [3]))
    cells = lineage.cells("e")
    assert cells.label == "superset"
    assert "Limit" in cells.reasons[0]
    assert told(cells) == {"twice1.b": {0: [0], 5: [0]}}


def test_rows_of_a_sample(run: Run, spark: Any, tmp_path: Path) -> None:
    """A row of a sample is a row of its input; rows that were not drawn may look like it."""
    query = "SELECT k, reverse(b) AS e FROM twice TABLESAMPLE (100 PERCENT) WHERE k = 1"
    job = predtrace.trace(query, spark).run(tmp_path / "store")
    cells = job.lineage((1, [2, 1, 3])).cells("e", [0])
    assert cells.label == "superset"
    assert "Sample: its rows may be indistinguishable" in cells.reasons[0]
    assert told(cells) == {"twice1.b": {0: [2], 5: [2]}}


def test_functions_without_a_rule(run: Run) -> None:
    job = run(
        "SELECT k, transform(b, x -> element_at(b, 1) + try_element_at(b, 1 - x)) AS e "
        "FROM r WHERE k = 5"
    )
    cells = job.lineage((5, [4, 4, 4])).cells("e", [1])
    assert cells.label == "superset"
    assert "element_at in a function of elements" in cells.reasons[0]
    assert told(cells) == {"r1.b": {4: [0, 1, 2]}}


def test_what_cannot_be_asked(run: Run, folder: Path) -> None:
    job = run("SELECT k, a AS e, map(k, 2) AS m, s, s FROM r")
    lineage = job.lineage({"k": 2})
    for positions in ([3], [-4], [(0, 0)], [()]):
        with pytest.raises(ArrayLineageError, match=r"there is no cell|a position has"):
            lineage.cells("e", positions)
    for positions in ([0], [-1], [(0, 0)]):
        with pytest.raises(
            ArrayLineageError,
            match=r"k \(int\) has no cells at positions: cells are the elements of array columns "
            r"\(here: e\)",
        ):
            lineage.cells("k", positions)
    for column, problem in (("q", "no column q"), ("s", "2 columns s"), ("m", "m holds maps")):
        with pytest.raises(TargetError, match=problem):
            lineage.cells(column)
    with pytest.raises(PredTraceError, match="the answer is for 5"):
        job.lineage("k > 0").cells("e")
    with pytest.raises(EngineError, match="texts is csv, which has no row numbers"):
        run("SELECT split(s, '') AS e FROM texts WHERE k = 1").lineage({"e": ["x"]}).cells("e")
    with pytest.raises(PredTraceError, match=r"no cells of r\.b in the answer; it has r\[1\]\.a"):
        lineage.cells("e").source("r", "b")


def test_answers(run: Run, folder: Path) -> None:
    cells = (
        run("SELECT k, reverse(a) AS e FROM r q")
        .lineage((1, [4.0, None, 2.0, 1.0]))
        .cells("e", [0, 1])
    )
    source = cells.source("q", "a")
    assert source.to_arrow().to_pylist() == [
        {"file": str(folder / "r" / "part.parquet"), "row": 0, "position": [place]}
        for place in (2, 3)
    ]
    assert repr(cells) == "<CellLineage of e, precise: r[1].a>"
    assert repr(source) == "<SourceCells of r[1].a: 2>"


def test_sources_that_changed_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.read.parquet(str(write(tmp_path / "t")))
    trace = predtrace.trace(frame.selectExpr("k", "reverse(a) AS e"), spark)
    lineage = trace.record(tmp_path / "store").lineage((1, [4.0, None, 2.0, 1.0]))
    assert lineage.cells("e", [0]).label == "precise"
    write(tmp_path / "t", ROWS[:2])
    with pytest.raises(SourceError):
        lineage.cells("e")


PROGRAM = """
SELECT k, concat(transform(slice(reverse(a), 1, 3), x -> coalesce(x, 0) + f), array(f, a[0]),
                 zip_with(a, flatten(n), (x, y) -> coalesce(x, 0) + coalesce(y, 0))) AS e
FROM r WHERE k >= 0
"""


def test_changing_a_source_cell_changes_the_cells_that_came_from_it(
    run: Run, spark: SparkSession, folder: Path, tmp_path: Path
) -> None:
    """The whole pipeline runs again on Spark, once for all changed tables."""
    row: Row = (1, (1.0, 2.0, 8.0, 4.0), (3,), ((1, 2), (3,)), 2.0, "x")
    spark.read.parquet(str(write(folder / "one", [row]))).createOrReplaceTempView("one")
    job = run(PROGRAM.replace("FROM r", "FROM one"))
    sources = [("a", (n,)) for n in range(4)] + [("f", ())]
    sources += [("n", (0, 0)), ("n", (0, 1)), ("n", (1, 0))]
    changed = [row] + [_changed(row, n, *source) for n, source in enumerate(sources, 2)]
    spark.read.parquet(str(write(tmp_path / "all", changed))).createOrReplaceTempView("changed")
    after = {found.k: found.e for found in spark.sql(PROGRAM.replace("FROM r", "FROM changed"))
             .collect()}  # fmt: skip
    before = after[1]
    lineage = job.lineage((1, before))
    backward = [told(lineage.cells("e", [place])) for place in range(len(before))]
    for number, (column, cell) in enumerate(sources, 2):
        moved = [place for place, value in enumerate(after[number]) if value != before[place]]
        shown = cell[0] if len(cell) == 1 else cell
        assert moved == [
            place for place, behind in enumerate(backward)
            if shown in behind.get(f"one1.{column}", {}).get(0, [])
        ]  # fmt: skip


def _changed(row: Row, number: int, column: str, cell: tuple[int, ...]) -> Row:
    place = SCHEMA.names.index(column)
    new = replaced(row[place], cell, at(row[place], cell) + 100)
    return (number, *row[1:place], new, *row[place + 1 :])
