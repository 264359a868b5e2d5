"""The systems that are asked, one instance of each for every query.

All run in this process on DuckDB, over the same Parquet files, and give their answers as Arrow
tables. Ours is asked through its public interface, in each of its modes; `QUERY` runs the
query itself, which no lineage can be had much faster than.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import sqlglot
from sqlglot import exp

from predtrace.engines.base import physical_name
from predtrace.engines.duckdb_source import source_relation
from predtrace.engines.faithful_plan import plan_obstacle
from predtrace.engines.query import ROW as SOURCE_ROW
from predtrace.engines.values import target_table
from predtrace.jobs.model import Source
from pushdown.graph import OperatorGraph
from pushdown.operators import Scan
from symbolic.expr import Column
from symbolic.types import LONG
from tpch.bench.perm_query import ROW, SCAN, TARGETS, PermQuery
from tpch.check import stored_bytes
from tpch.data import TABLES, table_path
from tpch.errors import TpchError
from tpch.queries import read_query

Row = tuple[Any, ...]
Ints = npt.NDArray[np.int32]
Ids = dict[int, pa.Table]
"""Per scan of the query's graph: ``target`` (position in the list) and ``row``."""

MODES = ("stored", "replayed", "refined", "indexed", "naive")
PRECISE = ("stored", "replayed", "indexed", "perm", "trace", "eager")
"""Systems whose answers must be the same."""
QUERY = "query"
PERM = "perm"
_WANTED = "wanted"
_NUMBER = Column(0, ROW, LONG)


class Subject:
    """A query that is asked about: its job, and the data it ran on."""

    def __init__(self, number: int, job: Any, connection: duckdb.DuckDBPyConnection) -> None:
        self.number = number
        self.job = job
        self.connection = connection
        self.graph = OperatorGraph(job.record.graph, job.record.root)


class System(Protocol):
    """What answers questions about one query.

    Preparing a system (that is, making it) may take time once a query, as our inference does
    once a job; it raises PredTraceError for a query that it cannot trace. `kept_bytes` is what
    it keeps for questions to come.
    """

    @property
    def kept_bytes(self) -> int:
        """Bytes on disk or in memory."""

    def ids(self, targets: Sequence[Row]) -> Ids:
        """The numbers of the source rows of every scan."""

    def rows(self, target: Row) -> Iterable[pa.Table]:
        """The source rows of one target, all columns, scan by scan."""


class PlainQuery:
    """The query itself: no lineage, but its result."""

    kept_bytes = 0

    def __init__(self, subject: Subject) -> None:
        text = read_query(subject.number)
        self._text = sqlglot.transpile(text, read="spark", write="duckdb")[0]
        self._connection = subject.connection

    def ids(self, targets: Sequence[Row]) -> Ids:
        """The query is run; there are no ids."""
        self._connection.sql(self._text).to_arrow_table()
        return {}

    def rows(self, target: Row) -> Iterable[pa.Table]:
        """The query's result."""
        return [self._connection.sql(self._text).to_arrow_table()]


class OurMode:
    """predtrace in one mode, from a saved job; what the mode needs is built before."""

    def __init__(self, subject: Subject, mode: str) -> None:
        self._job = subject.job
        self._mode = mode
        if mode == "indexed":
            for file in self._job.folder.glob("index-*.prx"):
                file.unlink()
            self._job.build_index()
        if mode == "stored":
            self._job.build_intermediates(engine="duckdb")

    @property
    def kept_bytes(self) -> int:
        """The row-id index, or the stored intermediate results, on disk."""
        if self._mode == "indexed":
            return sum(file.stat().st_size for file in self._job.folder.glob("index-*.prx"))
        return stored_bytes(self._job) if self._mode == "stored" else 0

    def ids(self, targets: Sequence[Row]) -> Ids:
        """One question, every scan's row ids."""
        return {scan.node: _numbered(scan.row_ids()) for scan in self._ask(list(targets))}

    def rows(self, target: Row) -> Iterable[pa.Table]:
        """One question, every scan's rows."""
        return [scan.to_arrow() for scan in self._ask(target)]

    def _ask(self, target: Any) -> Any:
        return self._job.lineage(target, mode=self._mode, engine="duckdb").scans


class Perm:
    """One rewritten query (see `perm`); full rows are looked up by number afterwards."""

    kept_bytes = 0

    def __init__(self, subject: Subject) -> None:
        self._reader = Reader(subject)
        self._queries = self._reader.queries([None])

    def ids(self, targets: Sequence[Row]) -> Ids:
        """The same queries, whatever the number of targets."""
        return self._reader.ids(self._queries, targets)

    def rows(self, target: Row) -> Iterable[pa.Table]:
        """The ids, then every source once, for the numbers found."""
        return self._reader.rows(self.ids([target]))


class Trace(Perm):
    """A tracing query for each source (Cui and Widom 2000): rewritten for that scan alone.

    The other sources take part as they do in the query, so that nothing is multiplied.
    """

    def __init__(self, subject: Subject) -> None:
        self._reader = Reader(subject)
        self._queries = self._reader.queries([[scan.id] for scan in subject.graph.scans()])


class Eager:
    """Row ids captured for the whole output before any question, in plain arrays (Smoke).

    Capture runs the query rewritten for each scan (LOGIC-RID in Psallidas and Wu 2018), then
    puts the pairs in the order of output rows, with the starts of their lists, as int32.
    """

    def __init__(self, subject: Subject) -> None:
        self._reader = Reader(subject)
        output = subject.job.output_arrow()
        rows = dict.fromkeys(zip(*(c.to_pylist() for c in output.columns), strict=True))
        self._numbers = {row: number for number, row in enumerate(rows)}
        queries = self._reader.queries([[scan.id] for scan in subject.graph.scans()])
        found = self._reader.ids(queries, list(rows))
        self._lists = {scan: _lists(table, len(rows)) for scan, table in found.items()}

    @property
    def kept_bytes(self) -> int:
        """The bytes of the arrays, backward only."""
        return sum(array.nbytes for lists in self._lists.values() for array in lists)

    def ids(self, targets: Sequence[Row]) -> Ids:
        """Slices of the lists."""
        numbers = [self._numbers[target] for target in targets]
        return {scan: _sliced(*lists, numbers) for scan, lists in self._lists.items()}

    def rows(self, target: Row) -> Iterable[pa.Table]:
        """The ids, then every source once, for the numbers found."""
        return self._reader.rows(self.ids([target]))


def _lists(pairs: pa.Table, groups: int) -> tuple[Ints, Ints]:
    targets, rows = (pairs.column(name).to_numpy() for name in ("target", ROW))
    order = np.lexsort((rows, targets))
    starts = np.searchsorted(targets[order], np.arange(groups + 1))
    return starts.astype(np.int32), rows[order].astype(np.int32)


def _sliced(starts: Ints, rows: Ints, numbers: Sequence[int]) -> pa.Table:
    parts = [rows[starts[number] : starts[number + 1]] for number in numbers]
    targets = np.repeat(np.arange(len(parts)), list(map(len, parts)))
    return pa.table({"target": targets, ROW: np.concatenate(parts)})


class Reader:
    """What the rewriting systems share: a query's sources, and how questions are run."""

    def __init__(self, subject: Subject) -> None:
        record = subject.job.record
        obstacle = plan_obstacle(subject.graph, subject.graph.root, record.settings)
        if obstacle is not None:
            raise TpchError(f"DuckDB would not compute the query as Spark does: {obstacle}")
        if not record.sources:
            raise TpchError("the query reads no source")
        self._graph = subject.graph
        self._sources = {source.name: source for source in record.sources}
        self._aggregates = record.plans[0].aggregates
        self._connection = subject.connection

    def queries(self, choices: Iterable[Sequence[int] | None]) -> list[PermQuery]:
        """The query rewritten for each choice of scans (None: for all)."""
        return [
            PermQuery(self._graph, self._relation, self._aggregates, scans) for scans in choices
        ]

    def ids(self, queries: Sequence[PermQuery], targets: Sequence[Row]) -> Ids:
        """What the queries find, by scan."""
        found = pa.concat_tables([self._found(query, targets) for query in queries])
        number = found.column(SCAN)
        return {
            scan.id: found.filter(pc.equal(number, scan.id)).drop_columns([SCAN])
            for scan in self._graph.scans()
        }

    def rows(self, ids: Ids) -> Iterable[pa.Table]:
        """The rows of every scan, all columns."""
        for scan in self._graph.scans():
            self._connection.register(_WANTED, ids[scan.id])
            relation = self._relation(scan, _NUMBER)
            wanted = exp.column(physical_name(_NUMBER.id)).isin(
                query=exp.select(ROW).from_(_WANTED)
            )
            query = exp.select(*map(_read, scan.columns)).from_(relation).where(wanted)
            yield self._connection.sql(query.sql("duckdb")).to_arrow_table()

    def _found(self, query: PermQuery, targets: Sequence[Row]) -> pa.Table:
        if len(targets) == 1:
            return self._connection.sql(query.of_one(targets[0])).to_arrow_table()
        rows = [
            (number, {c.id: value for c, value in zip(query.columns, row, strict=True)})
            for number, row in enumerate(targets)
        ]
        self._connection.register(TARGETS, target_table(query.columns, rows))
        return self._connection.sql(query.of_many(targets)).to_arrow_table()

    def _relation(self, scan: Scan, row: Column | None) -> exp.Expr:
        """The source's file; a row's number is that in it."""
        source = _single_file(self._sources[scan.table])
        stored = _column_types(self._connection, source)
        inner = source_relation(source, scan.columns, stored, "VARCHAR")
        names = list(map(_read, scan.columns))
        if row is not None:
            names.append(exp.alias_(exp.column(SOURCE_ROW), physical_name(row.id)))
        return exp.select(*names).from_(exp.alias_(inner, f"s{scan.id}", table=True)).subquery()


def _read(column: Column) -> exp.Expr:
    return exp.column(physical_name(column.id))


def _single_file(source: Source) -> Source:
    if len(source.files) > 1:
        raise TpchError(f"{source.name} has several files, but rows are told apart by one number")
    return source


def _column_types(connection: duckdb.DuckDBPyConnection, source: Source) -> Mapping[str, str]:
    relation = connection.from_parquet(source.files[0].path)
    return dict(zip(relation.columns, map(str, relation.types), strict=True))


def _numbered(ids: pa.Table) -> pa.Table:
    return ids.select(["target", "row"])


MAKERS: dict[str, Callable[[Subject], System]] = {
    QUERY: PlainQuery,
    **{mode: lambda subject, mode=mode: OurMode(subject, mode) for mode in MODES},  # type: ignore[misc]
    PERM: Perm,
    "trace": Trace,
    "eager": Eager,
}
"""System to what makes it for a query."""
SYSTEMS = tuple(MAKERS)


def open_tables(folder: Any) -> duckdb.DuckDBPyConnection:
    """A DuckDB that reads the tables of a data folder from their files, as views."""
    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = false")
    for table in TABLES:
        connection.from_parquet(str(table_path(folder, table))).create_view(table)
    return connection
