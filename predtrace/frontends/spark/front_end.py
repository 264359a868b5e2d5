"""The front end for Spark: DataFrames and SQL text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from predtrace.environment.sessions import active_session, is_running
from predtrace.errors import PredTraceError
from predtrace.frontends.base import FrontEnd
from predtrace.frontends.spark.output import is_ordered, read_output
from predtrace.frontends.spark.pipeline import SparkPipeline
from predtrace.frontends.spark.reading import read_pipeline
from predtrace.jobs.model import Job
from pushdown.graph import OperatorGraph

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class SparkFrontEnd(FrontEnd):
    """Reads DataFrames, and SQL text with a session; writes DataFrames."""

    @property
    def name(self) -> str:
        """``spark``."""
        return "spark"

    @property
    def takes(self) -> str:
        """DataFrames and SQL text."""
        return "a Spark DataFrame or SQL text"

    def accepts(self, given: object) -> bool:
        """Accepts text and DataFrames, also of Spark Connect; `read` refuses the latter."""
        return isinstance(given, str) or hasattr(given, "_jdf") or hasattr(given, "sparkSession")

    def read(
        self,
        given: DataFrame | str,
        spark: SparkSession | None,
        functions: Mapping[str, Callable[..., Any]],
    ) -> SparkPipeline:
        """Read a DataFrame, or SQL text over the tables of `spark`, else of the active session."""
        if isinstance(given, str) and spark is None:
            spark = active_session()
            if spark is None:
                raise PredTraceError("SQL text needs a Spark session: trace(text, spark)")
        return read_pipeline(given, spark, functions)

    def read_output(self, job: Job, folder: Path, spark: SparkSession | None) -> DataFrame:
        """The stored output as a DataFrame of `spark`, else of the active session.

        Its columns are nullable by their schema.
        """
        spark = spark or active_session()
        if spark is None:
            raise PredTraceError(
                "there is no Spark session to read the output with; start one, pass it to "
                "open_job(…, spark=…), or use output_arrow()"
            )
        assert job.output is not None
        graph = OperatorGraph(job.graph, job.root)
        names = [column.name for column in graph.output()]
        stored = job.output
        return read_output(spark, folder / stored.folder, stored.columns, names, is_ordered(graph))

    def is_readable(self, dataframe: DataFrame) -> bool:
        """Whether the session of a DataFrame is still running."""
        return is_running(dataframe.sparkSession)


FRONT_END = SparkFrontEnd()
