"""A Spark session."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from predtrace.errors import PredTraceError
from predtrace.sql import SPARK_DIALECT, EngineSettings, Source, spark_frame
from pushdown.graph import OperatorGraph
from symbolic.expr import Column
from tpch.bench.engines.base import OutOfTimeError
from tpch.check import register_tables
from tpch.errors import TpchError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SETTINGS = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.crossJoin.enabled": "true",
}
"""Settings for rewritten graphs: failing casts are NULL, joins may lack a condition."""


class SparkEngine:
    """A session in which the tables are views; rewritten graphs run in a session beside it."""

    name = "spark"
    dialect = SPARK_DIALECT

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._session = spark.newSession()
        for key, value in _SETTINGS.items():
            self._session.conf.set(key, value)
        self._views = 0

    @property
    def options(self) -> dict[str, Any]:
        """The options that make predtrace's calls use this engine."""
        return {"engine": self.name, "spark": self._spark}

    def inexactness(self, graph: OperatorGraph, settings: EngineSettings) -> str | None:
        """Always None: Spark computes again everything that Spark computed."""
        return None

    def plain(self, text: str) -> pa.Table:
        """The result of a query over the tables."""
        return self._spark.sql(text).toArrow()

    def fetch(self, query: str) -> pa.Table:
        """The result of a query in Spark's SQL."""
        return self._session.sql(query).toArrow()

    def relation(
        self, source: Source, columns: Sequence[Column], row: Column | None = None
    ) -> exp.Expr:
        """A source, with row numbers if asked for, as a view."""
        self._views += 1
        name = f"source_{self._views}"
        spark_frame(self._session, source, columns, row).createOrReplaceTempView(name)
        return exp.to_table(name)

    def give(self, name: str, rows: pa.Table) -> None:
        """Let queries read a table under this name."""
        self._session.createDataFrame(rows).coalesce(1).createOrReplaceTempView(name)

    def store(self, query: str, folder: Path) -> exp.Expr:
        """Write the result as Parquet."""
        address = f"file://{folder.resolve()}"
        self._session.sql(query).write.option("compression", "zstd").parquet(address)
        self._views += 1
        name = f"stored_{self._views}"
        self._session.read.parquet(address).createOrReplaceTempView(name)
        return exp.to_table(name)

    @contextmanager
    def in_time(self, seconds: float) -> Iterator[None]:
        """Cancels the jobs of what runs longer."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        late = threading.Event()

        def stop() -> None:
            late.set()
            self._spark.sparkContext.cancelAllJobs()

        timer = threading.Timer(seconds, stop)
        timer.start()
        try:
            yield
        except (PySparkException, Py4JError, PredTraceError) as error:
            if late.is_set():
                raise OutOfTimeError(f"more than {seconds:g} s") from error
            if isinstance(error, PredTraceError):
                raise
            raise TpchError(str(error).strip().splitlines()[0]) from error
        finally:
            timer.cancel()


@contextmanager
def spark_over(folder: Path, master: str) -> Iterator[SparkEngine]:
    """A session of its own, with the tables of a data folder."""
    from predtrace import local_session

    with local_session({"spark.master": master, "spark.app.name": "tpch"}) as spark:
        register_tables(spark, folder)
        yield SparkEngine(spark)
