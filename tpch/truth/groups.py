"""GROUP BY, ROLLUP and aggregates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlglot import exp

from tpch.truth import values
from tpch.truth.joins import Joined
from tpch.truth.origins import Origin, together
from tpch.truth.scopes import Computed


class Aggregate(NamedTuple):
    """An aggregate of the text, its argument compiled (None counts rows)."""

    node: exp.Expr
    argument: Computed | None

    @property
    def distinct(self) -> bool:
        """Whether it drops repeated values first."""
        return isinstance(self.node.this, exp.Distinct)


def aggregates_in(node: Any) -> Iterator[exp.Expr]:
    """The aggregates of an expression that a GROUP BY computes: not those of windows, nor those
    of subqueries."""
    if isinstance(node, exp.Subquery | exp.Select | exp.SetOperation):
        return
    if isinstance(node, exp.Window):
        parts = [*node.this.args.values(), *(v for k, v in node.args.items() if k != "this")]
    elif type(node) in (*values.AGGREGATES, exp.Grouping):
        yield node
        return
    else:
        parts = list(node.args.values())
    for part in parts:
        for each in part if isinstance(part, list) else [part]:
            if isinstance(each, exp.Expr):
                yield from aggregates_in(each)


def grouped(
    rows: Sequence[Joined],
    keys: Sequence[Computed],
    levels: Sequence[frozenset[int]],
    aggregates: Sequence[Aggregate],
    reading: str,
    outer: Any,
) -> list[Joined]:
    """A row per group, at each level of the keys that it keeps: keys, level, then results."""
    groups: dict[Any, list[tuple[Any, list[Any], Origin]]] = {}
    if not keys:
        groups[()] = []
    for row, origin in rows:
        context = (row, outer)
        found = [key.value(context) for key in keys]
        computed = [a.argument.value(context) if a.argument else 1 for a in aggregates]
        parts = [*keys, *(a.argument for a in aggregates if a.argument)]
        behind = together(origin, *(b(context) for part in parts for b in part.behind))
        for number, level in enumerate(levels):
            shown = tuple(v if place in level else None for place, v in enumerate(found))
            group = (number, *map(values.key, shown)) if keys else ()
            groups.setdefault(group, []).append((shown, computed, behind))
    return [
        _group(members, levels, group, aggregates, reading) for group, members in groups.items()
    ]


def _group(
    members: Sequence[tuple[Any, list[Any], Origin]],
    levels: Sequence[frozenset[int]],
    group: Any,
    aggregates: Sequence[Aggregate],
    reading: str,
) -> Joined:
    keys = members[0][0] if members and group else ()
    columns = [[computed[n] for _, computed, _ in members] for n in range(len(aggregates))]
    results = [_result(a, column) for a, column in zip(aggregates, columns, strict=True)]
    level = levels[group[0]] if group else frozenset()
    chosen: Sequence[int] = range(len(members))
    attained = all(isinstance(a.node, values.ATTAINED) for a in aggregates)
    if reading == "minimal" and aggregates and attained and set(results) != {None}:
        pairs = list(zip(columns, results, strict=True))
        chosen = [n for n in chosen if any(r is not None and column[n] == r for column, r in pairs)]
    origin = together(*(members[n][2] for n in chosen))
    return ((*keys, level, *results),), origin


def _result(aggregate: Aggregate, column: Sequence[Any]) -> Any:
    given = [value for value in column if value is not None]
    if aggregate.distinct:
        given = list({values.key(value): value for value in given}.values())
    return values.AGGREGATES[type(aggregate.node)](given)
