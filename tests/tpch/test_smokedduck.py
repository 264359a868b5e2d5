"""The adapter to SmokedDuck: what it makes of the wheel's answers, and of the wheel's absence."""

from __future__ import annotations

import datetime as dt
import os
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import predtrace
from predtrace.inference import infer
from pushdown.graph import OperatorGraph
from pushdown.operators import AggregateCall, Aggregation, Assignment, GroupBy, InnerJoin, Scan
from symbolic.expr import Column, call
from symbolic.types import INTEGER, LONG
from tests.reference import trace_graph
from tests.reference.jobs import store_job
from tpch.bench.engines.duckdb import DuckDBEngine
from tpch.bench.measure import Meter
from tpch.bench.systems import smokedduck
from tpch.bench.systems.base import Subject
from tpch.bench.systems.smokedduck import PYTHON, SmokedDuck
from tpch.bench.systems.smokedduck_child import Session
from tpch.errors import TpchError

A, B = Column(0, "a", INTEGER), Column(2, "b", INTEGER)
C, D = Column(3, "c", INTEGER), Column(4, "d", INTEGER)
COUNT = Aggregation(Column(5, "n", LONG), AggregateCall("count", (), LONG))
TABLES = {"l": [(number % 3, number) for number in range(9)], "r": [(3, 0), (4, 0), (8, 0)]}
QUERY = "SELECT a, count(*) AS n FROM l JOIN r ON b = c GROUP BY a"


def joined(right: str) -> OperatorGraph:
    return OperatorGraph(
        [
            Scan(id=1, table="l", occurrence=1, columns=(A, B)),
            Scan(id=2, table=right, occurrence=1 + (right == "l"), columns=(C, D)),
            InnerJoin(id=3, left=1, right=2, condition=call("eq", B, C)),
            GroupBy(id=4, input=3, keys=(Assignment(A, A),), aggregations=(COUNT,)),
        ],
        4,
    )


@pytest.fixture(params=["r"])
def subject(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Subject]:
    graph = joined(request.param)
    tables = {table: TABLES[table] for table in {"l", request.param}}
    reference = trace_graph(graph, tables, keep_outputs=True)
    store, job = store_job(tmp_path, graph, tables, [(infer(graph), reference)], files=2)
    monkeypatch.setattr(smokedduck, "read_query", lambda number: QUERY)
    with duckdb.connect() as connection:
        yield Subject(1, predtrace.open_job(str(store), job), DuckDBEngine(connection))


class Wheel:
    """A stand-in for the wheel, which answers by joins of the tables, in another order."""

    def __init__(self) -> None:
        self.duckdb_conn = duckdb.connect()
        self.executed: list[str | None] = []

    def execute(self, query: str, capture_lineage: str | None) -> Any:
        self.executed.append(capture_lineage)
        return self.duckdb_conn.sql(f"{query} ORDER BY a DESC")

    def backward(self, outputs: list[int]) -> Any:
        return self.duckdb_conn.sql(f"{_LINEAGE} WHERE out_index IN {tuple(outputs)}")

    def forward(self, table: str, rows: list[int]) -> Any:
        return self.duckdb_conn.sql(f"{_LINEAGE} WHERE {table} IN ({rows[0]})")


_LINEAGE = """SELECT * FROM (
    SELECT l.rowid AS l, r.rowid AS r, dense_rank() OVER (ORDER BY a DESC) - 1 AS out_index
    FROM l JOIN r ON b = c)"""


class Pipe:
    """A child without another interpreter."""

    def __init__(self) -> None:
        self.session = Session()

    def ask(self, do: str, **arguments: Any) -> Any:
        return getattr(self.session, do)(**arguments)


@pytest.fixture
def wheel(monkeypatch: pytest.MonkeyPatch) -> Wheel:
    found = Wheel()
    module = ModuleType("smokedduck")
    module.prov_connect = lambda: found  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "smokedduck", module)
    monkeypatch.setattr(smokedduck, "_child", lambda python: Pipe())
    return found


def test_answers_are_those_of_the_others(subject: Subject, wheel: Wheel) -> None:
    meter = Meter(subject, ["perm", "eager", "smokedduck"], targets=9, rounds=1, limit=60)
    perm, eager, found = meter.measure().answers
    assert (found.obstacle, found.links) == ("", perm.links)
    assert found.times.keys() == eager.times.keys()
    assert found.plain > 0
    assert wheel.executed == [None] * 4 + ["lineage"] * 2


def test_what_it_answers_otherwise_is_not_timed_nor_our_error(
    subject: Subject, wheel: Wheel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "_LINEAGE", f"{_LINEAGE[:-1]} AND b > 3)")
    meter = Meter(subject, ["perm", "smokedduck"], targets=9, rounds=1, limit=60)
    _, found = meter.measure().answers
    assert found.obstacle == "wrong: 2 rows missing, 0 too many"
    assert (found.wrong, found.times) == (False, {})


@pytest.mark.parametrize("subject", ["l"], indirect=True)
def test_scans_of_one_table_are_refused(subject: Subject) -> None:
    with pytest.raises(TpchError, match="l is read more than once"):
        SmokedDuck(subject)


@pytest.mark.parametrize("python", ["", sys.executable])
def test_without_the_wheel_it_says_how_to_get_it(
    subject: Subject, monkeypatch: pytest.MonkeyPatch, python: str
) -> None:
    monkeypatch.setenv(PYTHON, python)
    with pytest.raises(TpchError, match="pip install smokedduck"):
        SmokedDuck(subject)


def test_outputs_are_matched_up_to_what_means_are_rounded() -> None:
    day = dt.date(2020, 1, 2)
    ours = [("x", Decimal("1.500000"), day), ("x", Decimal("2.333333"), day), (None, None, None)]
    theirs = [(None, None, None), ("x", 7 / 3, "2020-01-02"), ("x", 1.5, "2020-01-02")]
    found = smokedduck._places(ours, theirs)
    assert list(found.values()) == [[2], [1], [0]]
    with pytest.raises(TpchError, match="not that of the job"):
        smokedduck._places(ours, [("x", 2.3334, "2020-01-02"), *theirs[::2]])


def test_values_travel_as_json(wheel: Wheel, tmp_path: Path) -> None:
    file = tmp_path / "t.parquet"
    frame = pd.DataFrame({"a": [1, 2], "b": [0.5, np.nan], "d": pd.to_datetime(["2020-01-02"] * 2)})
    frame.to_parquet(file)
    session = Session()
    for _ in range(2):
        session.load("t", [str(file)])
    found = session.capture("SELECT * FROM t")
    assert found["columns"] == [[2, 1], [None, 0.5], ["2020-01-02"] * 2]


@pytest.mark.skipif(PYTHON not in os.environ, reason=f"{PYTHON} names no interpreter")
def test_the_wheel_itself(subject: Subject) -> None:
    system = SmokedDuck(subject)
    targets = list(zip(*subject.job.output_arrow().to_pydict().values(), strict=True))
    found = {
        scan: set(zip(*table.to_pydict().values(), strict=True))
        for scan, table in system.ids(targets).items()
    }
    rows = {number: row for row, (number, _) in enumerate(TABLES["r"])}
    keys = {target[0]: place for place, target in enumerate(targets)}
    pairs = [(keys[TABLES["l"][number][0]], number) for number in rows]
    assert found == {1: set(pairs), 2: {(key, rows[number]) for key, number in pairs}}
