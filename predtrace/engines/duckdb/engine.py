"""The DuckDB engine: lineage over local Parquet files, without a JVM.

Bound rows become tables of an in-memory database, with a schema for each question. All scans of a
question share them. Two facts about a table of bound rows help. If it has one row, its values go
into the predicate as literals, and file statistics apply. For columns without NULLs joins use plain
``=``, and their keys skip row groups.
"""

from __future__ import annotations

import functools
import itertools
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from sqlglot import exp

from predtrace.engines.base import (
    TARGET,
    BindingSource,
    LookedUp,
    RefinedBinding,
    ReplayedBinding,
    ScanRequest,
    SetRequest,
    StoredBinding,
    Targets,
    UnionBinding,
    bindings_of,
    expressions_of,
    physical_name,
    prepare_folder,
    replays_of,
    scans_of,
    spread,
)
from predtrace.engines.duckdb.cached import cached_inexactness, cached_relation
from predtrace.engines.duckdb.dialect import DUCKDB_DIALECTS
from predtrace.engines.duckdb.exact_plans import plan_inexactness
from predtrace.engines.duckdb.exact_types import readable
from predtrace.engines.duckdb.functions import inexactness
from predtrace.engines.duckdb.process import (
    column_types,
    database,
    drop_schema,
    file_type,
    zoned_cursor,
)
from predtrace.engines.duckdb.source import (
    source_inexactness,
    source_relation,
)
from predtrace.engines.duckdb.stored import reduced_rows, stored_relation
from predtrace.engines.sql import trees
from predtrace.engines.sql.limits import refuse_choices
from predtrace.engines.sql.query import FILE, BoundRows, Queries, readable_union
from predtrace.engines.sql.refining import Refined, Refiner, bound_columns, bound_query, cuts_of
from predtrace.engines.sql.relational import plan_query
from predtrace.engines.sql.rounding import refuse_rounding
from predtrace.engines.sql.rows import FetchQuery, RowsQuery
from predtrace.engines.sql.ties import refuse_ties
from predtrace.engines.values import (
    never_null,
    require_row_numbers,
    row_literals,
    with_file_dictionary,
)
from predtrace.jobs.caches import FoundSource
from predtrace.jobs.model import EngineSettings, OutputNumbers, Source
from predtrace.vocabulary import DUCKDB as DUCKDB_NAME
from symbolic.expr import Column, Expr
from symbolic.types import same_if_equal, type_name

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

T = TypeVar("T")

_WAY_OUT = "use engine='spark'"
_BATCH_ROWS = 65_536


class DuckDBEngine:
    """Evaluates lineage questions over local Parquet files in this process."""

    name = DUCKDB_NAME

    def __init__(self, cached: Mapping[str, FoundSource] = MappingProxyType({})) -> None:
        self._cached = cached

    def scan_inexactness(self, request: ScanRequest, settings: EngineSettings) -> str | None:
        """The reason, by the job's record, why DuckDB cannot read a scan's rows; None if it can."""
        source, columns = request.source, request.columns
        if cached := self._cached.get(source.name):
            return cached_inexactness(source, cached.record, columns)
        return source_inexactness(source, settings, columns)

    def inexactness(self, requests: Sequence[ScanRequest], settings: EngineSettings) -> str | None:
        """The reason, by the job's record, why DuckDB cannot answer exactly; None if it can."""
        for request in requests:
            found = self.scan_inexactness(request, settings)
            if found is not None:
                return found
        for binding in bindings_of(requests):
            found = self.binding_inexactness(binding, settings)
            if found is not None:
                return found
        return inexactness(list(expressions_of(requests)), settings)

    def binding_inexactness(self, binding: LookedUp, settings: EngineSettings) -> str | None:
        """Why DuckDB cannot read, or compute again, the binding's rows; None if it can."""
        problems = itertools.chain(
            (self.scan_inexactness(request, settings) for request in scans_of(binding)),
            (
                plan_inexactness(replay.graph, replay.node, settings)
                for replay in replays_of(binding)
            ),
        )
        found = next(filter(None, problems), None)
        if found is not None or not isinstance(binding, StoredBinding):
            return found
        for column in binding.columns:
            if not readable(column.type):
                return f"the stored column {column.name} is of type {type_name(column.type)}"
        return None

    def expression_inexactness(self, exprs: Sequence[Expr], settings: EngineSettings) -> str | None:
        """The reason why DuckDB does not evaluate the expressions as Spark does; None if it
        does."""
        return inexactness(exprs, settings)

    def open(self, targets: Targets, settings: EngineSettings) -> DuckDBEvaluation:
        """Begin a question."""
        return DuckDBEvaluation(targets, settings, self._cached)

    def at_once(self, steps: Sequence[Callable[[], T]]) -> list[T]:
        """The results of the steps, one after the other: each uses all cores."""
        return [step() for step in steps]


class DuckDBEvaluation:
    """One question: a schema of the process's database, dropped when the question is."""

    def __init__(
        self,
        targets: Targets,
        settings: EngineSettings,
        cached: Mapping[str, FoundSource] = MappingProxyType({}),
    ) -> None:
        self._targets = targets
        self._cached = cached
        self._zone = settings.time_zone
        self._dialect = DUCKDB_DIALECTS[settings.ansi]
        self._queries = Queries("duckdb", self._dialect.functions, targets.numbered)
        self._bounds: dict[BindingSource, BoundRows] = {}
        self._taken: dict[BindingSource, dict[int, str]] = {}
        self._refined: dict[tuple[SetRequest, ...], Refined] = {}
        self._table_numbers = itertools.count()
        self._lock = threading.RLock()

    def bound(self, binding: BindingSource) -> pa.Table:
        """The distinct rows of a binding: `target` and the physical columns."""
        if isinstance(binding, StoredBinding) and binding not in self._bounds:
            return self.arrow(self._looked_up(binding))
        bound = self._bound(binding)
        return self.arrow(trees.select(exp.Star(), source=self._queries.relation(bound)))

    def rows(self, requests: Sequence[ScanRequest]) -> DuckDBRows:
        """The union, by row identity, of what several scans of one source select."""
        requests = spread(requests)
        bounds = [self._bound(request.binding) for request in requests]
        query = RowsQuery(self._queries, requests, self._scanned, bounds)
        return DuckDBRows(self, requests[0].source, query)

    def fetch(self, request: ScanRequest, ids: pa.Table) -> DuckDBRows:
        """The rows of the request's source with these `ids` (as `row_ids` returns them)."""
        source = self._source(request.source, request.columns)
        files = tuple(file.path for file in request.source.files)
        one_file = len(files) == 1
        if one_file:
            name, _ = self._copied(ids.drop_columns([FILE]), "FROM given")
        else:
            kind = file_type(files)
            name, _ = self._copied(ids, f"SELECT * REPLACE ({FILE}::{kind} AS {FILE}) FROM given")
        query = FetchQuery(self._queries, request, source, trees.table(name), one_file=one_file)
        return DuckDBRows(self, request.source, query)

    def store(self, binding: ReplayedBinding, folder: Path) -> None:
        """Compute the binding's node; write its rows, each once if possible, as one file."""
        columns = [exp.column(physical_name(column.id)) for column in binding.columns]
        query = exp.select(*columns).from_(self._replayed(binding))
        if same_if_equal(column.type for column in binding.columns):
            query = query.distinct()
        self.write(query, folder)

    def store_looked_up(
        self, binding: StoredBinding, numbers: OutputNumbers | None, folder: Path
    ) -> None:
        """Write the rows of a stored table that rows of its parent look up, in that order.

        `numbers` says which values are replaced by numbers of output rows.
        """
        rows = self._looked_up(binding).subquery("r", copy=False)
        types = functools.partial(self._types, partitioned=False)
        self.write(reduced_rows(binding, rows, numbers, types), folder)

    def write(self, query: exp.Query, folder: Path) -> None:
        """Write the result of a query as one Parquet file into `folder`."""
        prepare_folder(folder)
        file = exp.Literal.string(str(folder / "part-0.parquet")).sql("duckdb", copy=False)
        with self.cursor() as cursor:
            cursor.execute(
                f"COPY ({query.sql('duckdb')}) TO {file} (FORMAT PARQUET, COMPRESSION ZSTD)"
            ).fetchall()

    def check(self, requests: Sequence[ScanRequest]) -> None:
        """Raise EngineError if the files have types that DuckDB reads differently."""
        bindings = tuple(bindings_of(requests))
        for binding in bindings:
            if isinstance(binding, StoredBinding):
                self._stored(binding)
        scans = itertools.chain(requests, *map(scans_of, bindings))
        for request in {request.source.name: request for request in scans}.values():
            self._scanned(request)

    def predicate_sql(self, request: ScanRequest) -> str:
        """The scan's predicate as text, with known values of the bound row substituted."""
        return readable_union(
            self._queries.readable_predicate(one, self._bound(one.binding))
            for one in spread((request,))
        )

    # -- running queries

    def cursor(self) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        """A connection for exclusive use."""
        return zoned_cursor(self._zone)

    @cached_property
    def _schema(self) -> str:
        """The schema of the question's tables, created for the first one."""
        name = f"question{next(_numbers)}"
        with self.cursor() as cursor:
            cursor.execute(f"CREATE SCHEMA {name}").fetchall()
        weakref.finalize(self, drop_schema, database(), name)
        return name

    def _new_table(self) -> str:
        with self._lock:
            return f"{self._schema}.rows{next(self._table_numbers)}"

    def arrow(self, query: exp.Query) -> pa.Table:
        """Run a query and return all rows at once."""
        with self.cursor() as cursor:
            return cursor.sql(query.sql("duckdb", copy=False)).to_arrow_table()

    def batches(self, query: exp.Query) -> Iterator[pa.RecordBatch]:
        """Run a query and return its rows batch by batch."""
        with self.cursor() as cursor:
            yield from cursor.sql(query.sql("duckdb", copy=False)).to_arrow_reader(_BATCH_ROWS)

    def value(self, query: exp.Query) -> Any:
        """Run a query and return its only value."""
        with self.cursor() as cursor:
            ((found,),) = cursor.execute(query.sql("duckdb", copy=False)).fetchall()
            return found

    # -- relations

    def _bound(self, binding: BindingSource) -> BoundRows:
        with self._lock:
            if binding not in self._bounds:
                self._bounds[binding] = self._make_bound(binding)
            return self._bounds[binding]

    def _make_bound(self, binding: BindingSource) -> BoundRows:
        if isinstance(binding, RefinedBinding):
            query = bound_query(binding, self._queries, self._refine(binding))
            return self._described(*self.materialized(query), bound_columns(binding, self._targets))
        if isinstance(binding, UnionBinding):
            bounds = [self._bound(part) for part in binding.parts]
            columns = binding.parts[0].columns
            query = self._queries.united(bounds, columns)
            return self._described(*self.materialized(query), columns)
        if isinstance(binding, StoredBinding):
            return self._described(*self.materialized(self._looked_up(binding)), binding.columns)
        if isinstance(binding, ReplayedBinding):
            parent = self._bound(binding.parent)
            rows = self._replayed(binding)
            if binding.identities:
                return self._identified(binding, rows, parent)
            query = self._queries.bound_rows(rows, binding.columns, binding.predicate, parent)
            bound = self._described(*self.materialized(query), binding.columns)
            return msgspec.structs.replace(bound, taken=self._taken.get(binding, {}))
        rows, columns = self._targets.rows, self._targets.columns
        if rows.num_rows == 1:
            only = _only_row(rows, columns)
            if only.values is not None:
                return only
        return self._described(*self._copied(rows, "SELECT DISTINCT * FROM given"), columns)

    def _looked_up(self, binding: StoredBinding) -> exp.Select:
        """The stored rows that the rows of the binding's parent select."""
        parent = self._bound(binding.parent)
        rows = self._stored(binding)
        return self._queries.bound_rows(rows, binding.columns, binding.predicate, parent)

    def _identified(self, binding: ReplayedBinding, rows: exp.Expr, parent: BoundRows) -> BoundRows:
        """The bound rows of a replay that also has the source rows they are made of."""
        table, _ = self.materialized(self._queries.with_identities(rows, binding, parent))
        name, count = self.materialized(self._queries.bound_again(table, binding, parent))
        return msgspec.structs.replace(
            self._described(name, count, binding.columns),
            carried=self._queries.carried(table, binding, parent),
            taken=self._taken.get(binding, {}),
        )

    def materialized(self, query: exp.Query) -> tuple[str, int]:
        """Compute a query once; the name of its table and its number of rows."""
        name = self._new_table()
        with self.cursor() as cursor:
            ((rows,),) = cursor.execute(
                f"CREATE TABLE {name} AS {query.sql('duckdb', copy=False)}"
            ).fetchall()
        return name, int(rows)

    def _copied(self, rows: pa.Table, query: str) -> tuple[str, int]:
        """A table with the result of `query` over `rows` (as ``given``), and its number of rows."""
        name = self._new_table()
        with self.cursor() as cursor:
            cursor.register("given", rows)
            ((count,),) = cursor.execute(f"CREATE TABLE {name} AS {query}").fetchall()
            cursor.unregister("given")
        return name, int(count)

    def set_source(self, request: SetRequest) -> exp.Expr:
        """The relation that a value set comes from."""
        if isinstance(request.source, ReplayedBinding):
            return self._replayed(request.source)
        return self._source(request.source.source, request.source.columns)

    def _refine(self, binding: RefinedBinding) -> Refined:
        """The value sets, which all scans of the question share."""
        if binding.sets not in self._refined:
            refiner = Refiner(self, self._queries, self._bound(binding.parent))
            self._refined[binding.sets] = refiner.run(binding.sets, acyclic=binding.acyclic)
        return self._refined[binding.sets]

    @property
    def passes(self) -> int | None:
        """The number of passes of refinement; None before it, or without it."""
        return max((refined.passes for refined in self._refined.values()), default=None)

    def _replayed(self, binding: ReplayedBinding) -> exp.Expr:
        """The rows of a node, computed again from the source rows that it needs."""
        cuts = (
            cuts_of(binding, self, self._queries, self._bound(binding.parent))
            if binding.sets
            else {}
        )
        scans = {}
        for node, request in binding.scans.items():
            rows = self._queries.restricted(
                self._scanned(request),
                request,
                self._bound(request.binding),
                binding.identities.get(node),
                cuts.get(node),
                numbered=node in binding.selective,
            )
            if node in binding.selective:
                query = rows.this
                name, _ = self.materialized(query)
                self._taken.setdefault(binding, {})[node] = name
                rows = trees.table(name)
            scans[node] = rows
        refuse_choices(binding.graph, binding.node, self._dialect, scans, self.value)
        refuse_rounding(binding.graph, binding.node, self._dialect, scans, self.value)
        refuse_ties(binding.graph, binding.node, self._dialect, scans, self.value)
        return plan_query(binding.graph, binding.node, self._dialect, scans).subquery(copy=False)

    def _described(self, name: str, rows: int, columns: Sequence[Column]) -> BoundRows:
        """The facts about a table of bound rows."""
        if rows == 1:
            row = self.arrow(trees.select(exp.Star(), source=trees.table(name)))
            return msgspec.structs.replace(_only_row(row, columns), name=name)
        counts = [exp.Count(this=exp.column(physical_name(column.id))) for column in columns]
        present: frozenset[int] = frozenset()
        if counts:
            with self.cursor() as cursor:
                query = trees.select(*counts, source=trees.table(name))
                (found,) = cursor.execute(query.sql("duckdb", copy=False)).fetchall()
            pairs = zip(columns, found, strict=True)
            present = frozenset(column.id for column, count in pairs if count == rows)
        return BoundRows(name=name, rows=rows, never_null=present)

    def _scanned(self, request: ScanRequest) -> exp.Expr:
        return self._source(request.source, request.columns)

    def _source(self, source: Source, columns: Sequence[Column]) -> exp.Expr:
        if cached := self._cached.get(source.name):
            return self._from_cache(source, cached, columns)
        files = tuple(file.path for file in source.files)
        read = () if source.is_computed else files
        types = self._types(read, partitioned=bool(source.partition_columns))
        return source_relation(source, columns, types, file_type(files))

    def _from_cache(
        self, source: Source, cached: FoundSource, columns: Sequence[Column]
    ) -> exp.Expr:
        files = tuple(file.path for file in source.files)
        kind = file_type(files if cached.record.numbered else cached.paths)
        types = self._types(cached.paths, partitioned=False)
        return cached_relation(source, cached, columns, types, kind)

    def _stored(self, binding: StoredBinding) -> exp.Expr:
        return stored_relation(binding, functools.partial(self._types, partitioned=False))

    def _types(self, files: tuple[str, ...], *, partitioned: bool) -> Mapping[str, str]:
        """The column types that DuckDB finds in the files."""
        return column_types(files, partitioned=partitioned) if files else {}


def _only_row(row: pa.Table, columns: Sequence[Column]) -> BoundRows:
    """The facts about bound rows that are a single row."""
    return BoundRows(
        rows=1,
        values=row_literals(columns, row),
        target=row.column(TARGET)[0].as_py(),
        never_null=never_null(columns, row),
    )


_numbers = itertools.count(1)


class DuckDBRows:
    """Selected source rows (see `base.Rows`)."""

    def __init__(
        self, evaluation: DuckDBEvaluation, source: Source, query: RowsQuery | FetchQuery
    ) -> None:
        self._evaluation = evaluation
        self._source = source
        self._query = query

    def count(self) -> int:
        """The number of rows."""
        return int(self._evaluation.value(self._query.count()))

    def head(self, limit: int, columns: Sequence[str] | None = None) -> pa.Table:
        """Any `limit` of the rows."""
        return self._evaluation.arrow(self._query.rows(columns).limit(limit))

    def to_arrow(self, columns: Sequence[str] | None = None) -> pa.Table:
        """All rows."""
        return self._evaluation.arrow(self._query.rows(columns))

    def to_batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """All rows as a stream of batches."""
        yield from self._evaluation.batches(self._query.rows(columns))

    def row_ids(self) -> pa.Table:
        """The `file` (dictionary encoded) and `row` of each row."""
        require_row_numbers(self._source)
        return with_file_dictionary(self._evaluation.arrow(self._query.row_ids()))

    def row_id_batches(self) -> Iterator[pa.RecordBatch]:
        """The row ids as a stream of batches."""
        require_row_numbers(self._source)
        yield from self._evaluation.batches(self._query.row_ids())

    def write_parquet(self, folder: Path) -> None:
        """Write the rows as one Parquet file into `folder`."""
        self._evaluation.write(self._query.rows(None), folder)

    def sql(self) -> str:
        """The query that selects the rows."""
        return trees.readable(self._query.rows(None), "duckdb")
