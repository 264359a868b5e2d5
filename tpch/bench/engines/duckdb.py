"""DuckDB, in this process."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import sqlglot
from sqlglot import exp

from predtrace.sql import DUCKDB_DIALECT, EngineSettings, Source, duckdb_relation, plan_inexactness
from pushdown.graph import OperatorGraph
from symbolic.expr import Column
from tpch.bench.engines.base import OutOfTimeError
from tpch.data import TABLES, table_files
from tpch.errors import TpchError


class DuckDBEngine:
    """DuckDB over a connection; the tables are views of it."""

    name = "duckdb"
    dialect = DUCKDB_DIALECT

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection

    @property
    def options(self) -> dict[str, Any]:
        """The options that make predtrace's calls use this engine."""
        return {"engine": self.name}

    def inexactness(self, graph: OperatorGraph, settings: EngineSettings) -> str | None:
        """The reason why it would not compute the graph as the job did; None if it would."""
        found = plan_inexactness(graph, graph.root, settings)
        return None if found is None else f"DuckDB would not compute it as Spark does: {found}"

    def plain(self, text: str) -> pa.Table:
        """The result of a query in Spark's SQL over the tables."""
        return self.fetch(sqlglot.transpile(text, read="spark", write="duckdb")[0])

    def fetch(self, query: str) -> pa.Table:
        """The result of a query in DuckDB's SQL."""
        return self.connection.sql(query).to_arrow_table()

    def relation(
        self, source: Source, columns: Sequence[Column], row: Column | None = None
    ) -> exp.Expr:
        """A source, with row numbers if asked for."""
        return duckdb_relation(self.connection, source, columns, row)

    def give(self, name: str, rows: pa.Table) -> None:
        """Let queries read a table under this name."""
        self.connection.register(name, rows)

    def store(self, query: str, folder: Path) -> exp.Expr:
        """Write the result as one Parquet file."""
        folder.mkdir(parents=True)
        file = str(folder / "rows.parquet")
        self.connection.sql(query).write_parquet(file, compression="zstd")
        return exp.Anonymous(this="read_parquet", expressions=[exp.Literal.string(file)])

    @contextmanager
    def in_time(self, seconds: float) -> Iterator[None]:
        """Interrupts what runs longer."""
        timer = threading.Timer(seconds, self.connection.interrupt)
        timer.start()
        try:
            yield
        except duckdb.InterruptException as error:
            raise OutOfTimeError(f"more than {seconds:g} s") from error
        except duckdb.Error as error:
            raise TpchError(str(error).splitlines()[0]) from error
        finally:
            timer.cancel()


@contextmanager
def duckdb_over(folder: Path, master: str) -> Iterator[DuckDBEngine]:
    """DuckDB with the tables of a data folder, read from their files."""
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        for table in TABLES:
            files = [str(file) for file in table_files(folder, table)]
            connection.from_parquet(files).create_view(table)
        yield DuckDBEngine(connection)
