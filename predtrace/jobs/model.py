"""What a job is: the records that `job.json` holds.

Stored Parquet files name their columns ``c<column id>``, whatever the query calls them:
names with dots, quotes or repetitions are no trouble then.
"""

from __future__ import annotations

import msgspec

from predtrace.inference.plan import LineagePlan
from pushdown.operators import Operator
from symbolic.expr import Column


class SourceFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file of a source as it was when the job ran. `modified` is in nanoseconds."""

    path: str
    size: int
    modified: int
    rows: int | None = None


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A source table: `name` is unique in the job (catalog name, else view, else path).

    `roots` are the paths the pipeline read (canonical, not percent-encoded; local ones
    without a scheme); `files` is the snapshot. `columns` are the stored columns (ids
    mean nothing here); `partition_columns` come from directory names.
    """

    name: str
    format: str
    roots: tuple[str, ...]
    files: tuple[SourceFile, ...]
    columns: tuple[Column, ...]
    options: dict[str, str] = {}
    partition_columns: tuple[str, ...] = ()

    @property
    def has_row_numbers(self) -> bool:
        """Whether a row is known by its file and its number therein."""
        return self.format.lower() == "parquet"


class EngineSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of the session that change what the pipeline means."""

    engine_version: str
    time_zone: str
    ansi: bool
    case_sensitive: bool


class StoredResult(msgspec.Struct, frozen=True, kw_only=True):
    """A stored table in the job's folder: `folder` is relative; `bytes` on disk."""

    folder: str
    columns: tuple[Column, ...]
    rows: int
    bytes: int


class StoredIntermediate(msgspec.Struct, frozen=True, kw_only=True):
    """Where intermediate `binding` of the plan for `aggregates` lies.

    Plans share one stored table where they keep the same operator's output.
    """

    aggregates: str
    binding: int
    result: StoredResult


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a pipeline, saved. `created` is an ISO timestamp in UTC.

    `output` is None when the output was not kept.
    """

    id: str
    created: str
    query: str
    keep: str
    graph: tuple[Operator, ...]
    root: int
    plans: tuple[LineagePlan, ...]
    sources: tuple[Source, ...]
    settings: EngineSettings
    intermediates: tuple[StoredIntermediate, ...] = ()
    output: StoredResult | None = None
    timings: dict[str, float] = {}
