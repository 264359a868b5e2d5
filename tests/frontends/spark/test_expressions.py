"""Catalyst expressions in the IR, and the tables behind them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal

import pytest

from predtrace.frontends.spark import SparkPipeline
from pushdown.operators import Generate
from symbolic import types as t
from symbolic.expr import Call, Literal, render
from tests.frontends.spark.shapes import projected

Read = Callable[[str], SparkPipeline]

EXPRESSIONS = {
    "v + 1": "v + 1",
    "v = 1 AND k = 2 AND b": "v = 1 AND k = 2 AND b",
    "v BETWEEN 1 AND 5": "v >= 1 AND v <= 5",
    "v <> 3": "NOT (v = 3)",
    "v <=> k": "v <=> k",
    "v IN (1, 2)": "v IN (1, 2)",
    "v IS NOT NULL": "v IS NOT NULL",
    "CASE WHEN v > 1 THEN 'x' END": "case(v > 1, 'x', NULL)",
    "CASE g WHEN 'a' THEN 1 ELSE 2 END": "case(g = 'a', 1, 2)",
    "if(b, 1, 2)": "case(b, 1, 2)",
    "coalesce(v, k)": "coalesce(v, k)",
    "nvl(v, 0)": "coalesce(v, 0)",
    "nullif(v, 10)": "case(v = 10, NULL, v)",
    "substring(g, 1, 2)": "substring(g, 1, 2)",
    "left(g, 2)": "substring(g, 1, 2)",
    "upper(trim(g))": "upper(trim(g))",
    "concat(g, 'x')": "concat(g, 'x')",
    "g || 'x'": "concat(g, 'x')",
    "startswith(g, 'a')": "starts_with(g, 'a')",
    "year(d)": "year(d)",
    "extract(MONTH FROM d)": "month(d)",
    "date_add(d, 3)": "date_add(d, 3)",
    "d + INTERVAL '3' MONTH": "date_add_interval(d, 3)",
    "m * (1 - m)": "m * (1 - m)",
    "cast(v AS STRING)": "cast(v as string)",
    "round(x, 2)": "round(x, 2)",
    "abs(v)": "abs(v)",
    "-v": "negate(v)",
    "v % 7": "remainder(v, 7)",
    "length(g)": "length(g)",
    "to_date(g)": "cast(g as date)",
    "greatest(v, k)": "greatest(v, k)",
    "named_struct('a', v).a": "v",
    "array(v, k)[0]": "v",
    "rpad(g, 5, ' ')": "rpad(g, 5, ' ')",
    "lower(g) = 'a' OR NOT b": "lower(g) = 'a' OR NOT (b)",
}


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expression(read: Read, text: str) -> None:
    assert render(projected(read(f"SELECT {text} FROM t"))[0]) == EXPRESSIONS[text]


LIKES = {
    "g LIKE 'a%'": ("g", "a%", "\\"),
    "g LIKE 'a!%' ESCAPE '!'": ("g", "a!%", "!"),
    "g NOT LIKE 'a%'": ("g", "a%", "\\"),
}


@pytest.mark.parametrize("text", LIKES)
def test_like_carries_its_escape_character(read: Read, text: str) -> None:
    value = projected(read(f"SELECT {text} FROM t"))[0]
    like = value.args[0] if isinstance(value, Call) and value.function == "not" else value
    assert isinstance(like, Call)
    column, pattern, escape = like.args
    assert (render(column), pattern, escape) == (
        LIKES[text][0],
        Literal(LIKES[text][1], t.STRING),
        Literal(LIKES[text][2], t.STRING),
    )


LITERALS = {
    "DATE '1995-01-01' + INTERVAL '1' YEAR": Literal(dt.date(1996, 1, 1), t.DATE),
    "1": Literal(1, t.INTEGER),
    "1L": Literal(1, t.LONG),
    "1.50": Literal(Decimal("1.50"), t.Decimal(3, 2)),
    "1.5D": Literal(1.5, t.DOUBLE),
    "'it''s'": Literal("it's", t.STRING),
    "true": Literal(True, t.BOOLEAN),
    "NULL": Literal(None, t.NULL),
    "CAST(NULL AS INT)": Literal(None, t.INTEGER),
    "DATE '1995-01-31'": Literal(dt.date(1995, 1, 31), t.DATE),
    "X'0aff'": Literal(b"\x0a\xff", t.Binary()),
    "INTERVAL '3' MONTH": Literal(3, t.YearMonthInterval()),
    "INTERVAL '2' DAY": Literal(172_800_000_000, t.DayTimeInterval()),
    "TIMESTAMP_NTZ '2020-01-01 01:02:03.5'": Literal(
        dt.datetime(2020, 1, 1, 1, 2, 3, 500_000), t.Timestamp(zoned=False)
    ),
    "TIMESTAMP '2020-01-01 00:00:00'": Literal(dt.datetime(2020, 1, 1, tzinfo=dt.UTC), t.TIMESTAMP),
    "DOUBLE('NaN')": Literal(float("nan"), t.DOUBLE),
}


@pytest.mark.parametrize("text", LITERALS)
def test_literal(read: Read, text: str) -> None:
    assert projected(read(f"SELECT {text}"))[0] == LITERALS[text]


_INNER = t.Record((t.Field("a", t.DATE), t.Field("b", t.Array(t.Binary()))))
_ITEMS = (
    Call(
        "make_struct",
        (
            Literal(dt.date(2020, 2, 29), t.DATE),
            Call("make_array", (Literal(b"\xff", t.Binary()),), t.Array(t.Binary()), False),
        ),
        _INNER,
        False,
    ),
    Literal(None, _INNER),
)


def test_structs_and_arrays_that_are_folded(read: Read) -> None:
    made = "named_struct('a', DATE '2020-02-29', 'b', array(X'ff'))"
    pipeline = read(f"SELECT y FROM t LATERAL VIEW explode(array({made}, NULL)) x AS y")
    (generate,) = (op for op in pipeline.graph.operators() if isinstance(op, Generate))
    assert generate.rows == Call("make_array", _ITEMS, t.Array(_INNER), False)


TYPES = {
    "m * m": t.Decimal(21, 4),
    "m / 3": t.Decimal(14, 6),
    "v / 2": t.DOUBLE,
    "v + 1L": t.LONG,
    "CAST(v AS DECIMAL(12,1))": t.Decimal(12, 1),
    "s - INTERVAL '1' DAY": t.TIMESTAMP,
    "d - DATE '1995-01-01'": t.DayTimeInterval(),
    "array(v)": t.Array(t.INTEGER),
    "named_struct('a', g)": t.Record((t.Field("a", t.STRING),)),
    "map(g, v)": t.Map(t.STRING, t.INTEGER),
    "g COLLATE UTF8_BINARY": t.STRING,
    "CAST(g AS VARCHAR(3))": t.STRING,
    "named_struct('a', array(g COLLATE UTF8_BINARY))": t.Record((t.Field("a", t.Array(t.STRING)),)),
}


@pytest.mark.parametrize("text", TYPES)
def test_type(read: Read, text: str) -> None:
    pipeline = read(f"SELECT {text} AS r FROM t")
    assert pipeline.graph.output()[0].type == TYPES[text]


def test_the_current_date_is_one_literal(read: Read) -> None:
    pipeline = read("SELECT current_date() AS a, current_date() AS b FROM t")
    first, second = projected(pipeline)
    assert isinstance(first, Literal)
    assert first == second
    assert pipeline.time_dependent


def test_long_or_lists_do_not_exhaust_the_stack(read: Read) -> None:
    text = " OR ".join(f"v = {number} AND k = {number}" for number in range(1500))
    assert read(f"SELECT k FROM t WHERE {text}").graph.scans()
