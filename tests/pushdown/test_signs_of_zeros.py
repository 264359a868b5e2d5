"""Outer joins with tests of floats: precise where the test takes 0.0 and -0.0 for one value."""

from __future__ import annotations

import pytest

from predtrace.inference.precise import Pushdown, row_selection
from pushdown.graph import OperatorGraph
from pushdown.operators import OuterJoin, Scan
from symbolic.expr import Call, Column, Expr, Literal, call, conjunction, disjunction
from symbolic.types import BOOLEAN, DOUBLE, LONG, STRING

KEY, FLOAT, OTHER = Column(0, "k", LONG), Column(1, "f", DOUBLE), Column(2, "other", LONG)
ZERO, TEXT = Literal(0.0, DOUBLE), Literal("0.0", STRING)
ALIKE = {
    "f > 0": call("gt", FLOAT, ZERO),
    "isnan(f)": call("is_nan", FLOAT),
    "isnan(f) IS NOT TRUE": call(
        "not", call("nullsafe_eq", call("is_nan", FLOAT), Literal(True, BOOLEAN))
    ),
    "f IN (0, NULL)": call("in", FLOAT, ZERO, Literal(None, DOUBLE)),
    "abs(f) + f < 0": call("lt", Call("add", (Call("abs", (FLOAT,), DOUBLE), FLOAT), DOUBLE), ZERO),
    "f < 0 OR f IS NULL": disjunction(call("lt", FLOAT, ZERO), call("is_null", FLOAT)),
}
APART = {
    "CAST(f AS string) = '0.0'": call("eq", Call("cast", (FLOAT,), STRING), TEXT),
    "power(f, f) > 0": call("gt", Call("power", (FLOAT, FLOAT), DOUBLE), ZERO),
    "f > 0 AND CAST(f AS string) = '0.0'": conjunction(
        call("gt", FLOAT, ZERO), call("eq", Call("cast", (FLOAT,), STRING), TEXT)
    ),
}
"""A kept row of the other zero may have no partner where the bound row has one."""


def precise(kind: str, test: Expr) -> tuple[bool, ...]:
    """Of each side of a join on the key and a test, for a bound row of all columns."""
    left = Scan(id=1, table="l", occurrence=1, columns=(KEY, FLOAT))
    right = Scan(id=2, table="r", occurrence=1, columns=(OTHER,))
    condition = conjunction(call("eq", KEY, OTHER), test)
    join = OuterJoin(id=0, left=1, right=2, condition=condition, kind=kind)
    graph = OperatorGraph([join, left, right], 0)
    return Pushdown(graph, "minimal").push(0, row_selection(graph.output()), witnessed=True).precise


@pytest.mark.parametrize("kind", ["left", "right", "full"])
@pytest.mark.parametrize("name", ALIKE)
def test_precise(kind: str, name: str) -> None:
    assert precise(kind, ALIKE[name]) == (True, True)


@pytest.mark.parametrize("kind", ["left", "full"])
@pytest.mark.parametrize("name", APART)
def test_not_precise(kind: str, name: str) -> None:
    assert not precise(kind, APART[name])[0]
