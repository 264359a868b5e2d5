"""Lists of known rows instead of joins, beside plain Python's idea of the join."""

from __future__ import annotations

import datetime as dt
import itertools
import random
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from predtrace.engines.base import Targets
from predtrace.engines.spark.engine import SparkEngine, SparkEvaluation
from symbolic.expr import Column, Expr, call, conjunction, same
from symbolic.types import DOUBLE, LONG, STRING, Date
from symbolic.types import Decimal as DecimalType
from tests.engines.tables import SETTINGS, param, request, source, targets, write

VALUES: tuple[tuple[Any, list[Any]], ...] = (
    (LONG, [None, 0, 1, -1, 2**63 - 1, -(2**63)]),
    (STRING, [None, "", "a", "A", "a ", "it's", 'q"\\n', "µ\x00ß", "NULL"]),
    (Date(), [None, dt.date(1, 1, 1), dt.date(1582, 10, 10), dt.date(9999, 12, 31)]),
    (DecimalType(20, 2), [None, Decimal("0.00"), Decimal("-0.10"), Decimal(10**17)]),
    (DOUBLE, [None, 0.0, -0.0, float("nan"), 1.5]),
)
"""Types, and values of theirs; floating-point numbers are never listed."""
COLUMNS = tuple(Column(n, f"x{n}", kind) for n, (kind, _) in enumerate(VALUES, 1))
BOUND = tuple(Column(100 + n, f"b{n}", kind) for n, (kind, _) in enumerate(VALUES, 1))


def drawn(rng: random.Random, count: int) -> list[tuple[Any, ...]]:
    return [tuple(rng.choice(values) for _, values in VALUES) for _ in range(count)]


def is_same(one: Any, other: Any) -> bool:
    """Whether `<=>` holds."""
    return one == other or (one != one and other != other)


def equal(one: Any, other: Any) -> bool:
    """Whether `=` holds."""
    return one is not None and other is not None and is_same(one, other)


@pytest.fixture(scope="module")
def rows() -> list[tuple[Any, ...]]:
    return drawn(random.Random(5), 150)


def asked(
    spark: SparkSession, folder: Path, predicate: Expr, given: Targets
) -> tuple[set[tuple[int, ...]], str]:
    """The rows found (with their target), and the query for them."""
    engine: SparkEvaluation = SparkEngine(spark).open(given, SETTINGS)
    answer = engine.rows([request(source("t", folder, COLUMNS), COLUMNS, predicate)])
    found = answer.row_ids().to_pylist()
    assert len(found) == answer.count()
    return {(row.get("target", 0), row["row"]) for row in found}, answer.sql()


@pytest.mark.parametrize("seed", range(8))
def test_lists_select_what_a_join_selects(
    spark: SparkSession, tmp_path: Path, rows: list[tuple[Any, ...]], seed: int
) -> None:
    rng = random.Random(seed)
    write(tmp_path / "t.parquet", COLUMNS, rows)
    keys: Sequence[tuple[int, bool]] = [
        (key, rng.random() < 0.5)
        for key in rng.sample(range(len(COLUMNS) - (seed % 2 == 0)), 1 + seed % 3)
    ]
    terms = [
        same(COLUMNS[k], param(BOUND[k])) if safe else call("eq", COLUMNS[k], param(BOUND[k]))
        for k, safe in keys
    ]
    numbered = seed in (2, 5)
    bound = [(n if numbered else 0, row) for n, row in enumerate([*rows[:5], *drawn(rng, 7)])]
    given = targets(BOUND, bound, numbered=numbered)
    expected = {
        (target, place)
        for (target, values), (place, row) in itertools.product(bound, enumerate(rows))
        if all((is_same if safe else equal)(row[k], values[k]) for k, safe in keys)
    }
    found, text = asked(spark, tmp_path, conjunction(*terms), given)
    assert found == expected
    listed = [k for k, _ in keys if COLUMNS[k].type != DOUBLE]
    assert (" IN (" in text) == bool(listed)
    assert ("JOIN" in text) == (numbered or len(listed) < len(keys))


def test_the_days_that_the_calendar_left_out(spark: SparkSession, tmp_path: Path) -> None:
    """Filters on files get days as they are, though Java's old classes lack some of 1582."""
    days = [dt.date(1582, 10, day) for day in range(1, 20)]
    write(tmp_path / "t.parquet", COLUMNS, [(None, None, day, None, None) for day in days])
    predicate = call("eq", COLUMNS[2], param(BOUND[2]))
    for asked_for in (days[4:5], days[9:10], days[13:14], days[3:16:2]):
        bound = [(0, (None, None, day, None, None)) for day in asked_for]
        found, _ = asked(spark, tmp_path, predicate, targets(BOUND, bound, numbered=False))
        assert {days[row] for _, row in found} == set(asked_for)
