"""Rows with the source rows behind them, in plain Python: what docs/semantics.md, section 2, says.

A `Frame` has an operation for every operator. Nothing here knows Spark or predtrace.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tests.pipelines.rows import Agg, Column, Origin, Row, behind, get, grouped, key, key_of, null

__all__ = ["Frame", "Row", "Tables", "key", "merged", "null"]


class Frame:
    """Traced rows under column names; `whole` is the reading of min and max."""

    def __init__(self, columns: Iterable[str], rows: Iterable[Row], whole: bool = False) -> None:
        self.columns = tuple(columns)
        self.rows = list(rows)
        self.whole = whole

    def made(self, columns: Iterable[str], rows: Iterable[Row]) -> Frame:
        """Another frame of the same reading."""
        return Frame(columns, rows, self.whole)

    def where(self, condition: Callable[[Row], Any]) -> Frame:
        """The rows for which the condition is true."""
        return self.made(self.columns, [row for row in self.rows if condition(row)])

    def select(self, names: str = "", **more: Column) -> Frame:
        """Some columns, by their names with blanks between, and computed ones."""
        return self.pick(*names.split(), **more)

    def pick(self, *names: str, **more: Column) -> Frame:
        """Some columns and computed ones."""
        made = {**{name: get(name) for name in names}, **{n: get(c) for n, c in more.items()}}
        rows = [Row({n: f(row) for n, f in made.items()}, row.sources) for row in self.rows]
        return self.made(made, rows)

    def add(self, **more: Column) -> Frame:
        """All columns, and computed ones; one of the same name is replaced."""
        return self.pick(*self.columns, **more)

    def drop(self, names: str) -> Frame:
        """All columns but some."""
        return self.pick(*(name for name in self.columns if name not in names.split()))

    def rename(self, **names: str) -> Frame:
        """Columns under other names: old=new."""
        new = {name: names.get(name, name) for name in self.columns}
        rows = [Row({new[n]: v for n, v in row.values.items()}, row.sources) for row in self.rows]
        return self.made(new.values(), rows)

    def prefix(self, text: str) -> Frame:
        """All columns under names that begin with a text."""
        return self.rename(**{name: text + name for name in self.columns})

    def join(self, other: Frame, on: str | Callable[[Row, Row], Any], how: str = "inner") -> Frame:
        """A join on columns of the same names, which occur once, or on a condition of two rows.

        `how` is inner, left, right, full, semi or anti.
        """
        names = on.split() if isinstance(on, str) else []
        condition = _equal_on(names) if isinstance(on, str) else on
        rest = [name for name in other.columns if name not in names]
        columns = [*self.columns, *rest]
        matches = [[r for r in other.rows if condition(row, r)] for row in self.rows]
        if how in ("semi", "anti"):
            kept = zip(self.rows, matches, strict=True)
            rows = [Row(row.values, behind([row, *found])) for row, found in kept
                    if bool(found) is (how == "semi")]  # fmt: skip
            return self.made(self.columns, rows)
        pairs = [(row, r) for row, found in zip(self.rows, matches, strict=True) for r in found]
        rows = [Row({**r.values, **row.values}, row.sources | r.sources) for row, r in pairs]
        if how in ("left", "full"):
            blank = dict.fromkeys(rest)
            alone = [row for row, some in zip(self.rows, matches, strict=True) if not some]
            rows += [Row({**row.values, **blank}, row.sources) for row in alone]
        if how in ("right", "full"):
            met = {id(r) for _, r in pairs}
            blank = dict.fromkeys(self.columns)
            rows += [Row({**blank, **r.values}, r.sources) for r in other.rows if id(r) not in met]
        return self.made(columns, rows)

    def cross(self, other: Frame) -> Frame:
        """All pairs."""
        return self.join(other, lambda left, right: True)

    def scalar(self, name: str, query: Frame | Callable[[Row], Frame]) -> Frame:
        """A column more: the value of a scalar subquery, which may depend on the row."""
        rows = []
        for row in self.rows:
            found = query(row) if callable(query) else query
            values = [inner[found.columns[0]] for inner in found.rows]
            assert len(values) < 2
            value = values[0] if values else None
            rows.append(Row({**row.values, name: value}, behind([row, *found.rows])))
        return self.made([*self.columns, name], rows)

    def mark(self, name: str, other: Frame, condition: Callable[[Row, Row], Any]) -> Frame:
        """A column more: whether another frame has a match, as EXISTS inside OR or CASE says."""
        rows = []
        for row in self.rows:
            found = [inner for inner in other.rows if condition(row, inner)]
            rows.append(Row({**row.values, name: bool(found)}, behind([row, *found])))
        return self.made([*self.columns, name], rows)

    def group(self, keys: str = "", **aggregates: Agg) -> Frame:
        """A row a group; without keys there is one group, which may be empty."""
        return self.sets([keys.split()], keys.split(), **aggregates)

    def sets(
        self, levels: Iterable[Sequence[str]], keys: Sequence[str], **aggregates: Agg
    ) -> Frame:
        """Grouping sets: a row for each group of each level; other keys are NULL there."""
        rows = []
        for level in levels:
            for group in grouped(self.rows, level, empty=not level):
                blank = dict.fromkeys(keys)
                values = {**blank, **{key: group[0][key] for key in level}}
                results = {name: agg.value(group) for name, agg in aggregates.items()}
                rows.append(Row({**values, **results}, self._behind(group, aggregates, results)))
        return self.made([*keys, *aggregates], rows)

    def rollup(self, keys: str, **aggregates: Agg) -> Frame:
        """All keys, and ever fewer of them from the right."""
        names = keys.split()
        levels = [names[:length] for length in range(len(names), -1, -1)]
        return self.sets(levels, names, **aggregates)

    def pivot(self, keys: str, column: str, values: Sequence[Any], **aggregates: Agg) -> Frame:
        """A row for each group of keys; the aggregates of each value's rows side by side."""
        rows, names = [], []
        for value in values:
            names += [f"{value}_{n}" if len(aggregates) > 1 else f"{value}" for n in aggregates]
        for group in grouped(self.rows, keys.split(), empty=not keys):
            results = [
                agg.value(part) if (part := [r for r in group if r[column] == value]) else
                agg.value([]) for value in values for agg in aggregates.values()
            ]  # fmt: skip
            made = {key: group[0][key] for key in keys.split()}
            rows.append(Row({**made, **dict(zip(names, results, strict=True))}, behind(group)))
        return self.made([*keys.split(), *names], rows)

    def apply(self, keys: str, columns: str, call: Callable[[Sequence[Row]], Any]) -> Frame:
        """A grouped map: the rows (tuples) that a call gives for each group."""
        rows = []
        for group in grouped(self.rows, keys.split()):
            for values in call(group):
                made = dict(zip(columns.split(), values, strict=True))
                rows.append(Row(made, behind(group)))
        return self.made(columns.split(), rows)

    def distinct(self) -> Frame:
        """Each row once."""
        rows = [Row(same[0].values, behind(same)) for same in grouped(self.rows, self.columns)]
        return self.made(self.columns, rows)

    def union(self, other: Frame) -> Frame:
        """All rows of both, by position."""
        new = [dict(zip(self.columns, _values(row, other), strict=True)) for row in other.rows]
        more = [Row(values, row.sources) for values, row in zip(new, other.rows, strict=True)]
        return self.made(self.columns, [*self.rows, *more])

    def intersect(self, other: Frame) -> Frame:
        """The different rows that both have."""
        return self._compared(other, among=True)

    def minus(self, other: Frame) -> Frame:
        """The different rows that the other lacks."""
        return self._compared(other, among=False)

    def expand(self, columns: str, call: Callable[[Row], Iterable[Sequence[Any]]]) -> Frame:
        """The columns and more: a row for each tuple that the call gives, as explode does."""
        names = columns.split()
        rows = [
            Row({**row.values, **dict(zip(names, values, strict=True))}, row.sources)
            for row in self.rows
            for values in call(row)
        ]
        return self.made([*self.columns, *names], rows)

    def explode(self, column: str, name: str, outer: bool = False) -> Frame:
        """A row for each element of an array."""
        blank = [None] if outer else []
        return self.expand(name, lambda row: [(one,) for one in row[column] or blank])

    def unite(self) -> Frame:
        """The same rows; equal ones have the sources of all of them, as a row stands for its
        values."""
        same = merged(self)
        rows = [Row(row.values, same[key_of(row, self.columns)]) for row in self.rows]
        return self.made(self.columns, rows)

    def _behind(
        self, group: Sequence[Row], aggregates: Mapping[str, Agg], results: Mapping[str, Any]
    ) -> frozenset[Origin]:
        minimal = not self.whole and all(agg.attaining for agg in aggregates.values())
        found = {name: value for name, value in results.items() if value is not None}
        if not minimal or not found:
            return behind(group)
        return behind(
            row
            for name, value in found.items()
            for row in (aggregates[name].attaining or _none)(group, value)
        )

    def _compared(self, other: Frame, *, among: bool) -> Frame:
        theirs: dict[Any, list[Row]] = {}
        for row in other.rows:
            theirs.setdefault(key_of(row, other.columns), []).append(row)
        rows = []
        for row in self.distinct().rows:
            found = theirs.get(key_of(row, self.columns), [])
            if bool(found) is among:
                rows.append(Row(row.values, behind([row, *found])))
        return self.made(self.columns, rows)


class Tables:
    """The source tables of a truth; every call is a scan."""

    def __init__(
        self, tables: Mapping[str, tuple[Sequence[str], Sequence[Sequence[Any]]]],
        zone: str = "UTC", whole: bool = False,
    ) -> None:  # fmt: skip
        self.tables = dict(tables)
        self.scans: Counter[str] = Counter()
        self.zone = zone
        self.whole = whole

    def __call__(self, name: str) -> Frame:
        self.scans[name] += 1
        columns, rows = self.tables[name]
        return Frame(columns, [
            Row(dict(zip(columns, row, strict=True)), frozenset({(name, self.scans[name], number)}))
            for number, row in enumerate(rows)
        ], self.whole)  # fmt: skip

    def rows(self, name: str, columns: str, rows: Sequence[Sequence[Any]]) -> Frame:
        """A scan of rows that the program brings."""
        self.tables.setdefault(name, (columns.split(), rows))
        return self(name)

    def written(self, name: str, frame: Frame) -> Frame:
        """A scan of a table that the program wrote before: lineage ends there."""
        self.tables.setdefault(name, (frame.columns, [_values(r, frame) for r in frame.rows]))
        return self(name)

    def local(self, moment: dt.datetime | None) -> dt.datetime | None:
        """The wall clock at a point in time."""
        from zoneinfo import ZoneInfo

        if moment is None:
            return None
        return moment.replace(tzinfo=dt.UTC).astimezone(ZoneInfo(self.zone)).replace(tzinfo=None)


def merged(frame: Frame) -> dict[Any, frozenset[Origin]]:
    """By the key of a row's values, the sources of all rows with these values."""
    same = grouped(frame.rows, frame.columns)
    return {key_of(rows[0], frame.columns): behind(rows) for rows in same}


def _values(row: Row, frame: Frame) -> tuple[Any, ...]:
    return tuple(row[name] for name in frame.columns)


def _none(rows: Sequence[Row], value: Any) -> Iterable[Row]:
    return ()


def _equal_on(names: Sequence[str]) -> Callable[[Row, Row], bool]:
    def condition(left: Row, right: Row) -> bool:
        return all(left[n] is not None and key(left[n]) == key(right[n]) for n in names)

    return condition
