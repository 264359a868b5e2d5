"""Checks the lineage of one TPC-H query after another against the oracle.

For each query: trace it, run it with a store, compare its result with that of the plain
query, ask for the lineage of many output rows in one batch on every engine, and compare
the source rows per scan and target with the oracle's.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

import predtrace
from tpch.brute import Removal, remove_rows
from tpch.data import TABLES, table_files, table_path
from tpch.database import open_database, row_id
from tpch.oracle import AGGREGATES, Lineage, Oracle, Row, ScanName
from tpch.queries import read_query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PRECISE = "precise"
ENGINES = ("duckdb", "spark")
COMPACTED = "compacted"
"""Mode `stored`, asked after `predtrace build` compacted the stored intermediate results."""
INEXACT = ("refined", "naive")
"""The modes whose answers may have rows that are not lineage."""


class ScanCheck(msgspec.Struct, frozen=True):
    """A scan of an answer beside the oracle: rows over all targets, how many differ.

    `example` describes one of the rows that are missing or too many.
    """

    scan: ScanName
    label: str
    rows: int
    missing: int
    extra: int
    example: str = ""

    @property
    def precise(self) -> int:
        """How many rows the precise lineage has."""
        return self.rows - self.extra + self.missing

    @property
    def false_positives(self) -> float:
        """The share of the returned rows that are no lineage (the paper's Table 6)."""
        return self.extra / self.rows if self.rows else 0.0

    def problem(self, *, precise: bool = True) -> str:
        """What is wrong with it, where it must be `precise` or may be a superset; else empty."""
        extra = self.extra if precise or self.label == PRECISE else 0
        if self.missing or extra:
            return f"{self.scan}: {self.missing} rows missing, {extra} too many{self.example}"
        return f"{self.scan}: label {self.label}" if precise and self.label != PRECISE else ""


class AnswerCheck(msgspec.Struct, frozen=True):
    """One batch of questions on one engine.

    `seconds` is until all row ids were read; `not_found` counts the targets that the
    answer says are no output rows; `reads` counts the scans of each source, for the batch.
    """

    engine: str
    aggregates: str
    seconds: float
    scans: tuple[ScanCheck, ...]
    not_found: int = 0
    mode: str = "stored"
    passes: int | None = None
    reads: dict[str, int] = {}

    def problems(self) -> list[str]:
        """What is wrong with it: all modes but the inexact ones must be precise."""
        precise = self.mode not in INEXACT
        found = [problem for scan in self.scans if (problem := scan.problem(precise=precise))]
        if self.not_found:
            found.append(f"{self.not_found} targets not found in the output")
        return [f"{self.mode}, {self.engine}, {self.aggregates}: {problem}" for problem in found]

    @property
    def false_positives(self) -> float:
        """The share of all returned rows that are no lineage."""
        rows = sum(scan.rows for scan in self.scans)
        return sum(scan.extra for scan in self.scans) / rows if rows else 0.0


class QueryCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The results for one query.

    `inference_seconds` leaves out reading Spark's plan. `intermediates` and `stored_bytes` are for
    the minimal reading of min and max, as in the paper.
    """

    number: int
    output_rows: int
    targets: int
    trace_seconds: float
    inference_seconds: float
    plain_seconds: float
    run_seconds: float
    intermediates: int
    stored_bytes: int
    answers: tuple[AnswerCheck, ...]
    removals: tuple[Removal, ...]
    problems: tuple[str, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that occurred."""
        return tuple(sorted({scan.label for answer in self.answers for scan in answer.scans}))


class Checker:
    """Checks queries over one data folder, on one Spark session, with one job store."""

    def __init__(
        self,
        spark: SparkSession,
        folder: Path,
        store: Path,
        *,
        targets: int = 40,
        modes: Sequence[tuple[str, Sequence[str]]] = (("stored", ENGINES),),
        brute: int = 0,
        strict: bool = True,
        step: Callable[[str], None] = lambda name: None,
    ) -> None:
        self._spark = spark
        self._folder = folder
        self._store = store
        self._targets = targets
        self._modes = modes
        self._brute = brute
        self._strict = strict
        self._step = step
        self._database = open_database(folder)
        self._file_numbers = {
            str(file.resolve()): number
            for table in TABLES
            for number, file in enumerate(table_files(folder, table))
        }
        register_tables(spark, folder)

    def close(self) -> None:
        """Give up the oracle's database."""
        self._database.close()

    def check(self, number: int) -> QueryCheck:
        """Check one query."""
        self._step("oracle")
        oracle = Oracle(number, self._database)
        readings = AGGREGATES if oracle.has_readings else AGGREGATES[:1]
        self._step("plain run")
        plain_rows, plain_seconds = _timed(lambda: _collect(self._frame(number)))
        self._step("trace")
        trace, trace_seconds = _timed(lambda: predtrace.trace(self._frame(number)))
        self._step("infer")
        for aggregates in readings:
            trace.plan(aggregates)
        self._step("run")
        job, run_seconds = _timed(
            lambda: trace.run(
                store=str(self._store),
                keep="inline",
                aggregates="both" if len(readings) > 1 else readings[0],
            )
        )
        problems = _output_problems(plain_rows, _collect(job.output), oracle.output())
        targets = choose_targets(plain_rows, self._targets)
        answers = []
        removals: list[Removal] = []
        for aggregates in readings:
            expected = oracle.lineage(targets, aggregates)
            for mode, engines in self._modes:
                for engine in engines:
                    if mode == "indexed":
                        self._step("build the index")
                        job.build_index(aggregates=aggregates)
                    if mode == COMPACTED:
                        self._step("make the intermediates smaller")
                        job.build_intermediates()
                    self._step(f"{mode} lineage on {engine}")
                    answers.append(self._ask(job, targets, expected, mode, engine, aggregates))
            if self._brute:
                self._step("brute force")
                removals += remove_rows(number, self._database, targets, expected, self._brute)
        problems += [problem for answer in answers for problem in answer.problems()]
        problems += [p for removal in removals if (p := removal.problem(self._strict))]
        return QueryCheck(
            number=number,
            output_rows=len(plain_rows),
            targets=len(targets),
            trace_seconds=trace_seconds,
            inference_seconds=trace.inference_seconds,
            plain_seconds=plain_seconds,
            run_seconds=run_seconds,
            intermediates=len(trace.plan(readings[0]).intermediates),
            stored_bytes=stored_bytes(job, readings[0]),
            answers=tuple(answers),
            removals=tuple(removals),
            problems=tuple(problems),
        )

    def _frame(self, number: int) -> Any:
        return self._spark.sql(read_query(number))

    def _ask(
        self,
        job: Any,
        targets: Sequence[Row],
        expected: Lineage,
        mode: str,
        engine: str,
        aggregates: str,
    ) -> AnswerCheck:
        def read() -> tuple[dict[ScanName, tuple[str, list[set[int]]]], Any]:
            asked = "stored" if mode == COMPACTED else mode
            lineage = job.lineage(list(targets), engine=engine, mode=asked, aggregates=aggregates)
            found = {
                ScanName(scan.table, scan.occurrence): (
                    scan.label,
                    self._rows(scan.row_ids(), len(targets)),
                )
                for scan in lineage.scans
            }
            return found, lineage

        (found, lineage), seconds = _timed(read)
        scans = []
        for scan in sorted({*found, *expected}):
            label, rows = found.get(scan, ("no such scan", []))
            scans.append(compare_rows(scan, label, rows, expected.get(scan, [])))
        return AnswerCheck(
            engine=engine,
            aggregates=aggregates,
            seconds=seconds,
            scans=tuple(scans),
            not_found=len(lineage.missing),
            mode=mode,
            passes=lineage.passes,
            reads=lineage.source_reads,
        )

    def _rows(self, ids: Any, targets: int) -> list[set[int]]:
        """The row ids per target, out of an answer's (target,) file and row number columns."""
        rows: list[set[int]] = [set() for _ in range(targets)]
        names = ids.column_names
        asked = ids.column("target").to_pylist() if "target" in names else [0] * ids.num_rows
        files = [self._file_numbers[file] for file in ids.column("file").to_pylist()]
        for target, file, row in zip(asked, files, ids.column("row").to_pylist(), strict=True):
            rows[target].add(row_id(file, row))
        return rows


def register_tables(spark: SparkSession, folder: Path) -> None:
    """Make the tables of a data folder temporary views of the session."""
    for table in TABLES:
        path = table_path(folder, table).resolve()
        spark.read.parquet(str(path)).createOrReplaceTempView(table)


def choose_targets(rows: Sequence[Row], most: int) -> list[Row]:
    """At most `most` of the different rows, evenly spread over the output."""
    different = list(dict.fromkeys(rows))
    count = min(most, len(different))
    return [different[position * len(different) // count] for position in range(count)]


def stored_bytes(job: Any, aggregates: str = AGGREGATES[0]) -> int:
    """The bytes of the intermediate results that a job stored for one reading of min and max."""
    folders = {
        item.result.folder: item.result.bytes
        for item in job.record.intermediates
        if item.aggregates == aggregates
    }
    return sum(folders.values())


def _timed(action: Callable[[], Any]) -> tuple[Any, float]:
    started = time.perf_counter()
    result = action()
    return result, time.perf_counter() - started


def _collect(frame: Any) -> list[Row]:
    return [tuple(row) for row in frame.collect()]


def _output_problems(plain: list[Row], run: list[Row], oracle: list[Row]) -> list[str]:
    problems = []
    if Counter(run) != Counter(plain):
        problems.append("the result of the run is not that of the plain query")
    if Counter(oracle) != Counter(plain):
        problems.append("the oracle's output is not that of the plain query")
    return problems


def compare_rows(
    scan: ScanName, label: str, found: list[set[int]], expected: list[set[int]]
) -> ScanCheck:
    """Compare the source rows per target of one scan: those found with those expected."""
    if len(found) != len(expected):
        return ScanCheck(scan, label, 0, sum(map(len, expected)), sum(map(len, found)))
    missing = [(t, row) for t, rows in enumerate(expected) for row in rows - found[t]]
    extra = [(t, row) for t, rows in enumerate(found) for row in rows - expected[t]]
    example = ""
    if missing or extra:
        target, row = (missing or extra)[0]
        example = f" (row {row} for target {target})"
    rows = sum(map(len, found))
    return ScanCheck(scan, label, rows, len(missing), len(extra), example)
