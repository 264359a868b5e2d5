"""The effect of the sources' layout on a question: the same job over the same rows.

For each layout the query runs on Spark once, with its intermediates stored. Then DuckDB is asked
in turns, warm: the query itself over the layout's files, the row ids of one target and its full
rows (mode ``stored``). The rows of a target must be the same in all layouts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pyarrow as pa
import sqlglot

from tpch.bench.figures import Times
from tpch.check import choose_targets
from tpch.data import TABLES, table_path
from tpch.errors import TpchError
from tpch.queries import read_query

QUERY, IDS, ROWS = "query", "ids", "rows"
KINDS = (QUERY, IDS, ROWS)
Target = tuple[Any, ...]


class LayoutFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One query: seconds by layout and kind, and how many rows its first target has."""

    number: int
    rows: int
    seconds: dict[str, dict[str, Times]]


class LayoutMeter:
    """Measures a query whose jobs over the layouts' folders are given, by layout."""

    def __init__(
        self,
        number: int,
        folders: Mapping[str, Path],
        jobs: Mapping[str, Any],
        *,
        rounds: int,
        step: Callable[[str], None] = lambda name: None,
    ) -> None:
        self._number = number
        self._folders = folders
        self._jobs = jobs
        self._rounds = rounds
        self._step = step
        self._text = sqlglot.transpile(read_query(number), read="spark", write="duckdb")[0]
        self._databases = {layout: _database(folder) for layout, folder in folders.items()}

    def measure(self) -> LayoutFigures:
        """Compare, then time. Raises TpchError if the layouts' answers differ."""
        targets = self._targets()
        rows = self._compare(targets[0])
        seconds: dict[str, dict[str, list[float]]] = {
            layout: {kind: [] for kind in KINDS} for layout in self._folders
        }
        for done in range(self._rounds + 1):
            target = targets[done % len(targets)]
            for layout, times in seconds.items():
                self._step(f"{layout}, round {done} of {self._rounds}")
                for kind, action in _ACTIONS.items():
                    started = time.perf_counter()
                    action(self, layout, target)
                    times[kind].append(time.perf_counter() - started)
        return LayoutFigures(
            number=self._number,
            rows=rows,
            seconds={
                layout: {kind: Times(rounds[1:]) for kind, rounds in times.items()}
                for layout, times in seconds.items()
            },
        )

    def _targets(self) -> Sequence[Target]:
        """Rows that all layouts' outputs have: ties at a LIMIT may fall otherwise."""
        outputs = [
            list(zip(*(column.to_pylist() for column in job.output_arrow().columns), strict=True))
            for job in self._jobs.values()
        ]
        shared = set.intersection(*map(set, outputs))
        found = choose_targets([row for row in outputs[0] if row in shared], self._rounds)
        if not found:
            raise TpchError(f"Q{self._number} has no output row in common over the layouts")
        return found

    def _compare(self, target: Target) -> int:
        answers = {
            layout: [_in_order(scan.to_arrow()) for scan in self._ask(layout, target)]
            for layout in self._folders
        }
        (first, expected), *others = answers.items()
        for layout, found in others:
            if found != expected:
                raise TpchError(
                    f"Q{self._number}: other rows in the layout {layout} than in {first}"
                )
        return sum(table.num_rows for table in expected)

    def query(self, layout: str, target: Target) -> None:
        """Run the query itself."""
        self._databases[layout].sql(self._text).to_arrow_table()

    def ids(self, layout: str, target: Target) -> None:
        """Ask for the row ids of all scans."""
        for scan in self._ask(layout, target):
            scan.row_ids()

    def rows(self, layout: str, target: Target) -> None:
        """Ask for the full rows of all scans."""
        for scan in self._ask(layout, target):
            scan.to_arrow()

    def _ask(self, layout: str, target: Target) -> Any:
        return self._jobs[layout].lineage(target, mode="stored", engine="duckdb").scans


_ACTIONS: Mapping[str, Callable[[LayoutMeter, str, Target], None]] = {
    QUERY: LayoutMeter.query,
    IDS: LayoutMeter.ids,
    ROWS: LayoutMeter.rows,
}


def _in_order(rows: pa.Table) -> pa.Table:
    """The rows as a multiset: columns by name, rows sorted."""
    names = sorted(rows.column_names)
    return rows.select(names).sort_by([(name, "ascending") for name in names]).combine_chunks()


def _database(folder: Path) -> duckdb.DuckDBPyConnection:
    database = duckdb.connect()
    database.execute("SET enable_progress_bar = false")
    for table in TABLES:
        path = table_path(folder, table)
        files = [path] if path.is_file() else sorted(path.rglob("*.parquet"))
        parted = any("=" in file.parent.name for file in files)
        rows = database.read_parquet([str(file) for file in files], hive_partitioning=parted)
        rows.create_view(table)
    return database
