"""The functions that only windows have, in Spark SQL: one row each.

Spark is the pipelines' own engine, and so exact.
"""

from __future__ import annotations

from collections.abc import Mapping

from predtrace.engines.spark.total import OWN_ENGINE
from predtrace.engines.sql.aggregates import WindowSpelling, spelled_window
from predtrace.engines.sql.functions import Evaluated
from pushdown.operators import WindowFunction


def _row(name: str) -> Evaluated[WindowSpelling, WindowFunction]:
    return Evaluated(spelled_window(name), OWN_ENGINE)


SPARK_WINDOWS: Mapping[str, Evaluated[WindowSpelling, WindowFunction]] = {
    "rank": _row("rank"),
    "dense_rank": _row("dense_rank"),
    "percent_rank": _row("percent_rank"),
    "cume_dist": _row("cume_dist"),
    "row_number": _row("row_number"),
    "ntile": _row("ntile"),
}
"""Every such function, by id."""
