"""SQL texts: turns queries into DataFrames, and refuses commands before Spark can run them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from predtrace.errors import PredTraceError
from predtrace.frontends.spark.catalyst import CATALYST, JavaObject, class_name, items, place

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_COMMANDS = (
    f"{CATALYST}.plans.logical.Command",
    # INSERT and the like, before the analyzer turns them into commands.
    f"{CATALYST}.plans.logical.ParsedStatement",
    f"{CATALYST}.plans.logical.InsertIntoDir",
    # CALL, which the analyzer itself runs.
    f"{CATALYST}.plans.logical.ExecutableDuringAnalysis",
    # BEGIN … END.
    f"{CATALYST}.plans.logical.CompoundPlanStatement",
    # Its analysis runs the text.
    f"{CATALYST}.analysis.UnresolvedExecuteImmediate",
)
"""Plan classes that `SparkSession.sql` runs at once."""


def query_frame(spark: SparkSession, text: str) -> DataFrame:
    """The DataFrame of one SQL query; nothing is run.

    Raises PredTraceError for commands and scripts; Spark's own errors for bad SQL.
    """
    # The session's own parser, which substitutes variables and knows its extensions.
    parsed = spark._jsparkSession.sessionState().sqlParser().parsePlan(text)
    for plan in _statements(parsed):
        if _is_command(spark, plan):
            raise PredTraceError(
                f"the text is not a query but a command (Catalyst: {class_name(plan)}), which is "
                "not run for its lineage; trace the SELECT in it, without the text before it, and "
                "run the command by itself"
                f"{place(plan)}"
            )
    return spark.sql(text)


def _statements(plan: JavaObject) -> Iterator[JavaObject]:
    """The places where a command can stand: at the top, under WITH, or as one of several."""
    yield plan
    if class_name(plan) in ("UnresolvedWith", "Union"):
        for child in items(plan.children()):
            yield from _statements(child)


def _is_command(spark: SparkSession, plan: JavaObject) -> bool:
    from py4j.java_gateway import is_instance_of

    gateway = spark.sparkContext._gateway
    return any(is_instance_of(gateway, plan, name) for name in _COMMANDS)
