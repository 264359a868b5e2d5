"""A Spark pipeline that was read: its operator graph, and everything needed to run it with cuts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from predtrace.environment.sessions import STOPPED, is_running
from predtrace.errors import EngineError
from predtrace.frontends.base import Cut, Pipeline
from predtrace.frontends.spark.execute import Run, SparkRunResult
from predtrace.frontends.spark.output import is_ordered
from predtrace.frontends.spark.statistics import scan_estimates
from predtrace.frontends.spark.ties import TieFinder
from predtrace.frontends.spark.translation import Translation
from predtrace.vocabulary import INLINE, ROWS_LIMIT
from pushdown.operators import Origin
from pushdown.topk import NumberCut

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, kw_only=True)
class SparkPipeline(Pipeline):
    """A pipeline of a Spark session.

    `query` is the SQL text if known, else Spark's analyzed plan for people, without the ids of its
    expressions. `dataframe` is the pipeline as the user gave it. `tells_files` says that its graph
    has hidden columns of sources in place of functions that depend on the task; `dates_only`, that
    it reads the date and no other time; `tells_session`, that it reads the current user, catalog or
    database, which are those of the session when it was read.
    """

    front_end: str = "spark"
    dataframe: DataFrame
    tells_files: bool
    dates_only: bool
    tells_session: bool
    translation: Translation

    @property
    def spark(self) -> SparkSession:
        """The pipeline's session."""
        return self.dataframe.sparkSession

    @property
    def names(self) -> tuple[str, ...]:
        """The output's column names, in order; they may repeat."""
        return tuple(self.dataframe.columns)

    @property
    def ordered(self) -> bool:
        """Whether the order of the output means something (ORDER BY at its top)."""
        return is_ordered(self.graph)

    @property
    def call_sites(self) -> Mapping[int, Origin]:
        """The places that Catalyst knows: places in SQL texts."""
        found = ((operator.id, operator.origin) for operator in self.graph.operators())
        return {node: origin for node, origin in found if origin is not None}

    def estimates(self) -> Mapping[int, tuple[float, float]]:
        """Rows and bytes of each scan, by its operator's id, from Spark's own statistics."""
        return scan_estimates(self.graph, self.translation.leaf_handles, self.sources)

    def untied(self, cuts: Sequence[NumberCut]) -> Sequence[NumberCut]:
        """See `Pipeline.untied`: one Spark job for each cut."""
        finder = TieFinder(self.graph, self.translation, self.spark, self.unrepeatable)
        return finder.untied(cuts)

    def check_runnable(self) -> None:
        """Raise EngineError if the session was stopped."""
        if not is_running(self.spark):
            raise EngineError(f"{STOPPED}: the DataFrame, too, is of the stopped one")

    def run(
        self,
        folder: Path,
        cuts: Sequence[Cut],
        keep: str = INLINE,
        keep_output: bool = True,
        rows_limit: int | None = ROWS_LIMIT,
    ) -> SparkRunResult:
        """See `Pipeline.run`: an inline run is split, and computes everything once."""
        return Run(
            self.graph,
            self.translation,
            self.dataframe,
            self.time_dependent or self.tells_files,
            folder,
            tuple(cuts),
            self.sources,
            rows_limit,
        ).run(keep, keep_output)
