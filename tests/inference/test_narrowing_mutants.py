"""Narrowed replays broken on purpose: a wrong restriction is noticed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from predtrace.inference import narrowing
from predtrace.inference.narrowing import narrowed
from predtrace.inference.plan import Membership
from predtrace.inference.precise import Pushdown, row_selection
from predtrace.inference.replay import sufficient
from pushdown.obligations import SUFFICIENT
from pushdown.operators import AntiJoin, InnerJoin, Operator, OuterJoin, SemiJoin
from pushdown.rules import RULES
from symbolic.expr import Expr
from tests.inference.test_replay_mutants import Rows, believe, selected
from tests.inference.test_unstored import _grouped_side, all_pay_off, replayed_outputs
from tests.reference import trace_graph
from tests.reference.plans import _Bound
from tests.test_mutants import forget_proofs


@pytest.fixture(autouse=True)
def _fresh_proofs() -> Iterator[None]:
    forget_proofs()
    yield
    forget_proofs()


P: Rows = [(1, 0), (2, 1), (None, 0)]
GROUPED: Rows = [(0, 0), (1, 1), (1, 2), (None, 1), (2, 0)]


def check_narrowed(join: type[Operator], kind: dict[str, str]) -> set[int]:
    """Replays of less, of a join with groups, as the full run; which scans were cut down."""
    graph = _grouped_side(join, kind, picked=0)
    tables: Any = {"p": P, "b": GROUPED}
    columns = graph.output()
    lookup = row_selection([columns[1]])
    plain = sufficient(graph, graph.root, lookup)
    with all_pay_off():
        pushdown = Pushdown(graph, "whole", SUFFICIENT)
        fewer, sets = narrowed(pushdown, graph.root, lookup, plain, {})
    whole = trace_graph(graph, tables, keep_outputs=True).outputs[graph.root]
    for value in (None, 0, 1):
        bound = _Bound((columns[1],), [(value,)])
        less = replayed_outputs(graph, tables, graph.root, fewer, bound, 0, sets)
        assert selected(less, columns, lookup, bound) == selected(whole, columns, lookup, bound), (
            f"not the rows of the full run: {value!r}"
        )
    return {one.node for one in fewer if one.memberships}


ABSORBING: list[tuple[type[Operator], dict[str, str]]] = [
    (InnerJoin, {}),
    (SemiJoin, {}),
    (AntiJoin, {}),
    (OuterJoin, {"kind": "left"}),
]
"""Joins that give no row of their right side that has no partner."""
PRESERVING = [(OuterJoin, {"kind": "right"}), (OuterJoin, {"kind": "full"})]
SMALL_SIDE, GROUPED_SIDE = 1, 3


def cut_anyway(monkeypatch: pytest.MonkeyPatch) -> None:
    """The grouped side is cut down to the keys of the other, whatever the join."""
    graph = _grouped_side(InnerJoin, {}, 0)
    (key, _), (own, _) = graph.output(SMALL_SIDE), graph.output(GROUPED_SIDE)
    found = narrowing.memberships_in

    def everywhere(node: int, predicate: Expr) -> Iterator[Membership]:
        if node == GROUPED_SIDE:
            yield Membership(SMALL_SIDE, (key.id,), (own,))
        else:
            yield from found(node, predicate)

    monkeypatch.setattr(narrowing, "memberships_in", everywhere)


@pytest.mark.parametrize(("join", "kind"), ABSORBING)
def test_groups_may_be_cut_where_they_are_joined(
    join: type[Operator], kind: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert check_narrowed(join, kind) == {GROUPED_SIDE}
    cut_anyway(monkeypatch)
    assert check_narrowed(join, kind) == {GROUPED_SIDE}


@pytest.mark.parametrize(("join", "kind"), PRESERVING)
def test_a_preserved_side_that_is_cut_is_noticed(
    join: type[Operator], kind: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert check_narrowed(join, kind) == set()
    cut_anyway(monkeypatch)
    with pytest.raises(AssertionError, match="not the rows of the full run"):
        check_narrowed(join, kind)


@pytest.mark.parametrize(("join", "kind"), PRESERVING)
def test_an_outer_join_taken_for_an_inner_one(
    join: type[Operator], kind: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an inner join proposes, up and down, is refused; believed, it is noticed."""
    inner = RULES[InnerJoin]
    wrong = msgspec.structs.replace(
        RULES[OuterJoin], lift=inner.lift, propose_sufficient=inner.propose
    )
    monkeypatch.setitem(RULES, OuterJoin, wrong)
    assert check_narrowed(join, kind) == set()
    forget_proofs()
    believe(monkeypatch)
    with pytest.raises(AssertionError, match="not the rows of the full run"):
        check_narrowed(join, kind)
