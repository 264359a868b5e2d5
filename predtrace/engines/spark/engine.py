"""The Spark engine: the pipelines' own engine, and the way to scale out.

Each question gets a new session (`new_session`), so its settings and views are separate from the
user's. The session has the job's settings on which results depend. Failing casts and overflows are
spelled as NULL. Nothing is collected unless rows are asked for.
"""

from __future__ import annotations

import functools
import itertools
import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from sqlglot import exp

from predtrace.engines.base import (
    TARGET,
    BindingSource,
    Engine,
    LookedUp,
    RefinedBinding,
    ReplayedBinding,
    ScanRequest,
    SetRequest,
    StoredBinding,
    TargetBinding,
    Targets,
    UnionBinding,
    physical_name,
    spread,
)
from predtrace.engines.spark.dialect import QUESTIONS
from predtrace.engines.spark.nearby import Nearby
from predtrace.engines.spark.partitions import Partitions
from predtrace.engines.spark.python_functions import provide_python
from predtrace.engines.spark.rows import SparkRows
from predtrace.engines.spark.sessions import question_session
from predtrace.engines.spark.source import (
    address,
    local_frame,
    source_frame,
    spark_errors,
    stored_frame,
    type_text,
    with_addresses,
)
from predtrace.engines.spark.together import at_once
from predtrace.engines.sql import trees
from predtrace.engines.sql.dialect import Dialect
from predtrace.engines.sql.limits import refuse_choices
from predtrace.engines.sql.listed import MOST_ROWS
from predtrace.engines.sql.query import BoundRows, Queries, aliased, readable_union
from predtrace.engines.sql.refining import Refined, Refiner, bound_query, cuts_of
from predtrace.engines.sql.relational import plan_query
from predtrace.engines.sql.rounding import refuse_rounding
from predtrace.engines.sql.rows import FetchQuery, RowsQuery
from predtrace.engines.sql.ties import refuse_ties
from predtrace.engines.values import arrow_type, as_schema, listed_rows, never_null, row_literals
from predtrace.environment.sessions import STOPPED, is_running
from predtrace.errors import EngineError
from predtrace.jobs.model import EngineSettings, Source
from predtrace.vocabulary import SPARK
from symbolic.expr import Column, Expr
from symbolic.types import (
    Binary,
    Boolean,
    Date,
    Decimal,
    Float,
    Integer,
    String,
    Timestamp,
    comparable,
    same_if_equal,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")

_TRAVELLING = (Binary, Boolean, Date, Decimal, Float, Integer, String, Timestamp)
_MOST_LOCAL_ROWS = 10_000
"""Up to so many bound rows that Spark found may pass through the driver."""
_MOST_LOCAL_BYTES = 32_000_000
"""Up to so many bytes of bound rows that were found in this process are sent to Spark."""


class SparkEngine:
    """Evaluates lineage questions in a Spark session."""

    name = SPARK

    def __init__(self, spark: SparkSession, nearby: Engine | None = None) -> None:
        """`nearby` looks up small stored results without a Spark job, where it is exact."""
        self._spark = spark
        self._nearby = nearby

    def inexactness(self, requests: Sequence[ScanRequest], settings: EngineSettings) -> str | None:
        """Always None: Spark evaluates everything that Spark computed."""
        return None

    def binding_inexactness(self, binding: LookedUp, settings: EngineSettings) -> str | None:
        """Always None: Spark computes again everything that Spark computed."""
        return None

    def expression_inexactness(self, exprs: Sequence[Expr], settings: EngineSettings) -> str | None:
        """Always None: Spark evaluates everything that Spark computed."""
        return None

    def open(self, targets: Targets, settings: EngineSettings) -> SparkEvaluation:
        """Begin a question. Raises EngineError if the session was stopped meanwhile."""
        if not is_running(self._spark):
            raise EngineError(STOPPED)
        near = None if self._nearby is None else Nearby(self._nearby, targets, settings)
        session = functools.partial(question_session, self._spark, settings)
        return SparkEvaluation(session, targets, QUESTIONS[settings.ansi], near)

    def at_once(self, steps: Sequence[Callable[[], T]]) -> list[T]:
        """The results of steps that read different sources, several at a time."""
        return at_once(self._spark.sparkContext, steps)


def _comparable(columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns without those that Spark cannot make distinct: maps."""
    return tuple(column for column in columns if comparable(column.type))


def _travel(columns: Sequence[Column]) -> bool:
    """Whether the driver can take rows with these columns and give them back."""
    return all(isinstance(column.type, _TRAVELLING) for column in columns)


class SparkEvaluation:
    """One question: stored tables, bound rows and sources are views of its session."""

    def __init__(
        self,
        session: Callable[[], SparkSession],
        targets: Targets,
        dialect: Dialect,
        nearby: Nearby | None = None,
    ) -> None:
        """`session` makes the question's session, when it is first needed."""
        self._make_session = session
        self._nearby = nearby
        self._targets = targets
        self._dialect = dialect
        self._queries = Queries(dialect.name, dialect.functions, targets.numbered)
        self._bounds: dict[BindingSource, BoundRows] = {}
        self._local: dict[BindingSource, pa.Table] = {}
        self._refined: dict[tuple[SetRequest, ...], Refined] = {}
        self._views = itertools.count(1)
        self._provided: set[str] = set()
        # Sources are read by several threads, but what they share is made once.
        self._lock = threading.RLock()

    @cached_property
    def session(self) -> SparkSession:
        """The question's own session."""
        return self._make_session()

    @cached_property
    def _partitions(self) -> Partitions:
        return Partitions(self.session)

    def bound(self, binding: BindingSource) -> pa.Table:
        """The distinct rows of a binding: `target` and the physical columns."""
        with spark_errors():
            if (found := self._found_nearby(binding)) is not None:
                return found
            bound = self._bound(binding)
            if binding in self._local:
                return self._local[binding]
            rows = aliased(self._queries.relation(bound), "b")
            return self._frame(exp.select(exp.Star()).from_(rows)).distinct().toArrow()

    def _found_nearby(self, binding: BindingSource) -> pa.Table | None:
        """A binding's rows, if they can be looked up without Spark."""
        return None if self._nearby is None else self._nearby.bound(binding)

    def rows(self, requests: Sequence[ScanRequest]) -> SparkRows:
        """The union, by row identity, of what several scans of one source select."""
        requests = spread(requests)
        with spark_errors():
            bounds = [self._bound(request.binding) for request in requests]
            query = self._rows_query(requests, bounds, identity=False)
            if query.needs_identity:
                query = self._rows_query(requests, bounds, identity=True)
        return SparkRows(self, requests[0].source, query)

    def fetch(self, request: ScanRequest, ids: pa.Table) -> SparkRows:
        """The rows of the request's source with these `ids` (as `row_ids` returns them)."""
        with spark_errors():
            source = self._source(request.source, request.columns, identity=False)
            frame = local_frame(self.session, with_addresses(self.session, request.source, ids))
            query = FetchQuery(self._queries, request, source, self._view(frame, "ids"))
        return SparkRows(self, request.source, query)

    def _rows_query(
        self, requests: Sequence[ScanRequest], bounds: Sequence[BoundRows], *, identity: bool
    ) -> RowsQuery:
        def scanned(request: ScanRequest) -> exp.Expr:
            with spark_errors():
                return self._source(request.source, request.columns, identity=identity)

        return RowsQuery(self._queries, requests, scanned, bounds)

    def store(self, binding: ReplayedBinding, folder: Path) -> None:
        """Compute the binding's node; write its rows, each once if possible, as Parquet files."""
        columns = [exp.column(physical_name(column.id)) for column in binding.columns]
        query = exp.select(*columns).from_(self._replayed(binding))
        if same_if_equal(column.type for column in binding.columns):
            query = query.distinct()
        with spark_errors():
            writer = self._frame(query).write.option("compression", "zstd")
            writer.parquet(address(str(folder)))

    def check(self, requests: Sequence[ScanRequest]) -> None:
        """Checks nothing: Spark can read what Spark has read."""

    def predicate_sql(self, request: ScanRequest) -> str:
        """The scan's predicate as text, with known values of the bound row substituted."""
        with spark_errors():
            return readable_union(
                self._queries.readable_predicate(one, self._bound(one.binding))
                for one in spread((request,))
            )

    def dataframe(self, query: exp.Query) -> DataFrame:
        """The result of a query, computed when read."""
        with spark_errors():
            return self._frame(query)

    def _frame(self, query: exp.Expr) -> DataFrame:
        """The same, with Spark's own errors."""
        with self._lock:
            provide_python(self.session, query, self._provided)
        return self.session.sql(query.sql("spark"))

    # -- views

    def _view(self, frame: DataFrame, kind: str) -> exp.Expr:
        name = f"predtrace_{kind}_{next(self._views)}"
        frame.createOrReplaceTempView(name)
        return trees.table(name)

    def _bound(self, binding: BindingSource) -> BoundRows:
        with self._lock:
            if binding not in self._bounds:
                self._bounds[binding] = self._made_bound(binding)
            return self._bounds[binding]

    def _made_bound(self, binding: BindingSource) -> BoundRows:
        if isinstance(binding, TargetBinding):
            return self._local_bound(self._targets.rows, self._targets.columns, repeat=True)
        if isinstance(binding, RefinedBinding):
            query = bound_query(binding, self._queries, self._refine(binding))
            return BoundRows(name=self._view(self._frame(query), "bound").name)
        columns = _comparable(
            binding.parts[0].columns if isinstance(binding, UnionBinding) else binding.columns
        )
        near = self._found_nearby(binding)
        if near is not None and near.nbytes <= _MOST_LOCAL_BYTES and _travel(columns):
            return self._local_bound(as_schema(near, _arrow_schema(columns)), columns)
        if isinstance(binding, UnionBinding):
            bounds = [self._bound(part) for part in binding.parts]
            frame = self._kept(self._frame(self._queries.united(bounds, columns)))
            return BoundRows(name=self._view(frame, "bound").name)
        return self._linked_bound(binding)

    def _local_frame(self, rows: pa.Table, columns: Sequence[Column]) -> DataFrame:
        """The driver's rows as a frame of one partition, so that they need no shuffle."""
        from pyspark.sql.types import StructType

        types = [(TARGET, "BIGINT")]
        types += [(physical_name(column.id), type_text(column)) for column in columns]
        schema = StructType.fromDDL(", ".join(f"{name} {text}" for name, text in types))
        return local_frame(self.session, rows, schema)

    def _linked_bound(self, binding: StoredBinding | ReplayedBinding) -> BoundRows:
        parent = self._bound(binding.parent)
        if isinstance(binding, StoredBinding):
            self._partitions.read(binding.folder, sum(file.bytes for file in binding.files))
            source = self._view(stored_frame(self.session, binding), "stored")
        else:
            source = self._replayed(binding)
        # No param has the value of a map.
        told = msgspec.structs.replace(binding, columns=_comparable(binding.columns))
        if isinstance(told, ReplayedBinding) and told.identities:
            bound, rows = self._identified(told, source, parent)
        else:
            bound, rows = self._found(told, source, parent)
        if rows is not None:
            self._local[binding] = rows
        return bound

    def _found(
        self, binding: StoredBinding | ReplayedBinding, source: exp.Expr, parent: BoundRows
    ) -> tuple[BoundRows, pa.Table | None]:
        """The rows of `source` that a binding looks up; the rows themselves if the driver has
        them."""
        query = self._queries.bound_rows(source, binding.columns, binding.predicate, parent)
        frame = self._frame(query)
        if isinstance(binding, StoredBinding):
            return self._taken(frame, binding.columns)
        # All scans of the question ask for these rows: they are computed once.
        frame = self._kept(frame)
        bound, rows = self._taken(frame, binding.columns)
        if rows is not None:
            frame.unpersist()
        return bound, rows

    def _identified(
        self, binding: ReplayedBinding, source: exp.Expr, parent: BoundRows
    ) -> tuple[BoundRows, pa.Table | None]:
        """The same for a replay that also has the source rows its rows are made of."""
        query = self._queries.with_identities(source, binding, parent)
        table = self._view(self._kept(self._frame(query)), "replayed").name
        distinct = self._queries.bound_again(table, binding, parent)
        bound, rows = self._taken(self._frame(distinct), binding.columns)
        carried = self._queries.carried(table, binding, parent)
        return msgspec.structs.replace(bound, carried=carried), rows

    def _taken(
        self, frame: DataFrame, columns: Sequence[Column]
    ) -> tuple[BoundRows, pa.Table | None]:
        """Bound rows; the driver takes them if they are few and their types travel well."""
        if _travel(columns):
            rows = frame.limit(_MOST_LOCAL_ROWS + 1).toArrow()
            if rows.num_rows <= _MOST_LOCAL_ROWS:
                rows = as_schema(rows, _arrow_schema(columns))
                return self._local_bound(rows, columns), rows
        return BoundRows(name=self._view(frame, "bound").name), None

    def _local_bound(
        self, rows: pa.Table, columns: Sequence[Column], *, repeat: bool = False
    ) -> BoundRows:
        """Bound rows that the driver has; `repeat` says that a row may come more than once.

        Queries contain few of them as literals.
        """
        present = never_null(columns, rows)
        values = row_literals(columns, rows) if rows.num_rows == 1 else None
        if values is not None:
            only = rows.column(TARGET)[0].as_py()
            return BoundRows(rows=1, values=values, target=only, never_null=present)
        frame = self._local_frame(rows, columns)
        name = self._view(frame.distinct() if repeat else frame, "bound").name
        listed = listed_rows(columns, rows) if rows.num_rows <= MOST_ROWS else ()
        return BoundRows(name=name, rows=rows.num_rows, never_null=present, listed=listed)

    def _kept(self, frame: DataFrame) -> DataFrame:
        """The frame, computed when first read and then kept, in memory or on disk.

        It is kept until nothing refers to the evaluation, so nothing in it may refer back to it.
        """
        frame = frame.persist()
        # At the end of the process Spark releases it.
        weakref.finalize(self, _release, frame.unpersist).atexit = False
        return frame

    def _cut_off(self, frame: DataFrame) -> DataFrame:
        """The frame, computed now and kept, with a plan that no longer has the plan behind it.

        Every set of a refinement reads several sets before it. A cached frame's plan contains the
        plans behind it, and Spark prints the plan of every query: it would double with every set.
        """
        frame = frame.localCheckpoint()
        rows = frame._jdf.queryExecution().analyzed().rdd()
        weakref.finalize(self, _release, lambda: rows.unpersist(False)).atexit = False
        return frame

    def materialized(self, query: exp.Query) -> tuple[str, int]:
        """Compute a query once; the name of its view and its number of rows."""
        frame = self._cut_off(self._frame(query))
        return self._view(frame, "set").name, frame.count()

    def set_source(self, request: SetRequest) -> exp.Expr:
        """The relation that a value set comes from."""
        if isinstance(request.source, ReplayedBinding):
            return self._replayed(request.source)
        return self._source(request.source.source, request.source.columns, identity=False)

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
        scans = {
            node: self._queries.restricted(
                self._source(request.source, request.columns, identity=False),
                request,
                self._bound(request.binding),
                binding.identities.get(node),
                cuts.get(node),
            )
            for node, request in binding.scans.items()
        }
        refuse_choices(binding.graph, binding.node, self._dialect, scans, self._value)
        refuse_rounding(binding.graph, binding.node, self._dialect, scans, self._value)
        refuse_ties(binding.graph, binding.node, self._dialect, scans, self._value)
        return plan_query(binding.graph, binding.node, self._dialect, scans).subquery(copy=False)

    def _value(self, query: exp.Query) -> Any:
        """The only value of a query."""
        return self.dataframe(query).collect()[0][0]

    def _source(self, source: Source, columns: Sequence[Column], *, identity: bool) -> exp.Expr:
        """The source as a view (see `source_frame`)."""
        with self._lock:
            self._partitions.read(source.name, sum(file.size for file in source.files))
        return self._view(source_frame(self.session, source, columns, identity=identity), "source")


def _arrow_schema(columns: Sequence[Column]) -> pa.Schema:
    import pyarrow as pa

    fields = [(physical_name(column.id), arrow_type(column.type)) for column in columns]
    return pa.schema([(TARGET, pa.int64()), *fields])


def _release(unpersist: Callable[[], object]) -> None:
    """Release rows that a question kept; the session may already be gone."""
    from py4j.protocol import Py4JError

    with suppress(Py4JError, OSError):
        unpersist()
