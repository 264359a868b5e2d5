"""Which columns a query reads, given which of its own are read above.

Section 2 is read without the computed columns that nothing above reads. Conditions, group keys,
sort keys and comparisons of whole rows read theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tests.sqltruth.syntax import (
    Aggregate,
    Call,
    Constant,
    Derived,
    Exists,
    Expr,
    Grouping,
    InQuery,
    Item,
    Join,
    Pivot,
    Query,
    Ref,
    Scalar,
    Select,
    SetOperation,
    Subquery,
    Table,
    Top,
    Unpivot,
    Values,
    View,
    Window,
    inputs,
    width,
)

Places = frozenset[int]
Reads = frozenset[tuple[int, int]]
"""Columns: FROM item and place."""


def every(query: Query) -> Places:
    """All columns of a query."""
    return frozenset(range(width(query)))


def asked(subquery: Subquery) -> Places:
    """The columns that a subquery's use reads: none for EXISTS."""
    return frozenset() if isinstance(subquery, Exists) else every(subquery.query)


def of_expression(expr: Expr | Aggregate) -> Reads:
    """What an expression reads, its subqueries included."""
    match expr:
        case Ref(relation, place):
            return frozenset([(relation, place)])
        case Constant():
            return frozenset()
        case Call(arguments=arguments):
            return _all(arguments)
        case InQuery(operands=operands):
            return _all(operands) | of_query(expr.query, asked(expr))
        case Exists() | Scalar():
            return of_query(expr.query, asked(expr))
        case Aggregate():
            return _all(inputs(expr))


def _all(exprs: Iterable[Expr | Aggregate]) -> Reads:
    return frozenset().union(*map(of_expression, exprs))


def of_query(query: Query, needed: Places) -> Reads:
    """All that is read in a query of which `needed` columns are read, outer columns included."""
    match query:
        case Top(query=inner):
            return of_query(inner, every(inner))
        case SetOperation(left=left, right=right):
            places = branches_need(query, needed)
            return of_query(left, places) | of_query(right, places)
        case Select():
            reads = of_select(query, needed)
            return reads | of_item(query.source, reads)


def branches_need(operation: SetOperation, needed: Places) -> Places:
    """UNION ALL compares no rows, all others do."""
    plain = operation.operator == "UNION" and operation.all
    return needed if plain else every(operation)


def of_select(select: Select, needed: Places) -> Reads:
    """What the clauses of a SELECT read, FROM left out."""
    outputs = [
        item for place, item in enumerate(select.items) if select.distinct or place in needed
    ]
    qualified = [] if select.qualify is None else [select.qualify]
    above = _all([*outputs, *select.order, *qualified])
    above |= _all(part for _, window in windows_read(select, above) for part in window.parts)
    grouping = select.grouping
    below = _all([*select.where, *(part for view in select.views for part in of_view(view))])
    if grouping is None:
        return above | below
    if grouping.having is not None:
        above |= of_expression(grouping.having)
    computed = [aggregate for _, aggregate in aggregates_read(grouping, above)]
    return above | below | _all(grouping.keys) | _all(computed)


def of_view(view: View) -> Iterator[Expr]:
    """The expressions of a LATERAL VIEW: its array decides how many rows there are."""
    for row in view.rows:
        yield from row
    if view.kept is not None:
        yield view.kept


def aggregates_read(grouping: Grouping, above: Reads) -> list[tuple[int, Aggregate]]:
    """The aggregates that something reads, with their places in the grouping's columns."""
    first = len(grouping.keys)
    return [
        (first + number, aggregate)
        for number, aggregate in enumerate(grouping.aggregates)
        if (grouping.relation, first + number) in above
    ]


def windows_read(select: Select, above: Reads) -> list[tuple[int, Window]]:
    """The window functions that something reads, with their places."""
    if select.windows is None:
        return []
    relation, functions = select.windows.relation, select.windows.functions
    return [(n, function) for n, function in enumerate(functions) if (relation, n) in above]


def passing(
    select: Select, needed: Places, computed: Iterable[tuple[int, Window]]
) -> Iterator[Expr]:
    """What passes through the windows of a SELECT: all that it reads, besides their values."""
    assert select.windows is not None
    for place, item in enumerate(select.items):
        if select.distinct or place in needed:
            yield from plain_parts(item, select.windows.relation)
    if select.qualify is not None:
        yield from plain_parts(select.qualify, select.windows.relation)
    for _, window in computed:
        yield from window.parts


def plain_parts(expr: Expr, windows: int) -> Iterator[Expr]:
    """The largest parts of an expression that read no column of the windows."""
    if not places_of(windows, of_expression(expr)):
        yield expr
    elif isinstance(expr, Call):
        for argument in expr.arguments:
            yield from plain_parts(argument, windows)


def of_item(item: Item, above: Reads) -> Reads:
    """What a FROM item reads when `above` is read: join conditions and derived tables."""
    match item:
        case Table() | Values():
            return frozenset()
        case Derived(query=query) | Pivot(query=query) | Unpivot(query=query):
            return of_query(query, asked_of(item, above))
        case Join():
            own = joined(item, above) | above
            return own | of_item(item.left, own) | of_item(item.right, own)


def joined(join: Join, above: Reads) -> Reads:
    """What a join's condition reads, and of the left side what a lateral right side does."""
    pairs = _all(ref for pair in join.merged for ref in pair)
    reads = pairs if join.on is None else pairs | of_expression(join.on)
    if isinstance(join.right, Derived) and join.right.lateral:
        reads |= of_item(join.right, reads | above)
    return reads


def asked_of(item: Derived | Pivot | Unpivot, above: Reads) -> Places:
    """The columns that a FROM item reads of its query."""
    places = places_of(item.relation, above)
    match item:
        case Derived():
            return places
        case Pivot():
            of_values = {place - len(item.index) for place in places if place >= len(item.index)}
            calls = {item.aggregates[place % len(item.aggregates)] for place in of_values}
            return frozenset({*item.index, item.by}) | places_of(item.inner, _all(calls))
        case Unpivot():
            passed = (place for n, place in enumerate(item.passed) if n in places)
            return frozenset([*passed, *item.turned])


def places_of(relation: int, reads: Reads) -> Places:
    """The places read of one FROM item."""
    return frozenset(place for number, place in reads if number == relation)
