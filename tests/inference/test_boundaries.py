"""Answers where engines are tempted to err: sets larger than memory, values at half-way points."""

from __future__ import annotations

import decimal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from sqlglot import exp

from predtrace import open_job
from predtrace.engines.duckdb import aggregates as duckdb_aggregates
from predtrace.engines.duckdb import spellings as duckdb_spellings
from predtrace.engines.duckdb.process import database
from predtrace.engines.sql.literals import cast_to
from predtrace.inference import infer
from predtrace.jobs.model import EngineSettings, Job, Source
from predtrace.jobs.snapshot import snapshot_files
from predtrace.lineage.ask import ask
from pushdown.graph import OperatorGraph
from pushdown.operators import (
    AggregateCall,
    Aggregation,
    Assignment,
    Filter,
    GroupBy,
    InnerJoin,
    Operator,
    RowTransform,
    Scan,
)
from symbolic.expr import Column, Literal, call
from symbolic.types import LONG, Decimal
from tests.reference import trace_graph
from tests.reference.answers import check_answer
from tests.reference.jobs import store_job
from tests.strategies import Pipeline

# -- value sets larger than memory

ROWS = 3_000_000
ENOUGH = "64MB"
"""Some of what the sets take: two of them have three million keys of eight bytes each."""
KEY, VALUE, OTHER_KEY = Column(1, "k", LONG), Column(2, "v", LONG), Column(3, "k2", LONG)
COUNT = Column(4, "n", LONG)


@contextmanager
def little_memory() -> Iterator[None]:
    """The process's database with little memory, and one thread to share it."""
    settings = "current_setting('memory_limit'), current_setting('threads')"
    memory, threads = database().execute(f"SELECT {settings}").fetchall()[0]
    database().execute(f"SET threads = 1; SET memory_limit = '{ENOUGH}'")
    try:
        yield
    finally:
        database().execute(f"SET threads = {threads}; SET memory_limit = '{memory}'")


def spilled() -> int:
    """Bytes of the process's database that lie in files."""
    found = database().execute("SELECT coalesce(sum(size), 0) FROM duckdb_temporary_files()")
    ((size,),) = found.fetchall()
    return int(size)


def written(folder: Path, scan: Scan, query: str) -> Source:
    """A source of one file, with the rows of a query."""
    file = folder / f"{scan.table}.parquet"
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute(f"COPY ({query}) TO '{file}' (FORMAT PARQUET)")
    roots = (str(file),)
    return Source(
        name=scan.table,
        format="parquet",
        roots=roots,
        files=snapshot_files(roots),
        columns=scan.columns,
    )


def test_value_sets_larger_than_memory(tmp_path: Path) -> None:
    """How many rows of `p` have a partner in `b`: every other one, by arithmetic."""
    p = Scan(id=1, table="p", occurrence=1, columns=(KEY, VALUE))
    b = Scan(id=2, table="b", occurrence=1, columns=(OTHER_KEY,))
    counted = Aggregation(COUNT, AggregateCall("count", (), LONG))
    operators: list[Operator] = [
        p,
        b,
        InnerJoin(id=3, left=1, right=2, condition=call("eq", KEY, OTHER_KEY)),
        GroupBy(id=4, input=3, keys=(Assignment(VALUE, VALUE),), aggregations=(counted,)),
    ]
    graph = OperatorGraph(operators, 4)
    # Keys in an order that compresses badly and comes to the join as it likes.
    mixed = f"(i * 7919) % {ROWS}"
    job = Job(
        id="20260101-000000-abcd",
        created="2026-01-01T00:00:00+00:00",
        query="made by hand",
        keep="none",
        graph=graph.operators(),
        root=graph.root,
        plans=(infer(graph),),
        sources=(
            written(tmp_path, p, f"SELECT {mixed} AS k, 1 AS v FROM range({ROWS}) AS t(i)"),
            written(tmp_path, b, f"SELECT 2 * ({mixed}) AS k2 FROM range({ROWS}) AS t(i)"),
        ),
        settings=EngineSettings(
            engine_version="4", time_zone="UTC", ansi=True, case_sensitive=True
        ),
        intermediates=(),
        output=None,
    )
    before = spilled()
    with little_memory():
        answer = ask(job, tmp_path, {"v": 1, "n": ROWS // 2}, mode="refined", engine="duckdb")
        keys = answer.scan("p").to_arrow(["k"])["k"]
        others = answer.scan("b").to_arrow(["k2"])["k2"]
        assert spilled() > before, "it fits: nothing is tested"
        for found in (keys, others):
            assert np.array_equal(np.sort(found.to_numpy()), np.arange(0, ROWS, 2))
    assert answer.label == "precise"


# -- predicates at half-way points

MONEY, QUOTIENT = Decimal(15, 2), Decimal(19, 6)
GROUP, PAID, LEAST = Column(1, "g", LONG), Column(2, "paid", MONEY), Column(3, "least", QUOTIENT)
MEAN, SHARE, ONE = (
    Column(4, "mean", QUOTIENT),
    Column(5, "share", Decimal(19, 6)),
    Column(6, "one", LONG),
)
PARTS = 32
"""A cent by 32 is half-way between two quotients of six places."""


def cents(number: int) -> decimal.Decimal:
    return decimal.Decimal(number).scaleb(-2)


def half_up(number: int) -> decimal.Decimal:
    """So many cents by 32, exactly at the place where rounding decides."""
    exact = decimal.Decimal(number).scaleb(-2) / PARTS
    return exact.quantize(decimal.Decimal("0.000001"), decimal.ROUND_HALF_UP)


LARGE = 10**14 + 1
"""Cents of which a double does not have the half-way points any more."""
NUMBERS = [
    sign * (least + 6 * step) for least in (1, LARGE) for step in range(12) for sign in (1, -1)
]


def constant(below: int, node: int) -> RowTransform:
    return RowTransform(id=node, input=below, assignments=(Assignment(ONE, Literal(1, LONG)),))


def averaged() -> Pipeline:
    """Groups whose average is at least what it is, rounded half up."""
    mean = Aggregation(MEAN, AggregateCall("avg", (PAID,), QUOTIENT))
    operators: list[Operator] = [
        Scan(id=0, table="t", occurrence=1, columns=(GROUP, PAID, LEAST)),
        GroupBy(
            id=1,
            input=0,
            keys=tuple(Assignment(key, key) for key in (GROUP, LEAST)),
            aggregations=(mean,),
        ),
        Filter(id=2, input=1, condition=call("eq", MEAN, LEAST)),
        constant(2, 3),
    ]
    rows = [
        (number, cents(number if part == 0 else 0), half_up(number))
        for number in NUMBERS
        for part in range(PARTS)
    ]
    return Pipeline(OperatorGraph(operators, 3), {"t": rows})


def divided() -> Pipeline:
    """Rows whose quotient is what it is, rounded half up."""
    share = call("divide", PAID, Literal(decimal.Decimal(PARTS), Decimal(2, 0)), type=QUOTIENT)
    operators: list[Operator] = [
        Scan(id=0, table="t", occurrence=1, columns=(GROUP, PAID, LEAST)),
        Filter(id=1, input=0, condition=call("eq", share, LEAST)),
        constant(1, 2),
    ]
    rows = [(number, cents(number), half_up(number)) for number in NUMBERS]
    return Pipeline(OperatorGraph(operators, 2), {"t": rows})


EXAMPLES = {"avg": averaged, "division": divided}


def check(folder: Path, example: Pipeline, mode: str) -> None:
    graph, tables = example
    reference = trace_graph(graph, tables, keep_outputs=True)
    ((target, expected),) = [(row, reference.lineage(row)) for row in reference.distinct_rows()]
    assert len(expected[0]) == len(tables["t"]), "not all rows are at a half-way point"
    job = open_job(*store_job(folder, graph, tables, [(infer(graph), reference)]))
    answer = job.lineage([target, target], mode=mode, engine="duckdb")
    check_answer(answer, reference, graph, [target])
    assert answer.label == "precise"


@pytest.mark.parametrize("name", EXAMPLES)
def test_half_way_points_decide_as_in_spark(name: str, tmp_path: Path) -> None:
    check(tmp_path, EXAMPLES[name](), "replayed")


def by_doubles(
    dividend: exp.Expr, _: Decimal, divisor: exp.Expr, __: Decimal, result: Decimal
) -> exp.Expr:
    """As DuckDB divides decimals by itself."""
    return cast_to(exp.Div(this=dividend.copy(), expression=divisor.copy()), result, "duckdb")


def cut_off(
    dividend: exp.Expr, kind: Decimal, divisor: exp.Expr, other: Decimal, result: Decimal
) -> exp.Expr:
    """Digits after the last place are dropped."""
    scale = exp.Literal.number(10**result.scale)
    units = exp.Mul(this=exp.paren(exp.Div(this=dividend.copy(), expression=divisor.copy())),
                    expression=scale)  # fmt: skip
    whole = exp.Anonymous(this="trunc", expressions=[units])
    return cast_to(exp.Div(this=whole, expression=scale.copy()), result, "duckdb")


@pytest.mark.parametrize("quotient", [by_doubles, cut_off])
@pytest.mark.parametrize("name", EXAMPLES)
def test_other_roundings_are_noticed(
    name: str, quotient: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (duckdb_aggregates, duckdb_spellings):
        monkeypatch.setattr(module, "exact_quotient", quotient)
    with pytest.raises(AssertionError, match=r"rows are missing|too many rows"):
        check(tmp_path, EXAMPLES[name](), "replayed")
