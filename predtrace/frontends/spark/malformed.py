"""Refuses CSV and JSON reads whose rows or values depend on the columns that are read.

Spark parses only the columns that a query needs, and a record is malformed if one of these cannot
be parsed. Lineage reads other columns than the run did, so such reads are refused. In the default
mode a missing or malformed field is NULL, whichever columns are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from predtrace.errors import UnsupportedOperatorError
from predtrace.jobs.model import Source
from pushdown.graph import OperatorGraph
from pushdown.needs import needed_columns

_PARSED = ("csv", "json")
_COLUMN = "columnnameofcorruptrecord"


def refuse_malformed(graph: OperatorGraph, sources: Iterable[Source], column: str) -> None:
    """Raise UnsupportedOperatorError if the reads of a source depend on the columns read.

    `column` is the session's name for the column that holds malformed records.
    """
    needed = needed_columns(graph)
    for source in sources:
        if source.format not in _PARSED:
            continue
        options = {key.lower(): value for key, value in source.options.items()}
        if options.get("mode", "").upper() == "DROPMALFORMED":
            raise UnsupportedOperatorError(
                f"source {source.name} cannot be traced: which of its lines mode DROPMALFORMED "
                "drops depends on the columns that are read; read it without that mode and "
                "filter, or write it to Parquet and read that"
            )
        records = options.get(_COLUMN, column)
        if _reads(graph, needed, source.name, records):
            raise UnsupportedOperatorError(
                f"column {records} of source {source.name} cannot be traced: which records it "
                "holds depends on the columns that are read; write the source to Parquet and "
                "read that"
            )


def _reads(
    graph: OperatorGraph, needed: Mapping[int, frozenset[int]], table: str, name: str
) -> bool:
    return any(
        column.name == name and column.id in needed[scan.id]
        for scan in graph.scans()
        if scan.table == table
        for column in scan.columns
    )
