"""The cost constants of estimates and choices, each with the origin of its figure.

A wrong constant costs time or bytes, never correctness: all choices give the same answers.
"""

from __future__ import annotations

DEFAULT_ROWS = 1_000_000.0
"""Rows of a source without a row count. Set by hand: large, so that its joins look large."""

BYTES_A_ROW = 50
"""Bytes of a row in a file whose rows are not counted. TPC-H's tables as zstd Parquet, scale 0.1,
have 34 (lineitem), 37 (part), 40 (orders), 55 (partsupp), 91 (supplier) and 93 (customer)."""

SELECTIVITY = {
    "eq": 0.1,
    "nullsafe_eq": 0.1,
    "lt": 0.33,
    "le": 0.33,
    "gt": 0.33,
    "ge": 0.33,
    "in": 0.2,
    "like": 0.1,
    "is_not_null": 1.0,
    "is_null": 0.1,
}
"""Share of rows for which a comparison is true. A tenth for equality and a third for a range come
from Selinger et al. 1979 (Table 1, without statistics); the others are set by hand."""

DEFAULT_SELECTIVITY = 0.5
"""The same for any other condition, set by hand."""

GROUPS_A_ROW = 0.5
"""Groups per input row, or per row of a key's own table if that is smaller. Set by hand."""

SELECTIVE = 0.02
"""A scan that keeps at most this share of its rows may be cached for several reads. Set by hand:
the cached rows are then small compared with a second read."""

MUCH_SMALLER = 0.2
"""A value set is worth computing if it has at most this share of the rows that it restricts. Set by
hand."""

READ_COST = 3.0
"""Reading so many rows for a value set takes as long as joining and grouping one row. Set by
hand."""

MUCH_LARGER = 5.0
"""If refinement is precise, too, a replay is avoided when its results are expected to have so many
times the rows that refinement reads. Set by hand."""
