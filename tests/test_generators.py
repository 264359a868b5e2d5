"""explode and its like: the rows behind each generated row.

The truth of a query is computed here in plain Python from the table's rows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import predtrace
from tests.byhand import check

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = dict[str, Any]
Truth = dict[tuple[Any, ...], dict[str, list[int]]]

ROWS: list[Row] = [
    {"id": 0, "k": "u", "xs": [1, 2, None], "fs": [0.0, math.nan], "m": [("a", 1)],
     "ps": [{"p": 1, "q": "x"}, None], "js": '{"f": 1, "g": "x"}'},
    {"id": 1, "k": "u", "xs": [], "fs": [-0.0], "m": [], "ps": [], "js": None},
    {"id": 2, "k": "v", "xs": None, "fs": None, "m": None, "ps": None, "js": '{"f": 2}'},
    {"id": 3, "k": "v", "xs": [2, 2], "fs": [1.5, 1.5], "m": [("a", 1), ("b", None)],
     "ps": [{"p": 1, "q": "x"}], "js": "no JSON"},
    {"id": 4, "k": None, "xs": [3], "fs": [math.nan], "m": [("b", 2)],
     "ps": [{"p": None, "q": "y"}], "js": '{"f": 1, "g": "x"}'},
    {"id": 5, "k": "u", "xs": [None], "fs": [None], "m": [("c", 3)],
     "ps": [{"p": 2, "q": None}], "js": '{"g": null}'},
]  # fmt: skip
SCHEMA = pa.schema(
    [
        ("id", pa.int32()),
        ("k", pa.string()),
        ("xs", pa.list_(pa.int32())),
        ("fs", pa.list_(pa.float64())),
        ("m", pa.map_(pa.string(), pa.int32())),
        ("ps", pa.list_(pa.struct([("p", pa.int32()), ("q", pa.string())]))),
        ("js", pa.string()),
    ]
)


def truth(
    made: Callable[[Row], Iterable[tuple[Any, ...]]], kept: Callable[..., bool] = lambda *_: True
) -> Truth:
    """What each row makes, with the ids of the rows that make it."""
    found: Truth = {}
    for row in ROWS:
        for values in made(row):
            if kept(*values):
                ids = found.setdefault(values, {"t": []})["t"]
                ids += [] if row["id"] in ids else [row["id"]]
    return found


def items(row: Row, column: str) -> list[Any]:
    return row[column] or []


def placed(row: Row) -> Iterator[tuple[Any, ...]]:
    yield from ((row["k"], n, x) for n, x in enumerate(items(row, "xs")))
    if not row["xs"]:
        yield (row["k"], None, None)


def fields(row: Row) -> Iterator[tuple[Any, ...]]:
    for item in items(row, "ps"):
        yield (row["k"], item and item["p"], item and item["q"])


def parsed(row: Row) -> Iterator[tuple[Any, ...]]:
    try:
        found = json.loads(row["js"] or "")
    except ValueError:
        found = {}
    shown = (None if found.get(name) is None else str(found[name]) for name in "fg")
    yield (row["k"], *shown)


QUERIES: dict[str, tuple[str, Truth, tuple[str, ...]]] = {
    "explode": (
        "SELECT k, e FROM t LATERAL VIEW explode(xs) AS e",
        truth(lambda row: ((row["k"], x) for x in items(row, "xs"))),
        ("duckdb", "spark"),
    ),
    "explode in SELECT, beside its array": (
        "SELECT id, explode(xs) AS e, k FROM t",
        truth(lambda row: ((row["id"], x, row["k"]) for x in items(row, "xs"))),
        ("duckdb",),
    ),
    "outer, with positions": (
        "SELECT k, pos, col FROM t LATERAL VIEW OUTER posexplode(xs) AS pos, col",
        truth(placed),
        ("duckdb", "spark"),
    ),
    "the same as a function": (
        "SELECT k, posexplode_outer(xs) FROM t",
        truth(placed),
        ("duckdb",),
    ),
    "a condition that is no equality": (
        "SELECT k FROM t LATERAL VIEW explode(xs) AS e WHERE e < 3 OR e IS NULL",
        truth(
            lambda row: ((row["k"],) for x in items(row, "xs") if x is None or x < 3),
        ),
        ("duckdb",),
    ),
    "entries of a map": (
        "SELECT a, b FROM t LATERAL VIEW OUTER explode(m) AS a, b",
        truth(lambda row: items(row, "m") or [(None, None)]),
        ("spark",),
    ),
    "fields of structs": (
        "SELECT k, p, q FROM t LATERAL VIEW inline(ps) AS p, q",
        truth(fields),
        ("duckdb",),
    ),
    "whole structs": (
        "SELECT id, s.q FROM t LATERAL VIEW explode(ps) AS s",
        truth(lambda row: ((row["id"], p and p["q"]) for p in items(row, "ps"))),
        ("duckdb",),
    ),
    "stack": (
        "SELECT k, stack(2, id, id + 1, NULL) FROM t",
        truth(
            lambda row: [(row["k"], row["id"], row["id"] + 1), (row["k"], None, None)],
        ),
        ("duckdb",),
    ),
    "groups of elements": (
        "SELECT e, count(*) AS n FROM t LATERAL VIEW explode(xs) AS e GROUP BY e",
        {
            (1, 1): {"t": [0]},
            (2, 3): {"t": [0, 3]},
            (3, 1): {"t": [4]},
            (None, 2): {"t": [0, 5]},
        },
        ("duckdb",),
    ),
    "elements joined with rows": (
        "SELECT e, o.k FROM (SELECT explode(xs) AS e FROM t) JOIN t AS o ON o.id = e",
        {
            (1, "u"): {"t": [0], "t2": [1]},
            (2, "v"): {"t": [0, 3], "t2": [2]},
            (3, "v"): {"t": [4], "t2": [3]},
        },
        ("duckdb",),
    ),
    "two generators": (
        "SELECT e, a FROM t LATERAL VIEW explode(xs) AS e LATERAL VIEW OUTER explode(fs) AS a "
        "WHERE id <> 0",
        truth(
            lambda row: (
                (e, a) for e in items(row, "xs") for a in items(row, "fs") if row["id"] != 0
            )
        ),
        ("duckdb",),
    ),
    "one array twice": (
        "SELECT a, b FROM t LATERAL VIEW explode(xs) AS a LATERAL VIEW explode(xs) AS b",
        truth(lambda row: ((a, b) for a in items(row, "xs") for b in items(row, "xs"))),
        ("duckdb",),
    ),
    "arrays of an aggregate's input": (
        "SELECT count(e) AS n FROM t LATERAL VIEW OUTER explode(xs) AS e",
        {(5,): {"t": [0, 1, 2, 3, 4, 5]}},
        ("duckdb",),
    ),
    "JSON by json_tuple": (
        "SELECT k, f, g FROM t LATERAL VIEW json_tuple(js, 'f', 'g') AS f, g",
        truth(parsed),
        (),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def session(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    own = spark.newSession()
    path = tmp_path_factory.mktemp("generators") / "t.parquet"
    pq.write_table(pa.Table.from_pylist(ROWS, SCHEMA), path)
    own.read.parquet(str(path)).createOrReplaceTempView("t")
    return own


@pytest.mark.parametrize("name", [name for name, (_, _, engines) in QUERIES.items() if engines])
def test_lineage(session: SparkSession, tmp_path: Path, name: str) -> None:
    query, expected, engines = QUERIES[name]
    check(session.sql(query), expected, tmp_path, engines)


@pytest.mark.parametrize("mode", ["stored", "replayed", "indexed"])
def test_an_opaque_generator(session: SparkSession, tmp_path: Path, mode: str) -> None:
    """Its output is stored, with the argument that decides its rows."""
    query, expected, _ = QUERIES["JSON by json_tuple"]
    job = predtrace.trace(session.sql(query)).run(store=tmp_path)
    job.build_index()
    answer = job.lineage(list(expected), mode=mode, engine="auto", spark=session)
    assert answer.label == "precise"
    rows = answer["t"].to_arrow(columns=["id"])
    found: dict[int, set[int]] = {}
    for target, id_ in zip(rows["target"].to_pylist(), rows["id"].to_pylist(), strict=True):
        found.setdefault(target, set()).add(id_)
    assert found == {place: {*ids["t"]} for place, ids in enumerate(expected.values())}


def test_elements_that_are_one_value(session: SparkSession, tmp_path: Path) -> None:
    """NaN equals itself, and 0.0 equals -0.0, as elements too."""
    query = "SELECT DISTINCT e FROM t LATERAL VIEW explode(fs) AS e"
    expected = {(0.0,): [0, 1], (math.nan,): [0, 4], (1.5,): [3], (None,): [5]}
    check(session.sql(query), {row: {"t": ids} for row, ids in expected.items()}, tmp_path)


def test_a_constant_array_without_a_source(session: SparkSession, tmp_path: Path) -> None:
    query = "SELECT k, col FROM explode(array(1, 2)) CROSS JOIN t"
    check(
        session.sql(query),
        truth(lambda row: ((row["k"], number) for number in (1, 2))),
        tmp_path,
    )


def test_a_replay_on_duckdb_of_what_only_spark_makes_is_refused(
    session: SparkSession, tmp_path: Path
) -> None:
    query, expected, _ = QUERIES["JSON by json_tuple"]
    job = predtrace.trace(session.sql(query)).run(store=tmp_path)
    with pytest.raises(predtrace.PredTraceError, match="json_tuple"):
        job.lineage(next(iter(expected)), mode="replayed", engine="duckdb").label  # noqa: B018
