"""The functions that only windows have, in Spark SQL: one row each.

Spark is the pipelines' own engine, and so exact.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from predtrace.engines.spark.total import OWN_ENGINE
from predtrace.engines.sql.aggregates import WindowSpelling, of_a_row, spelled_window
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
    "lag": Evaluated(of_a_row(exp.Lag), OWN_ENGINE),
    "lead": Evaluated(of_a_row(exp.Lead), OWN_ENGINE),
    "first_value": Evaluated(of_a_row(exp.FirstValue), OWN_ENGINE),
    "last_value": Evaluated(of_a_row(exp.LastValue), OWN_ENGINE),
    "nth_value": Evaluated(of_a_row(exp.NthValue), OWN_ENGINE),
}
"""Every such function, by id."""
