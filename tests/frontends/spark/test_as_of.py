"""As-of joins: the outer row and the inner rows equal to the one it was given, by plain Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import predtrace
from predtrace.environment.sessions import as_active
from predtrace.frontends.spark.building import Builder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Row = dict[str, Any]
TRADES: list[Row] = [
    {"id": number, "k": k, "at": at}
    for number, (k, at) in enumerate(
        [(1, 5), (1, 5), (1, 2), (2, 9), (2, 1), (None, 5), (3, None), (4, 7), (1, 12)]
    )
] + [{"id": 0, "k": 1, "at": 5}]
"""The first row stands there twice."""
QUOTES: list[Row] = [
    {"q": q, "j": k, "t": t}
    for q, k, t in [
        (0, 1, 4), (1, 1, 5), (2, 1, 5), (3, 1, 8), (4, 2, 3), (5, 2, 10), (6, None, 5),
        (7, 2, None), (8, 3, 1), (9, 4, 20), (0, 1, 4),
    ]
]  # fmt: skip


@pytest.fixture(scope="module")
def session(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    own = spark.newSession()
    folder = tmp_path_factory.mktemp("asof")
    for name, rows in {"trades": TRADES, "quotes": QUOTES}.items():
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{name}.parquet")
        own.read.parquet(str(folder / f"{name}.parquet")).createOrReplaceTempView(name)
    return own


def joined(session: SparkSession, how: str, direction: str, most: int | None) -> DataFrame:
    from pyspark.sql import functions as F

    trades, quotes = session.table("trades"), session.table("quotes")
    # Spark makes the distance in the mode of the active session.
    with as_active(session):
        return trades._joinAsOf(
            quotes,
            leftAsOfColumn=trades.at,
            rightAsOfColumn=quotes.t,
            on=trades.k == quotes.j,
            how=how,
            tolerance=None if most is None else F.lit(most),
            direction=direction,
        )


ALLOWED: dict[str, Callable[[int, int], bool]] = {
    "backward": lambda at, t: t <= at,
    "forward": lambda at, t: t >= at,
    "nearest": lambda at, t: True,
}


def nearest(trade: Row, direction: str, most: int | None) -> list[Row]:
    """The candidates at the smallest distance."""
    if trade["at"] is None:
        return []
    near = [
        (abs(quote["t"] - trade["at"]), quote)
        for quote in QUOTES
        if quote["j"] is not None and quote["j"] == trade["k"] and quote["t"] is not None
        if ALLOWED[direction](trade["at"], quote["t"])
        if most is None or abs(quote["t"] - trade["at"]) <= most
    ]
    least = min((distance for distance, _ in near), default=None)
    return [quote for distance, quote in near if distance == least]


def rows(answer: Any, table: str) -> list[Row]:
    found: list[Row] = answer[table].to_arrow().to_pylist()
    return found


CASES = [
    ("left", "backward", None, "true"),
    ("inner", "nearest", None, "false"),
    ("left", "forward", 4, "true"),
    ("left", "nearest", 2, "false"),
]


def check(frame: DataFrame, store: Path, direction: str, how: str, most: int | None) -> None:
    """Each outer row is given a nearest row, and both are lineage, with rows equal to them."""
    job = predtrace.trace(frame).run(store=str(store))
    outputs = [row.asDict() for row in job.output.collect()]
    given = [trade for trade in TRADES if how == "left" or nearest(trade, direction, most)]
    assert sorted(row["id"] for row in outputs) == sorted(trade["id"] for trade in given)
    for row in outputs:
        trade = {name: row[name] for name in ("id", "k", "at")}
        quote = {name: row[name] for name in ("q", "j", "t")}
        candidates = nearest(trade, direction, most)
        assert (quote in candidates) if candidates else quote["q"] is None
        answer = job.lineage(row, mode="stored")
        assert answer.label == "precise"
        assert rows(answer, "trades") == [each for each in TRADES if each == trade]
        assert rows(answer, "quotes") == [each for each in QUOTES if each == quote]


@pytest.mark.parametrize(("how", "direction", "most", "ansi"), CASES)
def test_nearest_rows(
    how: str, direction: str, most: int | None, ansi: str, session: SparkSession, tmp_path: Path
) -> None:
    session.conf.set("spark.sql.ansi.enabled", ansi)
    check(joined(session, how, direction, most), tmp_path, direction, how, most)


def test_grouped_above(session: SparkSession, tmp_path: Path) -> None:
    """Only some columns are read above: the run's own choice among ties is kept."""
    frame = joined(session, "left", "backward", None).groupBy("q").count()
    job = predtrace.trace(frame).run(store=str(tmp_path))
    for row in job.output.collect():
        answer = job.lineage(row.asDict(), mode="stored")
        trades, quotes = rows(answer, "trades"), rows(answer, "quotes")
        assert (answer.label, len(trades)) == ("precise", row["count"])
        assert quotes == [quote for quote in QUOTES if quote["q"] == row["q"]]
        assert all((not quotes) or (quotes[0] in nearest(t, "backward", None)) for t in trades)


def farthest(ascending: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, key: ascending(self, self.call("UnaryMinus", key, False))


def one_of_all(window: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, named, keys, order, plan: window(self, named, [], order, plan)


MUTANTS = {"ascending": farthest, "window": one_of_all}


@pytest.mark.parametrize("attribute", MUTANTS)
def test_mutants(
    attribute: str, session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Builder, attribute, MUTANTS[attribute](getattr(Builder, attribute)))
    with pytest.raises(AssertionError):
        check(joined(session, "left", "backward", None), tmp_path, "backward", "left", None)
