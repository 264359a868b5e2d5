"""Replay: intermediate results computed again from just enough of the sources.

SEMANTICS section 4: every scan is restricted by a predicate that is *sufficient* for the rows that
a lookup selects. The operators above then give these rows as the full run gave them. Rows that the
lookup does not select may be missing or wrong, so the lookup is applied to the replayed rows.
`docs/soundness.md` has the argument.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from predtrace.inference.consumers import alternatives, any_of
from predtrace.inference.costs import SELECTIVE
from predtrace.inference.narrowing import narrowed
from predtrace.inference.plan import Intermediate, LineagePlan, Replay, Restriction, Selection
from predtrace.inference.precise import Pushdown, rebind
from predtrace.inference.sizes import selectivity
from pushdown.graph import OperatorGraph
from pushdown.obligations import SUFFICIENT
from pushdown.operators import (
    AntiJoin,
    Filter,
    InnerJoin,
    OuterJoin,
    Scan,
    SemiJoin,
    Sort,
)
from pushdown.readings import WHOLE
from symbolic.expr import TRUE, Call, Column, Expr, conjunction, conjuncts

_MOVED_THROUGH = (Filter, InnerJoin, OuterJoin, SemiJoin, AntiJoin, Sort)
"""Operators through which optimizers move conditions on single tables."""


def infer_replays(
    graph: OperatorGraph, plan: LineagePlan, rows: Mapping[int, float] | None = None
) -> tuple[Replay, ...]:
    """The replay of every intermediate result of the plan, one for each of its selections.

    `rows` has the row counts of scans by node, to decide what pays off.
    """
    return tuple(
        _replay(graph, item, asked, rows or {})
        for item in plan.intermediates
        for asked in item.selections
    )


def _replay(
    graph: OperatorGraph, item: Intermediate, asked: Selection, rows: Mapping[int, float]
) -> Replay:
    lookup = rebind(asked.predicate, 0)
    pushdown = Pushdown(graph, WHOLE, SUFFICIENT)
    plain = sufficient(graph, item.node, lookup)
    restrictions, sets = narrowed(pushdown, item.node, lookup, plain, rows)
    return Replay(
        item.binding,
        tuple(
            msgspec.structs.replace(one, predicate=rebind(one.predicate, asked.binding))
            for one in restrictions
        ),
        tuple(
            msgspec.structs.replace(one, predicate=rebind(one.predicate, asked.binding))
            for one in sets
        ),
        tuple(
            one.node
            for one in restrictions
            if one.memberships or selectivity(one.predicate) <= SELECTIVE
        ),
    )


def sufficient(
    graph: OperatorGraph, top: int, lookup: Expr, binding: int = 0
) -> tuple[Restriction, ...]:
    """The restrictions of scans under `top` that keep its rows which satisfy `lookup` right."""
    pushdown = Pushdown(graph, WHOLE, SUFFICIENT)
    asked: dict[int, list[Expr]] = {top: [rebind(lookup, 0)]}
    found: dict[int, Expr] = {}
    for node in graph.top_down(top):
        # Consumers first: what they need of a shared node is known when it is its turn.
        if node == top or node in graph.shared:
            for one in alternatives(asked.pop(node, ())):
                for visit in pushdown.region(node, one):
                    if visit.node in graph.shared and visit.node != node:
                        asked.setdefault(visit.node, []).append(visit.above)
                    elif visit.pushed is None:
                        needed = (
                            *((found[visit.node],) if visit.node in found else ()),
                            visit.above,
                        )
                        found[visit.node] = any_of(needed)
    return tuple(
        Restriction(node, rebind(found[node], binding))
        for node in graph.top_down(top)
        if isinstance(graph[node], Scan)
    )


def unapplied(graph: OperatorGraph, restriction: Restriction) -> Expr:
    """The part of a restriction that the operators above the scan do not apply themselves.

    Engines move the operators' conditions to the scan; repeated, they would be evaluated twice.
    What one of several consumers applies holds for its rows alone.
    """
    said: set[Expr] = set()
    node = graph.consumer(restriction.node)
    while node is not None and isinstance(graph[node], _MOVED_THROUGH):
        said.update(conjuncts(getattr(graph[node], "condition", TRUE)))
        node = graph.consumer(node)
    return conjunction(*(term for term in conjuncts(restriction.predicate) if term not in said))


def without_null_tests(predicate: Expr) -> Expr:
    """A restriction without its tests that a column is not NULL.

    These tests come from join keys. The join drops such rows at no cost, while a scan that tests
    them decodes the column in all its rows. A replay may read more rows than its sufficient
    predicate selects.
    """
    return conjunction(*(term for term in conjuncts(predicate) if not _is_null_test(term)))


def _is_null_test(term: Expr) -> bool:
    match term:
        case Call(function="is_not_null", args=(Column(),)):
            return True
    return False
