"""One random statement, run and asked about: what predtrace answers against the truth."""

from __future__ import annotations

import random
import shutil
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.sqltruth.scans import Place, scans
from tests.sqltruth.syntax import Statement, statement_text
from tests.sqltruth.tables import Rows, random_tables, write_tables
from tests.sqltruth.tracer import Row, ScanName, Traced, Tracer, merged, source_rows, union
from tests.sqltruth.values import RaisesError, Settings, row_key
from tests.sqltruth.writer import Writer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ZONES = ("UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kolkata")
MODES = ("naive", "refined", "replayed", "stored", "indexed")
ON_SPARK_INSTEAD = ("refined", "replayed")
"""Modes that are asked about on Spark where DuckDB is not exact."""
MOST_TARGETS = 8
_ATTEMPTS = 10
_ENOUGH = 4


@dataclass
class Batch:
    """Tables, and a session with its settings, that some statements share."""

    number: int
    spark: SparkSession
    settings: Settings
    tables: Mapping[str, Rows]
    folder: Path


def open_batch(number: int, session: SparkSession, folder: Path) -> Batch:
    """The batch's own settings and tables."""
    rng = random.Random(f"batch {number}")
    settings = Settings(rng.choice(ZONES), ansi=rng.random() < 0.6)
    return batch_of(number, session, settings, random_tables(rng), folder)


def batch_of(
    number: int,
    session: SparkSession,
    settings: Settings,
    tables: Mapping[str, Rows],
    folder: Path,
) -> Batch:
    """The tables as Parquet files and temp views of a session of their own."""
    spark = session.newSession()
    spark.conf.set("spark.sql.session.timeZone", settings.zone)
    spark.conf.set("spark.sql.ansi.enabled", str(settings.ansi).lower())
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    place = folder / f"batch-{number}"
    for name, path in write_tables(place, tables).items():
        spark.read.parquet(str(path)).createOrReplaceTempView(name)
    return Batch(number, spark, settings, tables, place)


class Choices(NamedTuple):
    """How a statement is run and asked about.

    With `instead`, some modes are asked on Spark where DuckDB is not exact.
    """

    aggregates: str
    engines: tuple[str, ...] = ("duckdb",)
    keep: str = "none"
    instead: bool = False


@dataclass
class Outcome:
    """What came of one seed. `findings` are what is wrong."""

    seed: int
    text: str
    choices: Choices
    status: str = "asked"
    targets: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    findings: list[dict[str, Any]] = field(default_factory=list)

    def record(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "seed": self.seed,
            "status": self.status,
            "targets": self.targets,
            "labels": dict(self.labels),
            "refusals": dict(self.refusals),
            "findings": self.findings,
            **({"sql": self.text, "choices": self.choices._asdict()} if self.findings else {}),
        }


def statement_of(seed: int, batch: Batch) -> Statement:
    """The seed's statement: of some attempts the first whose rows have a few source rows."""
    rng = random.Random(seed)
    for _ in range(_ATTEMPTS):
        statement = Writer(rng, batch.settings.ansi).statement()
        try:
            rows = Tracer(batch.tables, batch.settings, "minimal").run(statement)
        except RaisesError:
            continue
        if union(rows).bit_count() >= _ENOUGH and len(scans(statement)) > 1:
            break
    return statement


def choices_of(seed: int) -> Choices:
    """Every tenth seed is asked about on Spark, too, which then stores the intermediates."""
    rng = random.Random(f"choices {seed}")
    aggregates = rng.choice(("minimal", "minimal", "whole"))
    if seed % 10:
        return Choices(aggregates, instead=seed % 5 == 1)
    return Choices(aggregates, ("duckdb", "spark"), rng.choice(("inline", "late")))


def check_seed(seed: int, batch: Batch) -> Outcome:
    """Write, run and ask."""
    return check(statement_of(seed, batch), batch, choices_of(seed), seed)


def check(statement: Statement, batch: Batch, choices: Choices, seed: int = 0) -> Outcome:
    """Run and ask: the outcome has a finding for everything that is not as it should be."""
    outcome = Outcome(seed, statement_text(statement), choices)
    store = batch.folder / f"store-{seed}"
    try:
        Check(statement, batch, outcome, choices, store).run()
    except Stop as stop:
        outcome.status = str(stop)
    finally:
        shutil.rmtree(store, ignore_errors=True)
    return outcome


class Stop(Exception):
    """There is nothing to ask; says why."""


@dataclass
class Check:
    """The check of one statement."""

    statement: Statement
    batch: Batch
    outcome: Outcome
    choices: Choices
    store: Path

    def run(self) -> None:
        """All of it."""
        import predtrace

        rows = self._truth()
        frame = self._frame()
        try:
            trace = predtrace.trace(frame)
        except predtrace.PredTraceError as refusal:
            self._refused("trace", refusal)
            raise Stop("refused") from None
        except Exception as error:
            self._crashed("trace", error)
        try:
            job = trace.run(
                store=self.store, keep=self.choices.keep, aggregates=self.choices.aggregates
            )
        except Exception as error:
            # Spark may raise, too: in a branch that the evaluator's CASE does not take, say.
            self._plain(frame)
            self._crashed("run", error)
        output = output_rows(job.output_arrow())
        if counted(output) != counted([row.values for row in rows]):
            self._wrong_result(frame, output, rows)
        if output:
            targets = list({row_key(row): row for row in output}.values())[:MOST_TARGETS]
            self._ask(job, targets, rows)

    def _truth(self) -> list[Traced]:
        tracer = Tracer(self.batch.tables, self.batch.settings, self.choices.aggregates)
        self.places = scans(self.statement)
        for number, place in enumerate(self.places):
            tracer.scans[place.path] = ScanName(place.table, place.alias, number)
        try:
            return tracer.run(self.statement)
        except RaisesError:
            raise Stop("raises") from None

    def _frame(self) -> DataFrame:
        from pyspark.errors import AnalysisException, IllegalArgumentException, ParseException

        try:
            return self.batch.spark.sql(self.outcome.text)
        except ParseException as error:
            self._finding("not SQL", error=first_line(error))
            raise Stop("not SQL") from None
        except (AnalysisException, IllegalArgumentException) as error:
            self.outcome.refusals[f"Spark: {error.getCondition()}"] += 1
            raise Stop("not accepted by Spark") from None

    def _plain(self, frame: DataFrame) -> list[Row]:
        try:
            return output_rows(frame.toArrow())
        except Exception:
            raise Stop("raises") from None

    def _wrong_result(
        self, frame: DataFrame, output: Sequence[Row], rows: Sequence[Traced]
    ) -> None:
        plain = counted(self._plain(frame))
        mine = counted([row.values for row in rows])
        if counted(output) != plain:
            self._finding("run differs from Spark", expected=repr(plain), got=repr(output))
            raise Stop("run differs")
        self._finding("evaluator differs from Spark", expected=repr(plain), got=repr(mine))
        raise Stop("evaluator differs")

    def _ask(self, job: Any, targets: Sequence[Row], rows: Sequence[Traced]) -> None:
        self.outcome.targets = len(targets)
        lineage = {row_key(row.values): row.sources for row in merged(rows)}
        expected = [
            [source_rows(lineage[row_key(target)], ScanName("", None, number))
             for number in range(len(self.places))]
            for target in targets
        ]  # fmt: skip
        for engine in self.choices.engines:
            for mode in MODES:
                if (
                    mode == "stored"
                    and self.choices.keep == "none"
                    and not self._built(job, engine)
                ):
                    continue
                exact = self._answer(job, targets, expected, engine, mode)
                if not exact and mode in ON_SPARK_INSTEAD and self.choices.instead:
                    self._answer(job, targets, expected, "spark", mode)

    def _answer(
        self,
        job: Any,
        targets: Sequence[Row],
        expected: Sequence[Sequence[set[int]]],
        engine: str,
        mode: str,
    ) -> bool:
        """Ask and compare; whether there was an answer."""
        from predtrace import PredTraceError

        where = f"{mode} on {engine}"
        try:
            if mode == "indexed":
                job.build_index(engine=engine, aggregates=self.choices.aggregates)
            # The first target twice, so that an answer always numbers its targets.
            answer = job.lineage(
                [*targets, targets[0]], mode=mode, engine=engine,
                aggregates=self.choices.aggregates,
            )  # fmt: skip
            found = [answered(scan) for scan in answer.scans]
        except PredTraceError as refusal:
            self._refused(where, refusal)
            return False
        except Exception as error:
            self._finding("crash", where=where, error=repr(error)[:2000])
            return True
        self.outcome.labels[f"{where}: {answer.label}"] += 1
        if answer.missing:
            self._finding("targets not found", where=where, got=repr(answer.missing))
        pairs = self._paired(answer, where)
        for number, target in enumerate(targets):
            for place, scan in pairs:
                want = expected[number][place]
                got = found[scan].get(number, []) if scan is not None else []
                label = answer.scans[scan].label if scan is not None else "precise"
                self._compare(where, target, self.places[place], label, want, got)
        return True

    def _built(self, job: Any, engine: str) -> bool:
        from predtrace import PredTraceError

        try:
            job.build_intermediates(engine=engine)
        except PredTraceError as refusal:
            self._refused(f"build on {engine}", refusal)
            return False
        except Exception as error:
            self._finding("crash", where=f"build on {engine}", error=repr(error)[:2000])
            return False
        return True

    def _paired(self, answer: Any, where: str) -> list[tuple[int, int | None]]:
        """Scans of the statement with scans of the answer: by table and alias, in plan order."""
        theirs: dict[Any, list[int]] = defaultdict(list)
        for number, scan in enumerate(answer.scans):
            theirs[scan.table, scan.alias or scan.table].append(number)
        ours: dict[Any, list[int]] = defaultdict(list)
        for number, place in enumerate(self.places):
            ours[place.table, place.alias or place.table].append(number)
        pairs: list[tuple[int, int | None]] = []
        for name in {**ours, **theirs}:
            mine, given = ours.get(name, []), theirs.get(name, [])
            if len(mine) != len(given):
                mine = [number for number in mine if self.places[number].read]
            if len(mine) < len(given) or (len(given) < len(mine) and len(mine) > 1):
                self._finding("scans", where=where, expected=f"{name}: {len(mine)}", got=len(given))
            pairs += [
                (number, given[n] if n < len(given) else None) for n, number in enumerate(mine)
            ]
        self._check_numbers(answer, where, pairs)
        return pairs

    def _check_numbers(
        self, answer: Any, where: str, pairs: Sequence[tuple[int, int | None]]
    ) -> None:
        """Scans of a table are numbered from 1 in plan order."""
        by_table: dict[str, list[int]] = defaultdict(list)
        for _, scan in sorted(pair for pair in pairs if pair[1] is not None):
            by_table[answer.scans[scan].table].append(answer.scans[scan].occurrence)
        for table, numbers in by_table.items():
            if numbers != list(range(1, len(numbers) + 1)):
                self._finding("numbering", where=where, expected=table, got=repr(numbers))

    def _compare(
        self, where: str, target: Row, place: Place, label: str, want: set[int], got: list[int]
    ) -> None:
        facts = {"where": where, "scan": f"{place.table} {place.alias}", "label": label,
                 "target": repr(target), "expected": sorted(want), "got": sorted(got)}  # fmt: skip
        if len(got) != len(set(got)):
            self._finding("twice", **facts)
        if not want <= set(got):
            self._finding("missing", **facts)
        elif label == "precise" and set(got) != want:
            self._finding("extra", **facts)

    def _refused(self, where: str, refusal: Exception) -> None:
        self.outcome.refusals[f"{where}: {type(refusal).__name__}: {first_line(refusal)}"] += 1

    def _crashed(self, where: str, error: Exception) -> None:
        self._finding("crash", where=where, error=repr(error)[:2000])
        raise Stop("crash")

    def _finding(self, kind: str, **facts: Any) -> None:
        if not any(found["kind"] == kind and found.get("where") == facts.get("where")
                   for found in self.outcome.findings):  # fmt: skip
            self.outcome.findings.append({"kind": kind, **facts})


def first_line(error: Exception) -> str:
    """The beginning of an error's text."""
    return str(error).split("\n")[0][:300]


def output_rows(table: Any) -> list[Row]:
    """An Arrow table's rows, by position; column names may repeat."""
    columns = [column.to_pylist() for column in table.columns]
    return list(zip(*columns, strict=True)) if columns else []


def counted(rows: Sequence[Row]) -> Counter[Row]:
    """The rows as a bag."""
    return Counter(map(row_key, rows))


def answered(scan: Any) -> dict[int, list[int]]:
    """By target number the row numbers of one scan; every table is one file."""
    found: dict[int, list[int]] = defaultdict(list)
    ids = scan.row_ids()
    for target, row in zip(ids["target"].to_pylist(), ids["row"].to_pylist(), strict=True):
        found[target].append(row)
    return found
