"""The interface between systems and an engine."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
from sqlglot import exp

from predtrace.sql import Dialect, EngineSettings, Source
from pushdown.graph import OperatorGraph
from symbolic.expr import Column
from tpch.errors import TpchError


class OutOfTimeError(TpchError):
    """A request took too long, and was given up."""


class Engine(Protocol):
    """Runs queries over a data folder's tables, and over jobs' sources."""

    @property
    def name(self) -> str:
        """What predtrace calls the engine."""

    @property
    def dialect(self) -> Dialect:
        """Its SQL."""

    @property
    def options(self) -> dict[str, Any]:
        """The options that make predtrace's calls use this engine."""

    def inexactness(self, graph: OperatorGraph, settings: EngineSettings) -> str | None:
        """The reason why it would not compute the graph as the job did; None if it would."""

    def plain(self, text: str) -> pa.Table:
        """The result of a query in Spark's SQL over the tables."""

    def fetch(self, query: str) -> pa.Table:
        """The result of a query in its own SQL."""

    def relation(
        self, source: Source, columns: Sequence[Column], row: Column | None = None
    ) -> exp.Expr:
        """A source, with row numbers if asked for (see `predtrace.sql`)."""

    def give(self, name: str, rows: pa.Table) -> None:
        """Let queries read a table under this name."""

    def store(self, query: str, folder: Path) -> exp.Expr:
        """Write the result of a query as Parquet into a new folder; the relation to read it."""

    def in_time(self, seconds: float) -> AbstractContextManager[None]:
        """Gives up what runs longer (`OutOfTimeError`); the engine's errors become TpchErrors."""
