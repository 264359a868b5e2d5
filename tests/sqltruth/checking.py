"""One random statement, run and asked about: what predtrace answers against the truth."""

from __future__ import annotations

import re
import shutil
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.sqltruth.batches import Batch, Choices, choices_of, statement_of
from tests.sqltruth.outcomes import Outcome, answered, counted, first_line, output_rows
from tests.sqltruth.rows import Row, ScanName, Traced, merged, source_rows
from tests.sqltruth.scans import Place, scans
from tests.sqltruth.spelling import statement_text
from tests.sqltruth.syntax import (
    Statement,
)
from tests.sqltruth.tracer import Tracer
from tests.sqltruth.values import RaisesError, row_key

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MODES = ("naive", "refined", "replayed", "stored", "indexed")
ON_SPARK_INSTEAD = ("refined", "replayed")
"""Modes that are asked about on Spark where DuckDB is not exact."""
MOST_TARGETS = 8
_MADE_UP = re.compile(r"(rows|range) \d+")
"""Names of rows that stand in the text."""


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
            self.outcome.refused("trace", refusal)
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
            self.outcome.found("not SQL", error=first_line(error))
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
            self.outcome.found("run differs from Spark", expected=repr(plain), got=repr(output))
            raise Stop("run differs")
        self.outcome.found("evaluator differs from Spark", expected=repr(plain), got=repr(mine))
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
            self.outcome.refused(where, refusal)
            return False
        except Exception as error:
            self.outcome.found("crash", where=where, error=repr(error)[:2000])
            return True
        self.outcome.labels[f"{where}: {answer.label}"] += 1
        if answer.missing:
            self.outcome.found("targets not found", where=where, got=repr(answer.missing))
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
            self.outcome.refused(f"build on {engine}", refusal)
            return False
        except Exception as error:
            self.outcome.found("crash", where=f"build on {engine}", error=repr(error)[:2000])
            return False
        return True

    def _paired(self, answer: Any, where: str) -> list[tuple[int, int | None]]:
        """Scans of the statement with scans of the answer: by table and alias, in plan order."""
        theirs: dict[Any, list[int]] = defaultdict(list)
        for number, scan in enumerate(answer.scans):
            alias = None if _MADE_UP.fullmatch(scan.table) else scan.alias
            theirs[scan.table, alias or scan.table].append(number)
        ours: dict[Any, list[int]] = defaultdict(list)
        for number, place in enumerate(self.places):
            ours[place.table, place.alias or place.table].append(number)
        pairs: list[tuple[int, int | None]] = []
        for name in {**ours, **theirs}:
            mine, given = ours.get(name, []), theirs.get(name, [])
            if len(mine) != len(given):
                mine = [number for number in mine if self.places[number].read]
            if len(mine) < len(given) or (len(given) < len(mine) and len(mine) > 1):
                self.outcome.found(
                    "scans", where=where, expected=f"{name}: {len(mine)}", got=len(given)
                )
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
                self.outcome.found("numbering", where=where, expected=table, got=repr(numbers))

    def _compare(
        self, where: str, target: Row, place: Place, label: str, want: set[int], got: list[int]
    ) -> None:
        facts = {"where": where, "scan": f"{place.table} {place.alias}", "label": label,
                 "target": repr(target), "expected": sorted(want), "got": sorted(got)}  # fmt: skip
        if len(got) != len(set(got)):
            self.outcome.found("twice", **facts)
        if not want <= set(got):
            self.outcome.found("missing", **facts)
        elif label == "precise" and set(got) != want:
            self.outcome.found("extra", **facts)

    def _crashed(self, where: str, error: Exception) -> None:
        self.outcome.found("crash", where=where, error=repr(error)[:2000])
        raise Stop("crash")
