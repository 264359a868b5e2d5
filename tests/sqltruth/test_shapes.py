"""Statements of shapes whose answers were wrong once, each in every mode."""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from tests.sqltruth.batches import Batch, Choices, batch_of
from tests.sqltruth.building import (
    COUNT,
    calling,
    coalesce,
    col,
    either,
    eq,
    grouped,
    number,
    select,
    table,
)
from tests.sqltruth.checking import MODES, check
from tests.sqltruth.functions import (
    AND,
    DATE,
    DOUBLE,
    INT,
    LONG,
    TEXT,
    comparison,
    generic,
    is_null,
)
from tests.sqltruth.syntax import (
    Aggregate,
    Call,
    Constant,
    Derived,
    Exists,
    InQuery,
    Join,
    Query,
    Ref,
    Scalar,
    SetOperation,
    Sorting,
    Statement,
    View,
    Window,
    Windows,
)
from tests.sqltruth.tables import Rows
from tests.sqltruth.values import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
DAY, TIME = dt.date(2021, 10, 31), dt.datetime(2021, 10, 31, 0, 30, tzinfo=dt.UTC)
LOCAL, CENT = dt.datetime(2021, 10, 31, 2, 30), Decimal("1.50")
TABLES: dict[str, Rows] = {
    "r": [(1, "x", CENT, 0.0, 4), (1, "1.5", None, -0.0, 0), (2, "x", CENT, math.nan, 2),
          (None, "z", CENT, 1.5, 3), (3, " 2 ", None, None, 1)],
    "s": [(1, 10, 1.5, "x", DAY), (1, 20, 0.0, "y", None), (2, 10, -0.0, "x", DAY),
          (None, 30, None, None, DAY), (5, None, 1.5, "z", DAY), (1, 20, None, "x", DAY)],
    "u": [(1, "x", TIME, LOCAL, 2), (2, "y", None, LOCAL, None), (4, None, TIME, None, 0)],
    "v": [(1, "x"), (2, None)],
    "w": [(1, Decimal("0.00000001"), True, DAY, TIME), (2, Decimal("0.00000000"), None, DAY, None),
          (1, Decimal("0.00000001"), False, None, TIME), (3, None, True, DAY, TIME)],
    "z": [],
}  # fmt: skip
R, S, U, W = (table(place, name) for place, name in enumerate("rsuw", start=1))
ON_A = eq(col(R, "a"), col(S, "a"))
A, ODD = col(R, "a"), col(R, "odd.name")


def shapes() -> Iterator[tuple[str, Query]]:
    """Names and queries."""
    by_a, (a,) = grouped(9, (A,))
    by_a_largest, columns = grouped(9, (A,), Aggregate("max", col(R, "b"), TEXT))
    for kind in ("LEFT JOIN", "FULL JOIN"):
        join = Join(kind, R, S, ON_A)
        yield f"{kind} that only lineage needs", select(a, source=join, grouping=by_a)
        yield f"{kind} under max", select(*columns, source=join, grouping=by_a_largest)
        yield f"{kind} under DISTINCT", select(A, source=join, distinct=True)
        below = Call(comparison("<", INT), (coalesce(col(S, "a"), number(0)), ODD))
        yield f"coalesce above {kind}", select(A, source=join, where=(below,))
        missing = Call(is_null(INT, False), (col(S, "a"),))
        padded = either(missing, eq(col(S, "a"), ODD))
        yield f"IS NULL OR above {kind}", select(A, source=join, where=(padded,))
        again = Join(kind, R, Derived(8, select(col(S, "a"), source=S, distinct=True), "d", 1),
                     eq(A, Ref(8, 0, INT, "d.k0")))  # fmt: skip
        yield f"{kind} with DISTINCT", select(a, source=again, grouping=by_a)
    of_nan = Call(AND, (ON_A, calling("isnan({0})", col(R, "f"))))
    by_text, columns = grouped(9, (col(R, "b"),), Aggregate("min", col(S, "c"), LONG))
    yield "LEFT JOIN on isnan", select(*columns, source=Join("LEFT JOIN", R, S, of_nan),
                                       grouping=by_text)  # fmt: skip
    largest, (value,) = grouped(9, (), Aggregate("max", col(U, "Two Words"), INT))
    linked = (eq(col(U, "a"), A),)
    scalar = Scalar(select(value, source=U, where=linked, grouping=largest), INT)
    yield "coalesce of a subquery", select(A, source=R, where=(eq(coalesce(scalar, ODD), ODD),))
    inner = select(col(S, "a"), source=S)
    unlike = InQuery((A,), inner, negated=True)
    yield "NOT IN under OR", select(A, source=R, where=(either(unlike, eq(ODD, number(1))),))
    true = eq(number(1), number(1))
    for name, query in (("", inner), (" correlated", select(col(S, "a"), source=S, where=(ON_A,)))):
        yield f"true OR EXISTS{name}", select(A, source=R, where=(either(true, Exists(query)),))
    largest_day = Aggregate("max", col(S, "day"), DATE)
    by_f, (_, value) = grouped(9, (col(S, "f"),), largest_day)
    unread = Derived(8, select(value, source=S, grouping=by_f), "d", 1)
    on_b = Call(is_null(INT, True), (ODD,))
    yield "groups that nothing reads", select(A, source=Join("RIGHT JOIN", unread, R, on_b))
    nullif = generic(INT)[1]
    by_a, (a, most) = grouped(9, (A,), Aggregate("max", ODD, INT))
    key, made = (Call(nullif, (part, number(2))) for part in (a, most))
    yield "NULLIF of keys and aggregates", select(a, key, made, source=R, grouping=by_a)
    by_a, (a, mean) = grouped(9, (A,), Aggregate("avg", ODD, DOUBLE))
    same = Call(generic(DOUBLE)[1], (mean, mean))
    twice = Call(generic(DOUBLE)[1], (Call(generic(DOUBLE)[1], (mean, same)), same))
    yield "NULLIF in NULLIF", select(a, same, twice, source=R, grouping=by_a)
    both = SetOperation("EXCEPT", True, select(A, source=R), inner)
    yield "EXCEPT ALL", both
    last = Window(
        "last_value", (col(S, "c"),), LONG, (col(S, "day"),), (Sorting(col(S, "f"), "ASC"),)
    )
    found = select(col(S, "c"), Ref(30, 0, LONG, of=last), source=S, where=(ON_A,),
                   windows=Windows(30, (last,)))  # fmt: skip
    yield "window in a correlated subquery", select(A, source=R, where=(Exists(found),))
    beside = Join("LEFT JOIN", R, Derived(31, found, "d", 2, lateral=True), eq(ODD, ODD))
    yield "window in a lateral join", select(A, Ref(31, 1, LONG, "d.k1"), source=beside)
    again = table(5, "s")
    both = Join("JOIN", beside, again, eq(A, col(again, "a")))
    yield "lateral join between two scans", select(A, Ref(31, 0, LONG, "d.k0"), source=both)
    day = Constant(DAY, DATE, "DATE '2021-10-31'")
    none = Constant(None, DATE, "CAST(NULL AS date)")
    view = View(32, "inline", ((number(1), day), (number(2), none)), "v", ("p", "q"))
    shown = (A, Ref(32, 0, INT, "v.p"), Ref(32, 1, DATE, "v.q"))
    yield "structs of constants", select(*shown, source=R, views=(view,))
    yield "IN as a value", select(InQuery((A,), inner), ODD, source=R)


def texts() -> Iterator[tuple[str, Query]]:
    """Shapes whose values depend on ANSI mode."""
    by_text, columns = grouped(9, (calling("CAST({0} AS string)", col(W, "tiny")),), COUNT)
    yield "small decimals as text", select(*columns, source=W, grouping=by_text)
    by_number, columns = grouped(9, (calling("try_cast({0} AS int)", col(R, "b")),), COUNT)
    yield "TRY_CAST of text", select(*columns, source=R, grouping=by_number)
    by_product, columns = grouped(9, (calling("try_multiply({0}, 2147483647)", ODD),), COUNT)
    yield "TRY_MULTIPLY over the edge", select(*columns, source=R, grouping=by_product)
    by_zero, columns = grouped(9, (col(R, "f"),), COUNT)
    groups = Derived(10, select(*columns, source=R, grouping=by_zero), "d", 2)
    zero = calling("CAST({0} AS string)", Ref(10, 0, "double", "d.k0"))
    yield "zeros as keys, then as text", select(zero, Ref(10, 1, "bigint", "d.k1"), source=groups)


SHAPES, TEXTS = dict(shapes()), dict(texts())
BERLIN, ST_JOHNS = Settings("Europe/Berlin", True), Settings("America/St_Johns", False)


@pytest.fixture(scope="module", params=[BERLIN, ST_JOHNS], ids=["ansi", "legacy"])
def batch(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Batch:
    return batch_of(0, spark, request.param, TABLES, tmp_path_factory.mktemp("shapes"))


@pytest.mark.parametrize("name", TEXTS)
def test_values_that_depend_on_settings(batch: Batch, name: str) -> None:
    outcome = check(Statement(TEXTS[name]), batch, Choices("minimal", instead=True))
    assert outcome.status == "asked", outcome.record()
    assert outcome.targets > 1
    assert not outcome.findings, outcome.record()


@pytest.mark.parametrize("name", SHAPES)
def test_shapes(batch: Batch, name: str) -> None:
    reading = "minimal" if batch.settings.ansi else "whole"
    outcome = check(Statement(SHAPES[name]), batch, Choices(reading))
    assert outcome.status == "asked", outcome.record()
    assert outcome.targets > 0
    assert not outcome.findings, outcome.record()


def test_a_wrong_answer_is_found(batch: Batch) -> None:
    """The check of the check: another statement's truth does not pass."""
    largest, (value,) = grouped(9, (), Aggregate("max", A, INT))
    query = Statement(select(value, source=R, grouping=largest))
    assert not check(query, batch, Choices("minimal")).findings
    turned = dataclasses.replace(batch, tables={**TABLES, "r": TABLES["r"][::-1]})
    found = check(query, turned, Choices("minimal")).findings
    assert {finding["kind"] for finding in found} == {"missing"}
    assert {finding["where"] for finding in found} == {f"{mode} on duckdb" for mode in MODES}
