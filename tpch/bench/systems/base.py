"""The protocol of systems, and the subject of their questions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from predtrace.sql import RowNumbers
from pushdown.graph import OperatorGraph
from tpch.bench.engines.base import Engine

Row = tuple[Any, ...]
Ints = npt.NDArray[np.int64]
Ids = dict[int, pa.Table]
"""Per scan of the query's graph: ``target`` (position in the list) and ``row`` (its number)."""


class Subject:
    """A query that is asked about: its job, and the engine over the data it ran on.

    Rows of a source go by one number: file after file, as the job's snapshot lists them.
    """

    def __init__(self, number: int, job: Any, engine: Engine) -> None:
        self.number = number
        self.job = job
        self.engine = engine
        self.graph = OperatorGraph(job.record.graph, job.record.root)
        self.sources = {source.name: source for source in job.record.sources}
        self.aggregates: str = job.record.plans[0].aggregates

    def numbered(self, table: str, ids: pa.Table) -> pa.Table:
        """Row ids of a source (`target`, `file`, `row`) with one number instead of the two."""
        rows = RowNumbers(self.sources[table]).of(ids)
        return pa.table({"target": ids.column("target"), "row": rows})


class System(Protocol):
    """Answers questions about one query.

    Preparing a system (that is, making it) may take time once a query, as our inference does once a
    job. It raises PredTraceError for a query that it cannot trace. `kept_bytes` is the size of what
    it keeps for later questions.
    """

    @property
    def kept_bytes(self) -> int:
        """Bytes on disk or in memory."""

    def ids(self, targets: Sequence[Row]) -> Ids:
        """The numbers of the source rows of every scan."""

    def rows(self, target: Row) -> Iterable[pa.Table]:
        """The source rows of one target, all columns, scan by scan."""


@runtime_checkable
class Counting(Protocol):
    """A system whose answers may be far larger than the lineage: it counts them first."""

    def count(self, targets: Sequence[Row]) -> int:
        """The number of pairs of a target and a source row that `ids` would return."""


@runtime_checkable
class Forward(Protocol):
    """A system that also answers forward questions."""

    def reached(self, rows: Mapping[int, int]) -> dict[int, Ints]:
        """Per scan the output rows (numbers in the job's output) that one of its rows reaches."""


@runtime_checkable
class Showing(Protocol):
    """A system that is also asked for a few rows to look at."""

    def head(self, target: Row, scan: int) -> pa.Table:
        """The first 20 source rows of one scan, all columns."""


@runtime_checkable
class Capturing(Protocol):
    """A system that captures all lineage with the query, before any question."""

    @property
    def captured(self) -> Mapping[str, float]:
        """Seconds of each part of the capture, beside running the query."""

    @property
    def plain(self) -> float:
        """Seconds of the query alone, if the system runs it in a way of its own; else 0."""
