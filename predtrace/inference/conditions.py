"""The conditions of a region of joins, over the columns below it.

If only inner joins, semi joins and filters lie between operators, a row passes only in combinations
of rows that satisfy every condition in between. A condition on rows of two of these operators is
therefore true of the rows that lineage is made of. Columns that an outer join below may have padded
are not values of a row there: conditions that read them say nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pushdown.graph import OperatorGraph
from pushdown.operators import (
    Filter,
    InnerJoin,
    Operator,
    RowTransform,
    SemiJoin,
    Sort,
)
from symbolic.expr import (
    TRUE,
    Call,
    Column,
    Expr,
    column_ids,
    conjunction,
    conjuncts,
    params_of,
    substitute,
    walk,
)
from symbolic.functions import Zeros, row_of
from symbolic.types import has_floats

JOINING = (InnerJoin, SemiJoin, Filter, RowTransform, Sort)
"""Operators that combine and drop rows by conditions on these rows alone."""


def flattened(operators: Sequence[Operator], above: Expr = TRUE) -> Iterator[Expr]:
    """The conditions of operators (parents first) and the predicate above, over the columns
    below."""
    computed: dict[int, Expr] = {}
    for operator in reversed(operators):
        if isinstance(operator, RowTransform):
            for a in operator.assignments:
                if a.value != a.column:
                    computed[a.column.id] = substitute(a.value, computed)
        yield from conjuncts(substitute(getattr(operator, "condition", TRUE), computed))
    yield from conjuncts(substitute(above, computed))


def pair_conditions(
    graph: OperatorGraph, members: Sequence[int], families: Mapping[int, int]
) -> dict[tuple[int, int], Expr]:
    """The conditions on rows of two members, without equalities within a family of columns.

    By pairs of nodes, the lower number first. Conditions that distinguish equal floating-point
    numbers, as the texts of 0.0 and -0.0 do, are left out: a set of distinct values has only one of
    them.
    """
    owner = {column.id: node for node in members for column in graph.output(node)}
    found: dict[tuple[int, int], list[Expr]] = {}
    for region in _regions(graph):
        padded = _padded(graph, region[0].id)
        for term in flattened(region):
            read = column_ids(term)
            if params_of(term) or not read <= owner.keys() - padded or _is_tie(term, families):
                continue
            if tells_equals_apart(term):
                continue
            owners = sorted({owner[column] for column in read})
            if len(owners) == 2:
                found.setdefault((owners[0], owners[1]), []).append(term)
    return {pair: conjunction(*terms) for pair, terms in found.items()}


def _regions(graph: OperatorGraph) -> Iterator[list[Operator]]:
    """The largest sets of neighbouring operators that only join, parents first."""
    seen: set[int] = set()
    for top in graph.top_down():
        if top in seen or not isinstance(graph[top], JOINING):
            continue
        region: list[Operator] = []
        pending = [top]
        while pending:
            node = pending.pop(0)
            if isinstance(graph[node], JOINING) and node not in seen:
                seen.add(node)
                region.append(graph[node])
                pending.extend(graph.inputs(node))
        yield region


def _padded(graph: OperatorGraph, top: int) -> set[int]:
    """The columns that operators under (and with) `top` pad, by id: these keep their ids above."""
    found: set[int] = set()
    for node in graph.top_down(top):
        inputs = graph.inputs(node)
        for place in graph[node].padded:
            found.update(column.id for column in graph.output(inputs[place]))
    return found


def _is_tie(term: Expr, families: Mapping[int, int]) -> bool:
    match term:
        case Call(function="eq" | "nullsafe_eq", args=(Column(id=left), Column(id=right))):
            return families.get(left, -1) == families.get(right, -2)
    return False


def tells_equals_apart(term: Expr) -> bool:
    """Whether a floating-point column is read in a way that distinguishes equal values."""
    return any(
        isinstance(part, Call)
        and not _same_for_zeros(part.function)
        and any(isinstance(arg, Column) and has_floats(arg.type) for arg in part.args)
        for part in walk(term)
    )


def _same_for_zeros(function: str) -> bool:
    row = row_of(function)
    return row is not None and row.zeros is Zeros.SAME
