"""The Spark engine: the pipelines' own engine, and the way to scale out.

Each question gets a new session (`new_session`), so its settings and views are separate from the
user's. The session has the job's settings on which results depend. Failing casts and overflows are
spelled as NULL. Nothing is collected unless rows are asked for.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    TargetBinding,
    Targets,
    UnionBinding,
    physical_name,
    spread,
)
from predtrace.engines.spark.dialect import QUESTIONS
from predtrace.engines.spark.partitions import Partitions
from predtrace.engines.spark.python_functions import provide_python
from predtrace.engines.spark.rows import SparkRows
from predtrace.engines.spark.source import (
    address,
    local_frame,
    source_frame,
    spark_errors,
    stored_frame,
    type_text,
    with_addresses,
)
from predtrace.engines.spark.total import provide
from predtrace.engines.sql import trees
from predtrace.engines.sql.dialect import Dialect
from predtrace.engines.sql.limits import refuse_choices
from predtrace.engines.sql.query import BoundRows, Queries, readable_union
from predtrace.engines.sql.refining import Refined, Refiner, bound_query, cuts_of
from predtrace.engines.sql.relational import plan_query
from predtrace.engines.sql.rounding import refuse_rounding
from predtrace.engines.sql.rows import FetchQuery, RowsQuery
from predtrace.engines.sql.ties import refuse_ties
from predtrace.engines.values import arrow_type, as_schema, never_null, row_literals
from predtrace.environment.sessions import STOPPED, is_running, new_session
from predtrace.errors import EngineError
from predtrace.jobs.model import EngineSettings, Source
from predtrace.jobs.settings import EXCLUDED_RULES, PREFIX, belongs_to_statements, put_in_force
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

OWN = {
    # Values travel to Python by Arrow; a fallback would lose types.
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # ${…} in a text is text.
    "spark.sql.variable.substitute": "false",
    # Timestamps exact for every engine, and with statistics.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.writeLegacyFormat": "false",
    # A predicate without params is joined with the target numbers without a condition.
    "spark.sql.crossJoin.enabled": "true",
    # From a = b and CAST(a AS STRING) = c Spark infers CAST(b AS STRING) = c, but 0.0 = -0.0.
    "spark.sql.constraintPropagation.enabled": "false",
    # Statistics ignore NaN: those of cached results, and those of columns inside structs. (Floats
    # of files are read through a function, see `source`.)
    "spark.sql.inMemoryColumnarStorage.partitionPruning": "false",
    "spark.sql.optimizer.nestedPredicatePushdown.supportedFileSources": "",
}
"""The settings that questions need in addition."""
_UNSOUND_RULES = (
    # Replaces a column in other conditions by a constant that it equals: -0.0 by 0.0.
    "ConstantPropagation",
    # Turns CAST(t AS TIMESTAMP_NTZ) = constant into t = constant: one of the two instants with that
    # local time. The job's graph has the pipeline's own conditions in their rewritten form.
    "UnwrapCastInBinaryComparison",
)
"""Rules of Catalyst's optimizer that make conditions on bound values select other rows."""
_TRAVELLING = (Binary, Boolean, Date, Decimal, Float, Integer, String, Timestamp)
_MOST_LOCAL_ROWS = 10_000
"""Up to so many bound rows may pass through the driver and become literals in queries."""


class SparkEngine:
    """Evaluates lineage questions in a Spark session."""

    name = SPARK

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

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
        return SparkEvaluation(_session(self._spark, settings), targets, QUESTIONS[settings.ansi])


def _session(spark: SparkSession, settings: EngineSettings) -> SparkSession:
    """A session with the job's settings, the user's settings that change no result, and our own."""
    session = new_session(spark)
    given: Mapping[str, str] = spark.conf.getAll
    for key, value in given.items():
        if key.startswith(PREFIX) and session.conf.isModifiable(key):
            if belongs_to_statements(key):
                session.conf.unset(key)
            else:
                session.conf.set(key, value)
    put_in_force(session.conf, settings)
    for key, value in OWN.items():
        session.conf.set(key, value)
    rules = [f"org.apache.spark.sql.catalyst.optimizer.{rule}" for rule in _UNSOUND_RULES]
    excluded = session.conf.get(EXCLUDED_RULES, None)
    session.conf.set(EXCLUDED_RULES, ",".join([excluded, *rules] if excluded else rules))
    provide(session)
    return session


def _comparable(columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns without those that Spark cannot make distinct: maps."""
    return tuple(column for column in columns if comparable(column.type))


class SparkEvaluation:
    """One question: stored tables, bound rows and sources are views of its session."""

    def __init__(self, session: SparkSession, targets: Targets, dialect: Dialect) -> None:
        self.session = session
        self._targets = targets
        self._dialect = dialect
        self._queries = Queries(dialect.name, dialect.functions, targets.numbered)
        self._bounds: dict[BindingSource, BoundRows] = {}
        self._local: dict[BindingSource, pa.Table] = {}
        self._refined: dict[tuple[SetRequest, ...], Refined] = {}
        self._views = 0
        self._provided: set[str] = set()
        self._partitions = Partitions(session)

    def bound(self, binding: BindingSource) -> pa.Table:
        """The distinct rows of a binding: `target` and the physical columns."""
        with spark_errors():
            name = self._bound(binding).name
            if binding in self._local:
                return self._local[binding]
            return self.session.table(name).distinct().toArrow()

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
        provide_python(self.session, query, self._provided)
        return self.session.sql(query.sql("spark"))

    # -- views

    def _view(self, frame: DataFrame, kind: str) -> exp.Expr:
        self._views += 1
        name = f"predtrace_{kind}_{self._views}"
        frame.createOrReplaceTempView(name)
        return trees.table(name)

    def _bound(self, binding: BindingSource) -> BoundRows:
        if binding not in self._bounds:
            if isinstance(binding, TargetBinding):
                self._bounds[binding] = self._local_bound(self._targets.rows, self._targets.columns)
            elif isinstance(binding, UnionBinding):
                bounds = [self._bound(part) for part in binding.parts]
                query = self._queries.united(bounds, _comparable(binding.parts[0].columns))
                frame = self._kept(self._frame(query))
                self._bounds[binding] = BoundRows(name=self._view(frame, "bound").name)
            else:
                self._bounds[binding] = self._linked_bound(binding)
        return self._bounds[binding]

    def _local_frame(self, rows: pa.Table, columns: Sequence[Column]) -> DataFrame:
        """The driver's rows as a frame of one partition, so that they need no shuffle."""
        from pyspark.sql.types import StructType

        types = [(TARGET, "BIGINT")]
        types += [(physical_name(column.id), type_text(column)) for column in columns]
        schema = StructType.fromDDL(", ".join(f"{name} {text}" for name, text in types))
        return local_frame(self.session, rows, schema)

    def _linked_bound(self, binding: LookedUp) -> BoundRows:
        if isinstance(binding, RefinedBinding):
            query = bound_query(binding, self._queries, self._refine(binding))
            return BoundRows(name=self._view(self._frame(query), "bound").name)
        parent = self._bound(binding.parent)
        if isinstance(binding, StoredBinding):
            self._partitions.read(binding.folder, sum(file.bytes for file in binding.files))
            source = self._view(stored_frame(self.session, binding), "stored")
        else:
            source = self._replayed(binding)
        # No param has the value of a map.
        binding = msgspec.structs.replace(binding, columns=_comparable(binding.columns))
        if isinstance(binding, ReplayedBinding) and binding.identities:
            return self._identified(binding, source, parent)
        query = self._queries.bound_rows(source, binding.columns, binding.predicate, parent)
        frame = self._frame(query)
        if not isinstance(binding, ReplayedBinding):
            return self._known_bound(binding, frame)
        # All scans of the question ask for these rows: they are computed once.
        frame = self._kept(frame)
        bound = self._known_bound(binding, frame)
        if binding in self._local:
            frame.unpersist()
        return bound

    def _identified(self, binding: ReplayedBinding, rows: exp.Expr, parent: BoundRows) -> BoundRows:
        """The bound rows of a replay that also has the source rows they are made of."""
        query = self._queries.with_identities(rows, binding, parent)
        table = self._view(self._kept(self._frame(query)), "replayed").name
        distinct = self._queries.bound_again(table, binding, parent)
        bound = self._known_bound(binding, self._frame(distinct))
        carried = self._queries.carried(table, binding, parent)
        return msgspec.structs.replace(bound, carried=carried)

    def _known_bound(self, binding: LookedUp, frame: DataFrame) -> BoundRows:
        """Bound rows; the driver takes them if they are few and their types travel well."""
        if not all(isinstance(column.type, _TRAVELLING) for column in binding.columns):
            return BoundRows(name=self._view(frame, "bound").name)
        rows = frame.limit(_MOST_LOCAL_ROWS + 1).toArrow()
        if rows.num_rows > _MOST_LOCAL_ROWS:
            return BoundRows(name=self._view(frame, "bound").name)
        self._local[binding] = as_schema(rows, _arrow_schema(binding.columns))
        return self._local_bound(self._local[binding], binding.columns)

    def _local_bound(self, rows: pa.Table, columns: Sequence[Column]) -> BoundRows:
        """A few bound rows that the driver has: queries contain them as literals."""
        present = never_null(columns, rows)
        name = self._view(self._local_frame(rows, columns).distinct(), "bound").name
        if rows.num_rows != 1:
            return BoundRows(name=name, rows=rows.num_rows, never_null=present)
        return BoundRows(
            name=name,
            rows=1,
            values=row_literals(columns, rows),
            target=rows.column(TARGET)[0].as_py(),
            never_null=present,
        )

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
