"""Checks the lineage of one TPC-DS query after another.

For each query: trace it, run it with a store, and ask for the lineage of some output rows from
stored results and by replay. The rows are compared with those that the text gives by itself
(`tpch.truth`); where it gives none, the modes are compared with each other. A query without output
is asked with constants that the data hold (`tpch.tpcds.constants`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

import predtrace
from predtrace.errors import EngineError, NonDeterministicError, UnsupportedOperatorError
from tpch.check import PRECISE, choose_targets, stored_bytes
from tpch.oracle import ScanName
from tpch.tpcds.constants import Fitted, fitted
from tpch.tpcds.data import read_query, table_files
from tpch.truth import read_truth
from tpch.truth.tables import alike, read_tables

if TYPE_CHECKING:
    import duckdb
    from pyspark.sql import SparkSession

TEXT = "text"
MODES = ("stored", "replayed")
Lineage: TypeAlias = dict[ScanName, list[set[int]]]
"""For each scan the rows of each target."""
Found = tuple[dict[ScanName, str], Lineage]
"""The label of each scan, and its rows for each target."""


class ModeAnswer(msgspec.Struct, frozen=True):
    """The answers of one mode: the weakest label, or why there is no answer; until row ids."""

    mode: str
    label: str
    seconds: float


class QueryCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What was found out about one query; `refused` says why it is not traced, if so.

    `labels` are those of its scans; `inference_seconds` leaves out reading Spark's plan.
    `truth` says what answers were compared with. `exchanged` and `left_out` count comparisons
    whose constants the data do not hold.
    """

    number: int
    refused: str = ""
    labels: tuple[str, ...] = ()
    intermediates: int = 0
    inference_seconds: float = 0.0
    stored_bytes: int = 0
    output_rows: int = 0
    targets: int = 0
    asked: tuple[ModeAnswer, ...] = ()
    truth: str = ""
    exchanged: int = 0
    left_out: int = 0
    problems: tuple[str, ...] = ()


class Checker:
    """Checks queries over one data folder, on one Spark session, with one job store."""

    def __init__(
        self,
        spark: SparkSession,
        folder: Path,
        store: Path,
        *,
        targets: int = 10,
        run: bool = True,
        step: Callable[[str], None] = lambda name: None,
    ) -> None:
        self._spark = spark
        self._folder = folder
        self._store = store
        self._targets = targets
        self._run = run
        self._step = step
        files = table_files(folder)
        self._tables = read_tables(files)
        self._database = _views(files)
        for table, file in files.items():
            spark.read.parquet(str(file.resolve())).createOrReplaceTempView(table)

    def check(self, number: int) -> QueryCheck:
        """Check one query; without `run` only trace it."""
        text = read_query(self._folder, number)
        self._step("trace")
        try:
            trace = predtrace.trace(self._spark.sql(text))
        except (UnsupportedOperatorError, NonDeterministicError) as error:
            return QueryCheck(number=number, refused=str(error))
        self._step("infer")
        plan = trace.plan()
        traced = QueryCheck(
            number=number,
            labels=tuple(scan.label for scan in plan.scans),
            intermediates=len(plan.intermediates),
            inference_seconds=trace.inference_seconds,
        )
        if not self._run:
            return traced
        self._step("fit")
        asked = fitted(text, self._database) or Fitted(text)
        if asked.text != text:
            trace = predtrace.trace(self._spark.sql(asked.text))
        return self._answers(trace, asked, traced)

    def _answers(self, trace: Any, text: Fitted, traced: QueryCheck) -> QueryCheck:
        self._step("run")
        job = trace.run(store=str(self._store))
        rows = [tuple(row) for row in job.output.collect()]
        targets = choose_targets(rows, self._targets)
        found: dict[str, Found] = {}
        asked = []
        for mode in MODES if targets else ():
            self._step(f"{mode} lineage")
            started = time.perf_counter()
            try:
                found[mode] = self._twice(job, targets, mode)
                label = max(found[mode][0].values())
            except NonDeterministicError as error:
                label = f"refused: {error}"
            asked.append(ModeAnswer(mode, label, time.perf_counter() - started))
        self._step("compare")
        expected, truth = self._truth(text.text, targets) if found else (None, "")
        problems: list[str] = []
        if expected is not None:
            given = (dict.fromkeys(expected, PRECISE), expected)
            for mode, answer in found.items():
                problems += differences(mode, answer, "the text", given)
        elif len(found) > 1:
            problems += differences(MODES[0], found[MODES[0]], MODES[1], found[MODES[1]])
        return msgspec.structs.replace(
            traced,
            stored_bytes=stored_bytes(job),
            output_rows=len(rows),
            targets=len(targets),
            asked=tuple(asked),
            truth=truth,
            exchanged=text.exchanged,
            left_out=text.left_out,
            problems=tuple(problems),
        )

    def _truth(self, text: str, targets: Sequence[tuple[Any, ...]]) -> tuple[Lineage | None, str]:
        """The lineage that the text gives, and what the answers are compared with."""
        try:
            truth = read_truth(text, self._tables)
        except NotImplementedError as error:
            return None, f"modes: no truth for {error}"
        numbers = [alike(truth.rows, target) for target in targets]
        if not all(numbers):
            return None, f"modes: the text gives {numbers.count([])} targets otherwise"
        lineages = [truth.lineage(each) for each in numbers]
        return {name: [each[name] for each in lineages] for name in truth.scans.values()}, TEXT

    def _twice(self, job: Any, targets: Sequence[tuple[Any, ...]], mode: str) -> Found:
        """Ask; once more if the engine failed, as its error says."""
        try:
            return self._ask(job, targets, mode)
        except EngineError:
            return self._ask(job, targets, mode)

    def _ask(self, job: Any, targets: Sequence[tuple[Any, ...]], mode: str) -> Found:
        answer = job.lineage(list(targets), mode=mode, spark=self._spark)
        if answer.missing:
            raise AssertionError(f"{len(answer.missing)} targets are not found in the output")
        labels, rows = {}, {}
        for scan in answer.scans:
            name = ScanName(scan.table, scan.occurrence)
            ids = scan.row_ids()
            rows[name] = [set[int]() for _ in targets]
            several = "target" in ids.column_names
            of = ids.column("target").to_pylist() if several else [0] * ids.num_rows
            for target, row in zip(of, ids.column("row").to_pylist(), strict=True):
                rows[name][target].add(row)
            labels[name] = scan.label
        return labels, rows


def _views(files: Mapping[str, Path]) -> duckdb.DuckDBPyConnection:
    import duckdb

    database = duckdb.connect()
    for table, file in files.items():
        database.read_parquet(str(file)).create_view(table)
    return database


def differences(name: str, one: Found, other_name: str, other: Found) -> list[str]:
    """What two answers cannot both be right in: precise ones are equal, others contain them."""
    problems = []
    labels, rows = one
    for scan in sorted({*rows, *other[1]}):
        if scan not in rows or scan not in other[1]:
            problems.append(f"{scan} is in one of {name} and {other_name} only")
            continue
        pairs = list(zip(rows[scan], other[1][scan], strict=True))
        missing = sum(len(theirs - own) for own, theirs in pairs)
        extra = sum(len(own - theirs) for own, theirs in pairs)
        precise = (other[0][scan] == PRECISE, labels[scan] == PRECISE)
        if (missing and precise[0]) or (extra and precise[1]):
            problems.append(
                f"{scan}: {name} lacks {missing} rows of {other_name}, and has {extra} more"
            )
    return problems


def summary(checks: Sequence[QueryCheck]) -> Mapping[str, int]:
    """How many queries are traced, precise, refused, compared with their text, or wrong."""
    traced = [check for check in checks if not check.refused]
    return {
        "queries": len(checks),
        "traced": len(traced),
        "precise": sum(set(check.labels) == {PRECISE} for check in traced),
        "refused": len(checks) - len(traced),
        "compared with the text": sum(check.truth == TEXT for check in checks),
        "wrong": sum(bool(check.problems) for check in checks),
    }
