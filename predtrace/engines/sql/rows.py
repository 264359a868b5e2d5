"""The queries for rows of a source: their number, their ids, their values.

`RowsQuery` selects rows by predicates that bound rows give values to. `FetchQuery` fetches rows
that are known by ``file`` and ``row``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import msgspec
from sqlglot import exp

from predtrace.engines.base import TARGET, ScanRequest, output_names, physical_name, target_name
from predtrace.engines.sql import trees
from predtrace.engines.sql.query import FILE, ROW, BoundRows, Match, Queries, aliased, of_source
from symbolic.expr import Column, column_ids


class RowsQuery:
    """The queries over the rows that scans of one source select, united by row identity.

    `source_of` returns the scanned relation of a request, if it is needed (the relations of the
    requests differ only in column ids).
    """

    def __init__(
        self,
        queries: Queries,
        requests: Sequence[ScanRequest],
        source_of: Callable[[ScanRequest], exp.Expr],
        bounds: Sequence[BoundRows],
    ) -> None:
        self._numbered = queries.numbered
        self._columns = requests[0].columns
        self._source = functools.partial(source_of, requests[0])
        self._matches = [
            _match(queries, request, source_of, bound)
            for request, bound in zip(requests, bounds, strict=True)
        ]
        # Not a bound method: it would keep the engine's evaluation alive in a reference cycle.
        self._whole = functools.partial(_whole_match, queries, requests[0], self._source, bounds[0])

    @property
    def needs_identity(self) -> bool:
        """Whether the queries distinguish rows by ``file`` and ``row``."""
        return self._repeats

    @property
    def _repeats(self) -> bool:
        return len(self._matches) > 1 or self._matches[0].repeats

    def _pairs(self) -> exp.Query:
        """Distinct (target, file, row)."""
        branches: list[exp.Query] = [
            match.project(
                *([trees.alias(match.target.copy(), TARGET)] if self._numbered else []),
                of_source(FILE),
                of_source(ROW),
            )
            for match in self._matches
        ]
        if len(branches) > 1:
            return exp.union(*branches, distinct=True)
        first = branches[0]
        assert isinstance(first, exp.Select)
        return first.distinct() if self._repeats else first

    def count(self) -> exp.Query:
        """The number of rows."""
        counted = exp.Count(this=exp.Star())
        if self._repeats:
            return exp.select(counted).from_(self._pairs().subquery("u"))
        return self._matches[0].project(counted)

    def row_ids(self) -> exp.Query:
        """``target`` (if numbered), ``file`` and ``row``."""
        return self._pairs()

    def rows(self, wanted: Sequence[str] | None) -> exp.Query:
        """The rows, under the source's own column names."""
        taken = _named(self._columns, wanted)
        if not self._repeats:
            match = self._whole()
            return match.project(*self._target(match.target), *taken)
        pairs = self._pairs().subquery("u")
        return (
            exp.select(*self._target(trees.column(TARGET, "u")), *taken)
            .from_(aliased(self._source(), "s"))
            .join(pairs, on=_same_row(), join_type="inner")
        )

    def _target(self, value: exp.Expr) -> list[exp.Expr]:
        if not self._numbered:
            return []
        return [trees.alias(value.copy(), target_name(self._columns), quoted=True)]


class FetchQuery:
    """The queries over rows of a source that are known by ``file`` and ``row``.

    `source` is the scanned relation, `ids` a relation of ``file`` and ``row``, and of ``target``
    with numbered targets. For a source of one file, `one_file`, the ids need not name the file.
    """

    def __init__(
        self,
        queries: Queries,
        request: ScanRequest,
        source: exp.Expr,
        ids: exp.Expr,
        *,
        one_file: bool = False,
    ) -> None:
        self._numbered = queries.numbered
        self._columns = request.columns
        self._source = source
        self._ids = ids
        self._same_row = _same_row((ROW,) if one_file else (FILE, ROW))

    def count(self) -> exp.Query:
        """The number of rows."""
        return self._fetched([exp.Count(this=exp.Star())])

    def row_ids(self) -> exp.Query:
        """``target`` (if numbered), ``file`` and ``row``."""
        ids: list[exp.Expr] = [of_source(FILE), of_source(ROW)]
        if self._numbered:
            ids.insert(0, trees.column(TARGET, "u"))
        return self._fetched(ids)

    def rows(self, wanted: Sequence[str] | None) -> exp.Query:
        """The rows, under the source's own column names."""
        taken = _named(self._columns, wanted)
        if self._numbered:
            target = trees.column(TARGET, "u")
            taken.insert(0, trees.alias(target, target_name(self._columns), quoted=True))
        return self._fetched(taken)

    def _fetched(self, values: Sequence[exp.Expr]) -> exp.Select:
        body = trees.select(*values, source=aliased(self._source.copy(), "s"))
        kind = "inner" if self._numbered else "semi"
        return trees.joined(body, aliased(self._ids.copy(), "u"), kind, self._same_row.copy())


def _named(columns: Sequence[Column], wanted: Sequence[str] | None) -> list[exp.Expr]:
    """The columns of ``s`` under their own names; rows without columns have their number."""
    if not columns and wanted is None:
        return [trees.alias(of_source(ROW), ROW, quoted=True)]
    return [
        trees.alias(of_source(physical_name(column.id)), column.name, quoted=True)
        for column in output_names(columns, wanted)
    ]


def _same_row(identity: Sequence[str] = (FILE, ROW)) -> exp.Expr:
    """Whether ``s`` and ``u`` are the same row."""
    parts = (exp.EQ(this=of_source(name), expression=trees.column(name, "u")) for name in identity)
    return exp.and_(*parts, copy=False)


def _match(
    queries: Queries,
    request: ScanRequest,
    source_of: Callable[[ScanRequest], exp.Expr],
    bound: BoundRows,
) -> Match:
    """The rows that a request selects, as ``s``, with at least their identities."""
    if request.node in bound.carried:
        return queries.identified(bound.carried[request.node])
    if request.node in bound.taken:
        taken = trees.table(bound.taken[request.node])
        # The relation lacks columns: whole rows are joined by their identities.
        match = queries.match(taken, request.predicate, bound)
        return msgspec.structs.replace(match, repeats=True)
    return queries.match(source_of(_only_read(request)), request.predicate, bound)


def _whole_match(
    queries: Queries, request: ScanRequest, source: Callable[[], exp.Expr], bound: BoundRows
) -> Match:
    """The match of a request with all columns of its source."""
    return queries.match(source(), request.predicate, bound)


def _only_read(request: ScanRequest) -> ScanRequest:
    """The request with the columns that its predicate reads."""
    read = column_ids(request.predicate)
    columns = tuple(column for column in request.columns if column.id in read)
    return msgspec.structs.replace(request, columns=columns)
