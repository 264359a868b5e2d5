"""A Spark pipeline, read: its operator graph, sources and settings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from predtrace.environment.sessions import as_active
from predtrace.errors import EngineError, PredTraceError
from predtrace.frontends.spark.building import builder_in
from predtrace.frontends.spark.catalyst import option
from predtrace.frontends.spark.execute import Cut, Run, RunResult
from predtrace.frontends.spark.leaves import collect_leaves
from predtrace.frontends.spark.malformed import refuse_malformed
from predtrace.frontends.spark.nested_cases import refuse_nested_cases
from predtrace.frontends.spark.normalize import Normalizer
from predtrace.frontends.spark.operators import translate
from predtrace.frontends.spark.pruning import prune
from predtrace.frontends.spark.statements import query_frame
from predtrace.frontends.spark.statistics import scan_estimates
from predtrace.frontends.spark.translation import Translation
from predtrace.frontends.spark.tree import read_tree
from predtrace.jobs.model import EngineSettings, Source
from predtrace.jobs.settings import EXCLUDED_RULES, read_settings
from pushdown.graph import OperatorGraph
from pushdown.operators import Assignment, Filter, Limit, RowTransform, Scan, Sort

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_EXPRESSION_ID = re.compile(r"#\d+L?\b")


@dataclass(frozen=True)
class SparkPipeline:
    """A pipeline as an operator graph, with what it takes to run it split.

    `query` is the SQL text if known, else Spark's analyzed plan, to read: without the ids
    of its expressions. `dataframe` is the pipeline as the user gave it.
    """

    graph: OperatorGraph
    sources: tuple[Source, ...]
    settings: EngineSettings
    query: str
    dataframe: DataFrame
    spark: SparkSession
    translation: Translation
    time_dependent: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The output's column names, in order; they may repeat."""
        return tuple(self.dataframe.columns)

    @property
    def ordered(self) -> bool:
        """Whether the output has an order that means something (ORDER BY at its top)."""
        return is_ordered(self.graph)

    def estimates(self) -> dict[int, tuple[float, float]]:
        """Rows and bytes of each scan, by its operator's id, from Spark's own statistics."""
        return scan_estimates(self.graph, self.translation.leaf_handles, self.sources)

    def run(
        self,
        folder: Path,
        intermediates: Sequence[Cut],
        keep: str = "inline",
        keep_output: bool = True,
    ) -> RunResult:
        """Run the pipeline and store `intermediates` and the output under `folder`.

        `keep` is ``inline`` (the run is split, everything computed once) or ``late``
        (the pipeline runs untouched; `RunResult.finish` stores the rest). Raises
        StoreError when `folder` cannot be written; errors of the pipeline itself are
        Spark's.
        """
        return Run(self, folder, tuple(intermediates)).run(keep, keep_output)


def is_ordered(graph: OperatorGraph) -> bool:
    """Whether a Sort gives the order of the graph's output."""
    node = graph.root
    while True:
        operator = graph[node]
        if isinstance(operator, Sort):
            return True
        if not isinstance(operator, (RowTransform, Limit, Filter)):
            return False
        (node,) = graph.inputs(node)


def read_pipeline(pipeline: DataFrame | str, spark: SparkSession | None = None) -> SparkPipeline:
    """Read a DataFrame, or SQL text with a session, without running it; commands are refused.

    Raises UnsupportedOperatorError, NonDeterministicError or SourceError, which name
    the operator, function or source and the way out; PredTraceError for commands;
    EngineError for Spark Connect; Spark's own errors for bad SQL.
    """
    text: str | None = None
    if isinstance(pipeline, str):
        if spark is None:
            raise TypeError("SQL text needs a Spark session: read_pipeline(text, spark)")
        text = pipeline
        pipeline = query_frame(spark, pipeline)
    if not hasattr(pipeline, "_jdf"):
        if not hasattr(pipeline, "sparkSession"):
            raise PredTraceError(
                f"a pipeline is a Spark DataFrame or SQL text, not {type(pipeline).__name__}"
            )
        raise EngineError(
            "a Spark Connect DataFrame has no plan in this process; use a classic Spark session"
        )
    with as_active(pipeline.sparkSession):
        return _read(pipeline, text)


def _read(pipeline: DataFrame, text: str | None) -> SparkPipeline:
    session = pipeline.sparkSession
    jvm = session._jvm
    normalizer = Normalizer(jvm, session.conf.get(EXCLUDED_RULES, ""))
    analyzed = pipeline._jdf.queryExecution().analyzed()
    refuse_nested_cases(analyzed)
    inlined = normalizer.inline_ctes(analyzed)
    settled = normalizer.fold_time(inlined)
    builder = builder_in(jvm)
    pruned = prune(settled, builder)
    translation = Translation(
        builder=builder,
        normalizer=normalizer,
        settings=read_settings(session.conf, session.version),
        leaves=collect_leaves(read_tree(pruned)),
    )
    result = translate(translation, translation.normalized(pruned))
    translation.leaves.check_all_taken()
    _number_scans(translation)
    root = _named(translation, result.node, pipeline.columns)
    graph, sources = OperatorGraph(translation.operators, root), translation.book.sources()
    refuse_malformed(graph, sources, str(session.conf.get("spark.sql.columnNameOfCorruptRecord")))
    return SparkPipeline(
        graph=graph,
        sources=sources,
        settings=translation.settings,
        query=text or option(analyzed.origin().sqlText()) or _to_read(str(analyzed.toString())),
        dataframe=pipeline,
        spark=session,
        translation=translation,
        time_dependent=not settled.fastEquals(inlined),
    )


def _to_read(plan: str) -> str:
    """A plan's text without expression ids: ``k#12L`` is ``k``."""
    return "DataFrame: " + _EXPRESSION_ID.sub("", plan)


def _number_scans(translation: Translation) -> None:
    """Name the scans' sources; number the scans of each from 1 in plan order."""
    scans = [operator for operator in translation.operators if isinstance(operator, Scan)]
    scans.sort(key=lambda scan: scan.occurrence)
    names = translation.book.names(scan.id for scan in scans)
    seen: Counter[str] = Counter()
    for scan in scans:
        table = names[scan.id]
        seen[table] += 1
        alias = None if scan.alias == table else scan.alias
        numbered = msgspec.structs.replace(scan, table=table, occurrence=seen[table], alias=alias)
        translation.operators[scan.id] = numbered


def _named(translation: Translation, node: int, names: Sequence[str]) -> int:
    """The operator that gives the rows of `node` under the names that the user sees."""
    output = translation.output_of(node)
    if [column.name for column in output] == list(names):
        return node
    top = RowTransform(
        id=translation.next_node,
        input=node,
        assignments=tuple(
            Assignment(msgspec.structs.replace(column, name=name), column)
            for column, name in zip(output, names, strict=True)
        ),
        origin=translation.operators[node].origin,
    )
    return translation.add(top, lambda plans: plans[0], (node,))
