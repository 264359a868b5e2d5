"""Merges columns that an operator only compares as a whole, or only groups by.

A set operation or DISTINCT uses most columns only to compare a row's tuple of them with another
row's. A GROUP BY uses its keys in the same way. Such columns become one column, whose values stand
for the tuples. The terms above that read them become one arbitrary predicate, or one pin, over that
column. This needs equal values to be identical. 0.0 and -0.0 are not, so a column of floats that
the predicate reads stays by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import msgspec

from pushdown.obligations import Obligation
from pushdown.operators import AggregateCall, Aggregation, Assignment, Distinct, GroupBy, Union_
from pushdown.readings import WHOLE
from pushdown.rules.base import Context
from pushdown.rules.groups import attains
from symbolic.expr import (
    FALSE,
    Call,
    Column,
    Expr,
    Param,
    call,
    column_ids,
    conjunction,
    conjuncts,
    params_of,
    same,
    substitute,
)
from symbolic.types import LONG, same_if_equal


def replaced(candidate: Expr, group: Collection[Expr], stand_in: Expr) -> Expr | None:
    """The candidate with all of the group's terms replaced; None if it has only some of them."""
    terms = conjuncts(candidate)
    rest = [term for term in terms if term not in group]
    if column_ids(*rest) & column_ids(*group):
        return None
    present = len(terms) - len(rest)
    if present == len(group):
        return conjunction(*rest, stand_in)
    return candidate if present == 0 else None


def _any(column: Column) -> Expr:
    return call("any", column)


class _Merge(msgspec.Struct, frozen=True):
    """Output columns (ids) to merge, the terms that read them, and the terms' replacement."""

    columns: frozenset[int]
    terms: tuple[Expr, ...] = ()
    said: Callable[[Column], Expr] = _any


def merged_rows(obligation: Obligation) -> Obligation:
    """For operators that compare rows: the columns that are only compared as parts of whole rows.

    UNION ALL and DISTINCT select the rows that the predicate above selects, whatever it is; the
    other operators do so if it pins the row.
    """
    operator: Any = obligation.operator
    context = obligation.context
    columns = getattr(operator, "columns", context.inputs[0])
    branches = getattr(operator, "branches", (columns,))
    places: list[tuple[Column, ...]] = list(zip(columns, *branches, strict=True))
    terms = conjuncts(obligation.above)
    everything = frozenset(place[0].id for place in places)
    same_values = {place[0].id for place in places if same_if_equal(c.type for c in place)}
    if isinstance(operator, (Union_, Distinct)):
        merges = _selected(everything, same_values, terms)
    else:
        # What the operator reads by itself, as the keys of duplicates, stays.
        merges = _pinned(everything - column_ids(*operator.expressions), same_values, terms)
    own = [_stand_in(place) for place in range(len(merges))]
    stand_ins = [own] * (len(branches) + 1)
    if hasattr(operator, "branches"):
        stand_ins = [
            [_stand_in(place + len(merges) * number) for place in range(len(merges))]
            for number in range(len(branches) + 1)
        ]
    proposals = []
    for number, candidates in enumerate(obligation.proposals, start=1):
        fed = {place[0].id: place[number] for place in places}
        proposals.append([_below(merges, c, fed, stand_ins[number]) for c in candidates])
    if any(None in candidates for candidates in proposals):
        return obligation
    gone = frozenset().union(*(merge.columns for merge in merges))
    kept = [*zip(*stand_ins, strict=True), *(p for p in places if p[0].id not in gone)]
    outputs, *inputs = zip(*kept, strict=True) if kept else [()] * (len(branches) + 1)
    if hasattr(operator, "branches"):
        operator = msgspec.structs.replace(operator, columns=outputs, branches=tuple(inputs))
    return msgspec.structs.replace(
        obligation,
        operator=operator,
        above=_above(merges, terms, own),
        proposals=tuple(map(tuple, proposals)),
        context=msgspec.structs.replace(
            context, inputs=tuple(tuple(dict.fromkeys(each)) for each in inputs)
        ),
    )


def merged_keys(obligation: Obligation) -> Obligation:
    """For a GROUP BY: the keys that the predicate above only pins together, and the keys it leaves
    open.

    Does not apply if only rows that attain a min or max count.
    """
    operator = obligation.operator
    assert isinstance(operator, GroupBy)
    if attains(operator, obligation.context):
        return obligation
    (candidates,) = obligation.proposals
    terms = conjuncts(obligation.above)
    of_results = _of_results_alone(operator, terms, candidates)
    mergeable = _mergeable(operator)
    merges = _pinned(frozenset(mergeable), mergeable.keys(), terms)
    own = [_stand_in(place) for place in range(len(merges))]
    result = _stand_in(len(merges))
    below = [_below(merges, candidate, mergeable, own) for candidate in candidates]
    if None in below:
        return obligation
    gone = frozenset().union(*(merge.columns for merge in merges))
    terms = tuple(term for term in terms if term not in of_results)
    above = _above(merges, terms, own)
    read = column_ids(*terms)
    results = [
        Aggregation(a.column, AggregateCall(a.call.function, (), a.call.type))
        for a in operator.aggregations
        if a.column.id in read
    ]
    if of_results:
        above = conjunction(above, _any(result))
        results.append(Aggregation(result, AggregateCall("sum", (), LONG)))
    return msgspec.structs.replace(
        obligation,
        operator=msgspec.structs.replace(
            operator,
            keys=(
                *(Assignment(column, column) for column in own),
                *(key for key in operator.keys if key.column.id not in gone),
            ),
            # An aggregate is some function of the keys; the proof does not ask which one.
            aggregations=tuple(results),
        ),
        above=above,
        proposals=(tuple(below),),
        context=Context(((*own, *obligation.context.inputs[0]),), WHOLE),
    )


def _of_results_alone(
    operator: GroupBy, terms: Sequence[Expr], candidates: Sequence[Expr]
) -> frozenset[Expr]:
    """The terms that read only results of aggregates, if nothing else reads these or their params.

    The results are an arbitrary function of the keys. So is the truth of such terms together.
    """
    results = {aggregation.column.id for aggregation in operator.aggregations}
    found = {term for term in terms if column_ids(term) <= results}
    while True:
        others = [term for term in terms if term not in found]
        columns, params = column_ids(*others), params_of(*others, *candidates)
        tied = {term for term in found if column_ids(term) & columns or params_of(term) & params}
        if not tied:
            break
        found -= tied
    # Terms of params alone do not depend on the group.
    return frozenset(found) if column_ids(*found) else frozenset()


def _mergeable(operator: GroupBy) -> dict[int, Column]:
    """Keys (ids) that are columns of the input and whose equal values are identical."""
    read = [column for key in operator.keys for column in column_ids(key.value)]
    return {
        key.column.id: key.value
        for key in operator.keys
        if isinstance(key.value, Column)
        and read.count(key.value.id) == 1
        and same_if_equal((key.column.type, key.value.type))
    }


def _selected(
    columns: frozenset[int], same_values: Collection[int], terms: Sequence[Expr]
) -> list[_Merge]:
    """All columns except columns that terms connect with values that may be equal but not
    identical."""
    odd = columns - set(same_values)
    apart: frozenset[int] = frozenset()
    while True:
        more = frozenset(
            column for read in map(column_ids, terms) if read & (odd | apart) for column in read
        )
        if more <= apart:
            break
        apart |= more
    group = tuple(term for term in terms if (read := column_ids(term)) and not read & apart)
    return [_Merge(columns - apart, group)]


def _pinned(
    columns: frozenset[int], same_values: Collection[int], terms: Sequence[Expr]
) -> list[_Merge]:
    """The columns that the terms only pin, and the columns that they do not read."""
    reading: dict[int, list[Expr]] = {}
    asking: dict[Param, list[Expr]] = {}
    for term in terms:
        for read in column_ids(term):
            reading.setdefault(read, []).append(term)
        for param in params_of(term):
            asking.setdefault(param, []).append(term)
    pins: dict[int, Expr] = {}
    for column in columns & frozenset(same_values):
        match reading.get(column):
            case [Call(function="nullsafe_eq", args=(Column(), Param() as param)) as pin]:
                if asking[param] == [pin]:
                    pins[column] = pin
    found = [_Merge(columns - column_ids(*terms))]
    if pins:
        found.append(_Merge(frozenset(pins), tuple(pins.values()), _pin))
    return [merge for merge in found if merge.columns]


def _above(merges: Sequence[_Merge], terms: Sequence[Expr], columns: Sequence[Column]) -> Expr:
    gone = [term for merge in merges for term in merge.terms]
    pairs = zip(merges, columns, strict=True)
    said = [merge.said(column) for merge, column in pairs if merge.terms]
    return conjunction(*said, *(term for term in terms if term not in gone))


def _below(
    merges: Sequence[_Merge],
    candidate: Expr,
    fed: Mapping[int, Expr],
    columns: Sequence[Column],
) -> Expr | None:
    """The candidate with the merged terms replaced; `fed` has the sources of output columns."""
    below: Expr | None = candidate
    for merge, column in zip(merges, columns, strict=True):
        if merge.terms and below not in (None, FALSE):
            group = dict.fromkeys(substitute(term, fed) for term in merge.terms)
            below = replaced(below, group, merge.said(column))
    return below


def _pin(column: Column) -> Expr:
    return same(column, Param(0, -1, "others", LONG, nullable=False))


def _stand_in(place: int) -> Column:
    return Column(-1 - place, "others", LONG, nullable=False)
