"""Rankings that only decide which rows pass a filter ``rank <= k``: the rows of a top-k.

Such a number has no lineage of its own (SEMANTICS section 2). If anything else reads it, it has;
but 1, the number of a first row, has none in any case.

``row_number() <= k`` keeps the rows of ``rank() <= k``, unless rows tie across the cut: then it
keeps some of them, as the run has it. Whether they tie depends on the data.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from pushdown.graph import OperatorGraph
from pushdown.needs import needed_columns
from pushdown.operators import Assignment, Filter, Operator, RowTransform, Window, WindowFunction
from symbolic.expr import Call, Column, Expr, Literal, column_ids, conjunction, conjuncts
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


class NumberCut(msgspec.Struct, frozen=True):
    """A `row_number` of window `node` that only cuts rows off, after the first `counts` rows.

    `number` and `rank` are the columns of the number and of the rank over the same rows.
    """

    node: int
    number: Column
    rank: Column
    counts: tuple[int, ...]


def number_cuts(graph: OperatorGraph) -> tuple[NumberCut, ...]:
    """The numbers that only cut rows off, inputs first; without those whose rows all tie."""
    return tuple(
        NumberCut(node, each.column, rank, counts)
        for node in graph.bottom_up()
        if isinstance(operator := graph[node], Window)
        for each in operator.functions
        if each.call.function == "row_number" and each.silent and column_ids(*_sorted_by(each))
        if (rank := _rank_beside(operator, each)) is not None
        if (counts := _cut_after(graph, node, each.column.id))
    )


def _sorted_by(function: WindowFunction) -> Iterable[Expr]:
    return (key.value for key in function.order)


def _rank_beside(operator: Window, number: WindowFunction) -> Column | None:
    over = number.partition, number.order
    for each in operator.functions:
        if each.call.function == "rank" and (each.partition, each.order) == over:
            return each.column
    return None


def with_ranks(graph: OperatorGraph, cuts: Iterable[NumberCut]) -> OperatorGraph:
    """The graph with `rank` in place of numbers: the same rows pass, as no rows tie at the cuts."""
    numbers = {cut.number.id for cut in cuts}
    return OperatorGraph((_ranking(o, numbers) for o in graph.operators()), graph.root)


def _ranking(operator: Operator, numbers: Collection[int]) -> Operator:
    if not isinstance(operator, Window):
        return operator
    functions = tuple(
        msgspec.structs.replace(each, call=msgspec.structs.replace(each.call, function="rank"))
        if each.column.id in numbers
        else each
        for each in operator.functions
    )
    return msgspec.structs.replace(operator, functions=functions)


def _only_cuts(graph: OperatorGraph, node: int, number: int) -> bool:
    """Whether a column of a node is read by filters ``<= k`` alone, and by some."""
    return bool(_cut_after(graph, node, number))


def _cut_after(graph: OperatorGraph, node: int, number: int) -> tuple[int, ...]:
    """The numbers k of the filters ``<= k`` that read a column; none if anything else reads it.

    Above a filter that leaves 1 alone the column is a constant, which reads no ranking: a first row
    has no rows before it.
    """
    names = _names(graph, number)
    left: list[Operator] = []
    counts: list[int] = []
    for operator in graph.operators():
        if isinstance(operator, Filter):
            terms = [(term, _most(term, names)) for term in conjuncts(operator.condition)]
            found = [most for _, most in terms if most is not None]
            rest = conjunction(*(term for term, most in terms if most is None))
            counts += found
            first = 1 in found and column_ids(rest).isdisjoint(names)
            operator = (
                _with_ones(graph, operator, names)
                if first
                else msgspec.structs.replace(operator, condition=rest)
            )
        left.append(operator)
    if not counts or number in needed_columns(OperatorGraph(left, graph.root))[node]:
        return ()
    return tuple(counts)


def _with_ones(graph: OperatorGraph, operator: Filter, names: Collection[int]) -> RowTransform:
    """A node's columns, with 1 for some of them."""
    return RowTransform(
        id=operator.id,
        input=operator.input,
        assignments=tuple(
            Assignment(column, Literal(1, column.type) if column.id in names else column)
            for column in graph.output(operator.id)
        ),
    )


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


def _most(term: Expr, names: Collection[int]) -> int | None:
    """The number that a term says a ranking is at most, or that it is, if that is 1."""
    match term:
        case Call(function=compare, args=(Column(id=column), Literal(type=Integer()) as most)):
            at_most, less = _AT_MOST
        case Call(function=compare, args=(Literal(type=Integer()) as most, Column(id=column))):
            at_most, less = _AT_LEAST
        case _:
            return None
    if column not in names or most.value is None:
        return None
    if compare == at_most or (compare == "eq" and most.value == 1):
        return int(most.value)
    return int(most.value) - 1 if compare == less else None
