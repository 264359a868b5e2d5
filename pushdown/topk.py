"""Rankings that only decide which rows pass a filter ``rank <= k``: the rows of a top-k.

Such a number has no lineage of its own (SEMANTICS section 2). If anything else reads it, it has.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from pushdown.graph import OperatorGraph
from pushdown.needs import needed_columns
from pushdown.operators import Filter, Operator, RowTransform, Window
from symbolic.expr import Call, Column, Expr, Literal, conjunction, conjuncts
from symbolic.types import Integer

_RANKINGS = ("rank", "dense_rank", "row_number")
_AT_MOST = ("le", "lt")
_AT_LEAST = ("ge", "gt")


def with_cuts(graph: OperatorGraph) -> OperatorGraph:
    """The graph, in which rankings that only cut rows off are silent."""
    changed: dict[int, Operator] = {}
    for operator in graph.operators():
        if isinstance(operator, Window):
            functions = tuple(
                msgspec.structs.replace(each, silent=True, beside=())
                if each.call.function in _RANKINGS
                and not each.silent
                and _only_cuts(graph, operator.id, each.column.id)
                else each
                for each in operator.functions
            )
            if functions != operator.functions:
                changed[operator.id] = msgspec.structs.replace(operator, functions=functions)
    if not changed:
        return graph
    return OperatorGraph((changed.get(o.id, o) for o in graph.operators()), graph.root)


def _only_cuts(graph: OperatorGraph, node: int, number: int) -> bool:
    """Whether a column of a node is read by filters ``<= k`` alone, and by some."""
    names = _names(graph, number)
    left: list[Operator] = []
    cuts = 0
    for operator in graph.operators():
        if isinstance(operator, Filter):
            terms = conjuncts(operator.condition)
            rest = [term for term in terms if not _cuts(term, names)]
            cuts += len(terms) - len(rest)
            operator = msgspec.structs.replace(operator, condition=conjunction(*rest))
        left.append(operator)
    if not cuts:
        return False
    return number not in needed_columns(OperatorGraph(left, graph.root))[node]


def _names(graph: OperatorGraph, number: int) -> Collection[int]:
    """The column, and the columns that projections copy it to."""
    found = {number}
    for node in graph.bottom_up():
        operator = graph[node]
        if isinstance(operator, RowTransform):
            found |= _copies(operator, found)
    return found


def _copies(operator: RowTransform, columns: Collection[int]) -> set[int]:
    read: Iterable[tuple[int, Expr]] = ((a.column.id, a.value) for a in operator.assignments)
    return {copy for copy, value in read if isinstance(value, Column) and value.id in columns}


def _cuts(term: Expr, names: Collection[int]) -> bool:
    """Whether a term says that a ranking is at most some constant, or that it is 1."""
    match term:
        case Call(function=compare, args=(Column(id=column), Literal(type=Integer()) as most)):
            below = _AT_MOST
        case Call(function=compare, args=(Literal(type=Integer()) as most, Column(id=column))):
            below = _AT_LEAST
        case _:
            return False
    return column in names and (compare in below or (compare == "eq" and most.value == 1))
