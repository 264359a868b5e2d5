"""Joins on columns that only a join further down makes equal to those that the target pins.

The truth is a nested loop over the rows: which of them meet, and in which output row.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import predtrace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row: TypeAlias = dict[str, Any]
Derivation: TypeAlias = tuple[tuple[Any, ...], tuple[int | None, ...]]
"""An output row's key, and the row of each scan that it is made of (None: a padded side)."""

TABLES: dict[str, list[Row]] = {
    "r": [
        {"x": x, "k": k, "n": n}
        for n, (x, k) in enumerate([(1, 1), (1, 1), (1, 2), (2, 1), (None, 1), (3, 7), (2, 2)])
    ],
    "s": [
        {"x": x, "k": k, "n": 10 * n}
        for n, (x, k) in enumerate([(1, 1), (1, 2), (2, 1), (2, 1), (None, 1), (3, 3), (2, 2)])
    ],
    "u": [
        {"x": x, "k": k, "n": 100 * n}
        for n, (x, k) in enumerate([(1, 1), (1, 2), (1, 2), (2, 1), (None, 2), (3, 7), (2, 2)])
    ],
    "v": [{"x": x, "g": g} for x, g in [(1, "p"), (2, "p"), (2, "q"), (None, "p"), (3, "q")]],
    "z": [{"x": 0.0}, {"x": -0.0}, {"x": 1.0}, {"x": None}],
    "zz": [{"text": "-0.0"}, {"text": "1.0"}, {"text": "0.0"}, {"text": None}],
}


def equal(*values: Any) -> bool:
    """SQL's ``=``, all along."""
    return None not in values and len(set(values)) == 1


def loop(*tables: str) -> Iterator[tuple[tuple[int, ...], list[Row]]]:
    """Every combination of rows, by number and by value."""
    for pairs in itertools.product(*(enumerate(TABLES[table]) for table in tables)):
        yield tuple(number for number, _ in pairs), [row for _, row in pairs]


def chained() -> Iterator[Derivation]:
    for rows, (r, s, u, v) in loop("r", "s", "u", "v"):
        if equal(r["x"], s["x"], u["x"], v["x"]) and equal(r["k"], s["k"], u["k"]):
            yield (v["g"],), rows


def compared() -> Iterator[Derivation]:
    for rows, (r, s, u) in loop("r", "s", "u"):
        if equal(r["x"], s["x"], u["x"]) and s["n"] + u["n"] > 10 * r["n"]:
            yield (r["x"],), rows


def below_padding() -> Iterator[Derivation]:
    for (i, j, k), (r, s, u) in loop("r", "s", "u"):
        if equal(s["x"], u["x"]) and equal(r["k"], s["k"]):
            for m, v in enumerate(TABLES["v"]):
                if equal(v["x"], u["x"]):
                    yield (r["n"], s["x"]), (i, j, k, m)


def padded() -> Iterator[Derivation]:
    for number, r in enumerate(TABLES["r"]):
        partners = [i for i, s in enumerate(TABLES["s"]) if equal(r["x"], s["x"], r["k"], s["k"])]
        for partner in partners or [None]:
            x = None if partner is None else TABLES["s"][partner]["x"]
            for i, u in enumerate(TABLES["u"]):
                if x == u["x"]:
                    yield (r["k"],), (number, partner, i)


def told_apart() -> Iterator[Derivation]:
    for rows, (one, other, t) in loop("z", "z", "zz"):
        if equal(one["x"], other["x"]) and repr(other["x"]) == t["text"]:
            yield (one["x"],), rows


QUERIES: dict[str, tuple[str, Callable[[], Iterator[Derivation]]]] = {
    "a group of joined rows": (
        "SELECT v.g, count(*) AS n FROM r JOIN s ON r.x = s.x AND r.k = s.k"
        " JOIN u ON s.x = u.x AND s.k = u.k JOIN v ON v.x = r.x GROUP BY v.g",
        chained,
    ),
    "the target's own column": (
        "SELECT r.x, count(*) AS n FROM r JOIN s ON r.x = s.x"
        " JOIN u ON s.x = u.x AND s.n + u.n > 10 * r.n GROUP BY r.x",
        compared,
    ),
    "below an outer join": (
        "SELECT r.n, j.sx FROM r LEFT JOIN"
        " (SELECT s.x AS sx, u.x AS ux, s.k FROM s JOIN u ON s.x = u.x) j ON r.k = j.k"
        " JOIN v ON v.x = j.ux",
        below_padding,
    ),
    "equal only without padding": (
        "SELECT r.k, count(*) AS n FROM r LEFT JOIN s ON r.x = s.x AND r.k = s.k AND r.x = s.k"
        " JOIN u ON u.x <=> s.x GROUP BY r.k",
        padded,
    ),
    "equal, but of different texts": (
        "SELECT a.x, count(*) AS n FROM z a JOIN z b ON a.x = b.x"
        " JOIN zz ON CAST(b.x AS STRING) = zz.text GROUP BY a.x",
        told_apart,
    ),
}


def truth(derivations: Sequence[Derivation], key: tuple[Any, ...], scan: int) -> set[int]:
    """The rows of a scan that the output row is made of."""
    found = {rows[scan] for of, rows in derivations if of == key}
    return {row for row in found if row is not None}


@pytest.mark.parametrize("name", QUERIES)
def test_joins_on_equal_columns_are_precise(name: str, spark: SparkSession, tmp_path: Path) -> None:
    query, derive = QUERIES[name]
    for table, rows in TABLES.items():
        file = tmp_path / f"{table}.parquet"
        pq.write_table(pa.Table.from_pylist(rows), file)
        spark.read.parquet(str(file)).createOrReplaceTempView(table)
    derivations = list(derive())
    keys = list(dict.fromkeys(key for key, _ in derivations))
    job = predtrace.trace(spark.sql(query)).run(store=tmp_path / "store")
    width = len(keys[0])
    output = {tuple(row)[:width]: tuple(row) for row in job.output.collect()}
    assert output.keys() == set(keys)
    for mode in ("stored", "replayed"):
        answer = job.lineage([output[key] for key in keys], mode=mode, spark=spark)
        for scan, lineage in enumerate(answer.scans):
            ids = lineage.row_ids()
            pairs = zip(
                ids.column("target").to_pylist(), ids.column("row").to_pylist(), strict=True
            )
            assert set(pairs) == {
                (target, row)
                for target, key in enumerate(keys)
                for row in truth(derivations, key, scan)
            }, (mode, lineage.table)
            assert lineage.label == "precise", (mode, lineage.table, lineage.reason)
