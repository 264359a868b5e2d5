"""The functions that only windows have, in DuckDB: one row each, and where it is exact."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from predtrace.engines.sql.aggregates import WindowSpelling, of_a_row, spelled_window
from predtrace.engines.sql.functions import ALWAYS, Evaluated, Refused
from pushdown.operators import WindowFunction

_DIVIDES = "its floating-point quotient has not been measured"

DUCKDB_WINDOWS: Mapping[str, Evaluated[WindowSpelling, WindowFunction] | Refused] = {
    "rank": Evaluated(spelled_window("rank"), ALWAYS),
    "dense_rank": Evaluated(spelled_window("dense_rank"), ALWAYS),
    "percent_rank": Refused(_DIVIDES),
    "cume_dist": Refused(_DIVIDES),
    "row_number": Evaluated(spelled_window("row_number"), ALWAYS),
    "ntile": Evaluated(spelled_window("ntile"), ALWAYS),
    "lag": Evaluated(of_a_row(exp.Lag), ALWAYS),
    "lead": Evaluated(of_a_row(exp.Lead), ALWAYS),
    "first_value": Evaluated(of_a_row(exp.FirstValue), ALWAYS),
    "last_value": Evaluated(of_a_row(exp.LastValue), ALWAYS),
    "nth_value": Evaluated(of_a_row(exp.NthValue), ALWAYS),
}
"""Every such function, by id."""
