"""PIVOT, UNPIVOT and LATERAL VIEW on rows, with the source rows behind every row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tests.sqltruth.aggregates import aggregated
from tests.sqltruth.rows import Joined, Row, Traced, union
from tests.sqltruth.syntax import Expr, Pivot, Ref, Unpivot, View
from tests.sqltruth.values import Settings, key, normalized, row_key


def pivoted(item: Pivot, rows: Sequence[Traced], settings: Settings) -> Iterator[Joined]:
    """A row for each index, from its whole group."""
    groups: dict[Any, list[Traced]] = {}
    for row in rows:
        groups.setdefault(row_key([row.values[n] for n in item.index]), []).append(row)
    for members in groups.values():
        values = [normalized(members[0].values[n]) for n in item.index]
        for option in item.options:
            chosen = [r for r in members if key(r.values[item.by]) == key(option.value)]
            for call in item.aggregates:
                assert isinstance(call.argument, Ref)
                given = [row.values[call.argument.place] for row in chosen]
                shown = [value for value in given if value is not None]
                values.append(aggregated(call, shown, settings))
        yield Joined({item.relation: tuple(values)}, union(members))


def unpivoted(item: Unpivot, rows: Sequence[Traced]) -> Iterator[Joined]:
    """A row for each turned column of a row, NULLs left out unless they are included."""
    for row in rows:
        passed = tuple(row.values[place] for place in item.passed)
        for place in item.turned:
            value = row.values[place]
            if item.nulls or value is not None:
                yield Joined({item.relation: (*passed, item.names[place], value)}, row.sources)


def generated(view: View, there: bool, value: Callable[[Expr], Any]) -> list[Row]:
    """The rows that a view makes of one row, for which `value` evaluates."""
    rows = [tuple(map(value, row)) for row in view.rows] if there else []
    if view.kind == "posexplode":
        rows = [(place, *row) for place, row in enumerate(rows)]
    return rows or [(None,) * len(view.names)] * view.outer
