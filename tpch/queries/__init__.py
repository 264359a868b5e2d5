"""The 22 queries of the TPC-H specification in Spark SQL, one file each."""

from __future__ import annotations

from pathlib import Path

from tpch.errors import TpchError

NUMBERS = tuple(range(1, 23))


def read_query(number: int) -> str:
    """The text of a query. Raises TpchError if there is no such query."""
    path = Path(__file__).parent / f"q{number:02}.sql"
    if not path.exists():
        raise TpchError(f"TPC-H has no query {number}: choose from 1 to {NUMBERS[-1]}")
    return path.read_text(encoding="utf-8")
