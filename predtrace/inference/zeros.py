"""Bound rows that a lookup distinguishes by the sign of a zero, while predicates below do not.

The predicate that looks up rows of an intermediate result may distinguish 0.0 from -0.0, as
``CAST(x AS STRING) <=> :s`` does. Predicates below compare the bound values, and to a comparison
both zeros are one value: rows with the other zero are found, too. Such answers are supersets.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from predtrace.inference.plan import Intermediate, ScanLineage, Selection
from predtrace.vocabulary import PRECISE, SUPERSET
from pushdown.graph import OperatorGraph
from pushdown.operators import (
    Distinct,
    Domain,
    DropDuplicates,
    Except,
    GroupBy,
    Intersect,
    RowTransform,
)
from symbolic.expr import Call, Column, Expr, Lambda, columns_of, conjuncts, params_of, walk
from symbolic.functions import SAME_FOR_EQUALS
from symbolic.types import Float, String, has_floats

_REASON = (
    "0.0 and -0.0 are one value where rows are found by a column that the result stored above "
    "was looked up by the sign of"
)


def with_blurred_zeros(
    graph: OperatorGraph, scans: Iterable[ScanLineage], intermediates: Iterable[Intermediate]
) -> tuple[ScanLineage, ...]:
    """The scans; scans in which rows with the other zero may be found become supersets."""
    told: dict[int, frozenset[int]] = {}
    blurred: set[int] = set()
    for item in sorted(intermediates, key=lambda item: item.binding):
        if _is_blurred(item.selections, blurred, told):
            blurred.add(item.binding)
        read = frozenset[int]().union(*(_told_apart(one.predicate) for one in item.selections))
        told[item.binding] = read - _normalised(graph, item.node)
    return tuple(
        msgspec.structs.replace(scan, label=SUPERSET, reason=_REASON)
        if scan.label == PRECISE and _is_blurred(scan.selections, blurred, told)
        else scan
        for scan in scans
    )


def _is_blurred(
    selections: Iterable[Selection], blurred: Collection[int], told: dict[int, frozenset[int]]
) -> bool:
    return any(
        one.binding in blurred or _reads(one.predicate, one.binding, told) for one in selections
    )


def _normalised(graph: OperatorGraph, top: int) -> frozenset[int]:
    """The columns of a node in which every zero is 0.0, as after grouping or DISTINCT."""
    found: dict[int, frozenset[int]] = {}
    for node in reversed(graph.top_down(top)):
        below = frozenset[int]().union(*(found[child] for child in graph.inputs(node)))
        match graph[node]:
            case GroupBy(keys=keys):
                below = frozenset(key.column.id for key in keys)
            case Distinct() | Intersect(all=False) | Except(all=False):
                below = frozenset(column.id for column in graph.output(node))
            case Domain(assignments=assignments):
                below = frozenset(a.column.id for a in assignments)
            case DropDuplicates(keys=keys):
                below = below | {key.id for key in keys}
            case RowTransform(assignments=assignments):
                below = frozenset(
                    a.column.id
                    for a in assignments
                    if isinstance(a.value, Column) and a.value.id in below
                )
        found[node] = below
    return found[top]


def _reads(predicate: Expr, binding: int, told: dict[int, frozenset[int]]) -> bool:
    """Whether a predicate has params for columns that the binding's lookup distinguishes by
    sign."""
    columns: Collection[int] = told.get(binding, ())
    return any(p.binding == binding and p.column in columns for p in params_of(predicate))


def _told_apart(predicate: Expr) -> frozenset[int]:
    """The floating-point columns whose sign of zero may decide a predicate."""
    return frozenset(
        column.id
        for term in conjuncts(predicate)
        if any(isinstance(part, Call) and _tells(part) for part in walk(term))
        for column in columns_of(term)
        if has_floats(column.type)
    )


def _tells(call: Call) -> bool:
    given = [arg.type for arg in call.args if not isinstance(arg, Lambda)]
    if not any(map(has_floats, given)):
        return False
    if call.function in ("cast", "try_cast"):
        return not isinstance(given[0], Float) or isinstance(call.type, String)
    return call.function not in SAME_FOR_EQUALS
