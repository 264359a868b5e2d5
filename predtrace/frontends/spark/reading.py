"""Reads a Spark pipeline: turns an analyzed plan of a session into an operator graph."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec

from predtrace.environment.sessions import as_active
from predtrace.errors import EngineError
from predtrace.frontends.spark.as_of import AsOfRewriter
from predtrace.frontends.spark.building import builder_in
from predtrace.frontends.spark.carrying import Carrier
from predtrace.frontends.spark.catalyst import JavaObject, option
from predtrace.frontends.spark.clocks import reads_dates_only
from predtrace.frontends.spark.files_read import FilesRead
from predtrace.frontends.spark.leaves import collect_leaves
from predtrace.frontends.spark.malformed import refuse_malformed
from predtrace.frontends.spark.metadata import (
    refuse_split_blocks,
    tell_files,
    unsplit_bytes,
)
from predtrace.frontends.spark.nested_cases import refuse_nested_cases
from predtrace.frontends.spark.normalize import Normalizer
from predtrace.frontends.spark.operators import translate
from predtrace.frontends.spark.pipeline import SparkPipeline
from predtrace.frontends.spark.pivots import without_pivots
from predtrace.frontends.spark.pruning import prune
from predtrace.frontends.spark.sessions_merged import SessionMerger, without_lineage
from predtrace.frontends.spark.statements import query_frame
from predtrace.frontends.spark.table_functions import TableFunctionRewriter
from predtrace.frontends.spark.translation import Translation
from predtrace.frontends.spark.variables import Variables
from predtrace.jobs.settings import EXCLUDED_RULES, read_settings
from pushdown.graph import OperatorGraph
from pushdown.operators import Assignment, RowTransform, Scan
from pushdown.topk import with_cuts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_EXPRESSION_ID = re.compile(r"#\d+L?\b")


def read_pipeline(
    pipeline: DataFrame | str,
    spark: SparkSession | None = None,
    functions: Mapping[str, Callable[..., Any]] = MappingProxyType({}),
) -> SparkPipeline:
    """Read a DataFrame, or SQL text with a session, without running it; commands are refused.

    `functions` are Python functions that it calls, by name; others are looked for in the callers'
    frames and in modules.

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
        raise EngineError(
            "a Spark Connect DataFrame has no plan in this process; use a classic Spark session"
        )
    session = pipeline.sparkSession
    with as_active(session):
        analyzed = pipeline._jdf.queryExecution().analyzed()
        return _read(session, analyzed, text, pipeline, functions)


def read_plan(
    session: SparkSession,
    analyzed: JavaObject,
    text: str | None = None,
    read: FilesRead | None = None,
) -> SparkPipeline:
    """Read an analyzed plan of a session without running it; `text` is the SQL it was made from.

    `read` is what its executed scans read, if it ran before: these files are then its sources.
    Raises as `read_pipeline` does.
    """
    with as_active(session):
        return _read(session, analyzed, text, _frame_of(session, analyzed), read=read)


def _frame_of(session: SparkSession, analyzed: JavaObject) -> DataFrame:
    from pyspark.sql import DataFrame

    dataset = builder_in(session._jvm).dataset(session._jsparkSession, analyzed)
    return DataFrame(dataset, session)


def _read(
    session: SparkSession,
    analyzed: JavaObject,
    text: str | None,
    dataframe: DataFrame,
    functions: Mapping[str, Callable[..., Any]] = MappingProxyType({}),
    read: FilesRead | None = None,
) -> SparkPipeline:
    jvm = session._jvm
    normalizer = Normalizer(jvm, session.conf.get(EXCLUDED_RULES, ""))
    refuse_nested_cases(analyzed)
    whole = normalizer.inline_ctes(analyzed)
    inlined = normalizer.fold_names(whole, session._jsparkSession)
    settled = normalizer.fold_time(inlined)
    builder = builder_in(jvm)
    given = normalizer.fold_tables(settled)
    told = tell_files(given, session._jsparkSession, builder)
    merger = SessionMerger(builder)
    rewritten = AsOfRewriter(builder).rewritten(without_pivots(prune(told, builder), builder))
    beside = TableFunctionRewriter(builder)
    plan = beside.rewritten(merger.rewritten(rewritten))
    settings = read_settings(session.conf, session.version)
    translation = Translation(
        builder=builder,
        normalizer=normalizer,
        settings=settings,
        carrier=Carrier(session, settings, builder, functions),
        leaves=collect_leaves(plan),
        variables=Variables(jvm),
        table_functions=beside.joins,
        read=read,
    )
    result = translate(translation, translation.normalized(plan.handle))
    translation.leaves.check_all_taken()
    _number_scans(translation)
    root = _named(translation, result.node, dataframe.columns)
    silent = (each for each, expr_id in translation.expr_ids.items() if expr_id in merger.added)
    graph = with_cuts(without_lineage(OperatorGraph(translation.operators, root), silent))
    sources = translation.book.sources()
    refuse_malformed(graph, sources, str(session.conf.get("spark.sql.columnNameOfCorruptRecord")))
    refuse_split_blocks(graph, sources, unsplit_bytes(session._jsparkSession))
    clock = not settled.fastEquals(inlined)
    return SparkPipeline(
        graph=graph,
        sources=sources,
        settings=translation.settings,
        query=text or option(analyzed.origin().sqlText()) or _to_read(str(analyzed.toString())),
        time_dependent=clock,
        dates_only=clock and reads_dates_only(inlined, settled),
        tells_session=not inlined.fastEquals(whole),
        tells_files=told is not given,
        unrepeatable=translation.book.unrepeatable(),
        functions_read=tuple(translation.carrier.python_read),
        dataframe=dataframe,
        translation=translation,
    )


def _to_read(plan: str) -> str:
    """A plan's text without expression ids: ``k#12L`` becomes ``k``."""
    return "DataFrame: " + _EXPRESSION_ID.sub("", plan)


def _number_scans(translation: Translation) -> None:
    """Name the sources of the scans; number the scans of each source from 1 in plan order."""
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
