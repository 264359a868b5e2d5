"""Ways of a value through operators: those in the way are named with the reason."""

from __future__ import annotations

from types import MappingProxyType

import pytest

from predtrace.cells import derivations
from predtrace.cells.derivations import MADE_OF_SEVERAL, PASSED_ON, NotDerivable
from pushdown.graph import OperatorGraph
from pushdown.operators import AggregateCall, Aggregation, Distinct, GroupBy, Scan
from symbolic.expr import Column
from symbolic.types import INTEGER

A, B = Column(1, "a", INTEGER), Column(2, "b", INTEGER)
SCAN = Scan(id=1, table="r", occurrence=1, columns=(A,))
GREATEST = Aggregation(B, AggregateCall("max", (A,), INTEGER))
GRAPH = OperatorGraph([SCAN, GroupBy(id=2, input=1, keys=(), aggregations=(GREATEST,))], 2)


def test_an_operator_in_the_way_is_named_with_the_reason() -> None:
    with pytest.raises(NotDerivable, match="GroupBy: it makes one row of several") as caught:
        derivations.derivations(GRAPH, B)
    assert caught.value.node == 2


def test_of_an_unknown_operator_nothing_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = OperatorGraph([SCAN, Distinct(id=2, input=1)], 2)
    assert derivations.derivations(graph, A)
    known = {kind: way for kind, way in derivations._WAYS.items() if kind is not Distinct}
    monkeypatch.setattr(derivations, "_WAYS", MappingProxyType(known))
    with pytest.raises(NotDerivable, match="Distinct: how it passes rows on is not known here"):
        derivations.derivations(graph, A)


def test_no_operator_is_both_passed_on_and_in_the_way() -> None:
    assert PASSED_ON.isdisjoint(MADE_OF_SEVERAL)
