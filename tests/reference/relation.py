"""Relations: rows with provenance, and what operators do to them by value."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from pushdown.operators import Except, Intersect, SortKey
from symbolic.expr import Column
from tests.reference.provenance import Provenance, union
from tests.reference.values import Row, order_key, row_key


class Relation(NamedTuple):
    """Rows in order with their provenances; `ranks` numbers the sort order's ties, if sorted."""

    columns: tuple[Column, ...]
    rows: list[Row]
    provenances: list[Provenance]
    ranks: list[int] | None = None


def picked(source: Relation, indexes: Iterable[int]) -> Relation:
    """Some of the rows, in the given order (which keeps or replaces the sort order)."""
    kept = list(indexes)
    return Relation(
        source.columns,
        [source.rows[index] for index in kept],
        [source.provenances[index] for index in kept],
        None if source.ranks is None else [source.ranks[index] for index in kept],
    )


def provenances_by_value(source: Relation) -> dict[Row, list[Provenance]]:
    found: defaultdict[Row, list[Provenance]] = defaultdict(list)
    for row, provenance in zip(source.rows, source.provenances, strict=True):
        found[row_key(row)].append(provenance)
    return dict(found)


def united(source: Relation) -> Relation:
    """The same rows, each with the provenance of all rows equal to it."""
    by_value = {key: union(parts) for key, parts in provenances_by_value(source).items()}
    return source._replace(provenances=[by_value[row_key(row)] for row in source.rows])


def aligned(source: Relation, branch: tuple[Column, ...], columns: tuple[Column, ...]) -> Relation:
    """The input's rows, cut down and renamed to a set operation's columns."""
    places = {column.id: index for index, column in enumerate(source.columns)}
    order = [places[column.id] for column in branch]
    rows = [tuple([row[place] for place in order]) for row in source.rows]
    return Relation(columns, rows, source.provenances)


def both_aligned(
    operator: Intersect | Except, left: Relation, right: Relation
) -> tuple[Relation, Relation]:
    first, second = operator.branches
    return aligned(left, first, operator.columns), aligned(right, second, operator.columns)


def counted(source: Relation, every: bool) -> list[tuple[Row, Row, int]]:
    """Each value's key, first row, and how often it is there (1 unless `every`)."""
    firsts: dict[Row, Row] = {}
    counts: Counter[Row] = Counter()
    for row in source.rows:
        key = row_key(row)
        firsts.setdefault(key, row)
        counts[key] = counts[key] + 1 if every else 1
    return [(key, row, counts[key]) for key, row in firsts.items()]


def sorted_by(order: list[int], keys: list[Row], place: int, key: SortKey) -> list[int]:
    """Stable sort by one key; NULLs first or last whatever the direction."""
    nulls = [index for index in order if keys[index][place] is None]
    present = [index for index in order if keys[index][place] is not None]
    present.sort(key=lambda index: order_key(keys[index][place]), reverse=not key.ascending)
    return nulls + present if key.nulls_first else present + nulls


def free_choice(source: Relation, cut: int) -> bool:
    """Whether another run may put other rows before the cut."""
    if not 0 < cut < len(source.rows):
        return False
    ranks = source.ranks or [0] * len(source.rows)
    if ranks[cut - 1] != ranks[cut]:
        return False
    tied = {
        row_key(row) for row, rank in zip(source.rows, ranks, strict=True) if rank == ranks[cut]
    }
    return len(tied) > 1
