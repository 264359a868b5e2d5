"""One query: all systems are prepared, asked, compared as sets, and then timed in turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from predtrace.errors import PredTraceError
from tpch.bench.engines.base import OutOfTimeError
from tpch.bench.figures import FORWARD, HEAD, MANY, ONE, ROWS, Answered, QueryFigures, Times
from tpch.bench.forward import ForwardQuestions
from tpch.bench.systems import FOREIGN, MAKERS, ONLY, PRECISE, QUERY
from tpch.bench.systems.base import Capturing, Counting, Forward, Ids, Row, Showing, Subject, System
from tpch.check import choose_targets, stored_bytes

Step = Callable[[str], None]
Pairs = dict[int, np.ndarray[Any, Any]]
"""Per scan the pairs of target and row, sorted, without repetitions."""

_ROW_BITS = 40
_MOST_PAIRS = 50_000_000
"""Pairs of a target and a row that are compared, in some 3 GB."""


class _Asked:
    """A system while a query is measured."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.system: System | None = None
        self.obstacle = ""
        self.prepared = 0.0
        self.kept_bytes = 0
        self.captured: dict[str, float] = {}
        self.plain = 0.0
        self.counts: tuple[int, int, int] = (0, 0, 0)
        self.wrong = False
        self.seconds: dict[str, list[float]] = {}

    def figures(self) -> Answered:
        """What there is to report."""
        links, extra, missing = self.counts
        return Answered(
            system=self.name,
            obstacle=self.obstacle,
            prepared=self.prepared,
            kept_bytes=self.kept_bytes,
            captured=self.captured,
            plain=self.plain,
            links=links,
            extra=extra,
            missing=missing,
            wrong=self.wrong,
            times={measure: Times(seconds) for measure, seconds in self.seconds.items() if seconds},
        )


class Meter:
    """Measures one query on the systems named.

    A question that takes more than `limit` seconds is given up: the system is not asked it
    again. Every round asks all systems, one after the other, for the same target; rounds with
    one target go through the targets.
    """

    def __init__(
        self,
        subject: Subject,
        systems: Sequence[str],
        *,
        targets: int,
        rounds: int,
        limit: float,
        step: Step = lambda name: None,
    ) -> None:
        self._subject = subject
        self._rounds = rounds
        self._limit = limit
        self._step = step
        output = subject.job.output_arrow()
        values = [column.to_pylist() for column in output.columns]
        self._output: list[Row] = list(zip(*values, strict=True))
        self._targets = choose_targets(self._output, targets)
        self._asked = [_Asked(name) for name in systems]

    def measure(self) -> QueryFigures:
        """Everything about the query."""
        for asked in self._asked:
            self._prepare(asked)
        if self._targets:
            expected = self._compare()
            self._compare_rows(expected)
            forward = self._forward(expected)
            self._time(MANY, lambda system, turn: system.ids(self._targets))
            self._time(ONE, lambda system, turn: system.ids([self._of_turn(turn)]))
            self._time(ROWS, lambda system, turn: list(system.rows(self._of_turn(turn))))
            self._time_heads(expected)
            self._time(FORWARD, lambda system, turn: system.reached(forward.of_turn(turn)), Forward)
        record = self._subject.job.record
        folders = {item.result.folder: item.result for item in record.intermediates}
        return QueryFigures(
            number=self._subject.number,
            output_rows=len(self._output),
            asked=len(self._targets),
            scans=len(self._subject.graph.scans()),
            intermediates=len(folders),
            intermediate_rows=sum(result.rows for result in folders.values()),
            intermediate_bytes=stored_bytes(self._subject.job),
            answers=[asked.figures() for asked in self._asked],
        )

    def _time_heads(self, expected: Pairs) -> None:
        if not expected:  # nobody answered
            return
        most = [_largest(expected, place) for place in range(len(self._targets))]
        self._time(
            HEAD,
            lambda system, turn: system.head(self._of_turn(turn), most[turn % len(most)]),
            Showing,
        )

    def _of_turn(self, turn: int) -> Row:
        return self._targets[turn % len(self._targets)]

    def _prepare(self, asked: _Asked) -> None:
        self._step(f"{asked.name}: prepare")
        started = time.perf_counter()
        try:
            with self._subject.engine.in_time(self._limit):
                asked.system = MAKERS[asked.name](self._subject)
            asked.kept_bytes = asked.system.kept_bytes
            if isinstance(asked.system, Capturing):
                asked.captured = dict(asked.system.captured)
                asked.plain = asked.system.plain
        except OutOfTimeError:
            asked.obstacle = f"not prepared in {self._limit:g} s"
        except PredTraceError as error:
            asked.obstacle = str(error).splitlines()[0]
        asked.prepared = time.perf_counter() - started

    def _compare(self) -> Pairs:
        """Ask everyone everything once; what is slow or wrong takes no part in timing.

        Returns the lineage of all targets.
        """
        expected: Pairs | None = None
        for asked in sorted(self._asked, key=lambda one: one.name not in PRECISE):
            if asked.name == QUERY:
                continue
            self._step(f"{asked.name}: compare")
            self._refuse_huge(asked)
            found = self._ask(asked, lambda system: system.ids(self._targets))
            if found is None:
                continue
            pairs = _pairs(found)
            expected = pairs if expected is None else expected
            asked.counts = _differences(pairs, expected)
            _, extra, missing = asked.counts
            if missing or (extra and asked.name in (*PRECISE, *FOREIGN)):
                self._wrong(asked, f"{missing} rows missing, {extra} too many")
        return expected or {}

    def _refuse_huge(self, asked: _Asked) -> None:
        if not isinstance(asked.system, Counting):
            return
        count = self._ask(asked, lambda system: system.count(self._targets))
        if count is not None and count > _MOST_PAIRS:
            asked.obstacle = f"{count:,} rows for {len(self._targets)} targets"
            asked.system = None

    def _compare_rows(self, expected: Pairs) -> None:
        """Ask for the full rows of one target: of every scan as many as there are ids."""
        scans = [scan.id for scan in self._subject.graph.scans()]
        first = {scan: int(np.count_nonzero(n >> _ROW_BITS == 0)) for scan, n in expected.items()}
        for asked in self._asked:
            if asked.name not in PRECISE:
                continue
            self._step(f"{asked.name}: compare rows")
            tables = self._ask(asked, lambda system: list(system.rows(self._targets[0])))
            if tables is None:
                continue
            counts = [table.num_rows for table in tables]
            if counts != [first.get(scan, 0) for scan in scans]:
                self._wrong(asked, f"full rows of the first target by scan: {counts}")

    def _forward(self, expected: Pairs) -> ForwardQuestions:
        """The forward questions, whose answers are compared, too."""
        pairs = {scan: _separated(numbers) for scan, numbers in expected.items()}
        questions = ForwardQuestions(self._output, self._targets, pairs, self._rounds)
        answers: list[Any] = []
        for asked in self._asked:
            if not isinstance(asked.system, Forward):
                continue
            self._step(f"{asked.name}: compare forward")
            found = self._ask(asked, lambda system: _every_turn(system, questions, self._rounds))
            if found is None:
                continue
            answers.append([{scan: set(n.tolist()) for scan, n in one.items()} for one in found])
            wrong = sum(questions.differences(turn, one) for turn, one in enumerate(found))
            if wrong or answers[-1] != answers[0]:
                self._wrong(asked, "forward from source rows is not the inverse of backward")
        return questions

    def _wrong(self, asked: _Asked, how: str) -> None:
        asked.wrong = asked.name not in FOREIGN
        asked.obstacle = f"wrong: {how}"
        asked.system = None

    def _time(
        self, measure: str, ask: Callable[[Any, int], object], kind: type[Any] = object
    ) -> None:
        for turn in range(self._rounds):
            for asked in self._asked:
                if not isinstance(asked.system, kind):
                    continue
                if measure not in ONLY.get(asked.name, (measure,)):
                    continue
                self._step(f"{asked.name}: {measure}, round {turn + 1}")
                times = asked.seconds.setdefault(measure, [])
                if sum(times) > self._limit or asked.system is None:
                    continue
                started = time.perf_counter()
                if self._ask(asked, lambda system, turn=turn: ask(system, turn)) is not None:  # type: ignore[misc]
                    times.append(time.perf_counter() - started)

    def _ask(self, asked: _Asked, ask: Callable[[System], Any]) -> Any:
        """An answer; None, and a reason, if there is none in time."""
        if asked.system is None:
            return None
        try:
            with self._subject.engine.in_time(self._limit):
                return ask(asked.system)
        except OutOfTimeError:
            asked.obstacle = f"more than {self._limit:g} s"
        except PredTraceError as error:
            asked.obstacle = str(error).splitlines()[0]
        asked.system = None
        return None


def _largest(pairs: Pairs, target: int) -> int:
    """The scan with most rows of a target (by its place)."""
    return max(pairs, key=lambda scan: int(np.count_nonzero(pairs[scan] >> _ROW_BITS == target)))


def _every_turn(system: Forward, questions: ForwardQuestions, rounds: int) -> list[Any]:
    return [system.reached(questions.of_turn(turn)) for turn in range(rounds)]


def _pairs(ids: Ids) -> Pairs:
    return {scan: np.unique(_numbers(table)) for scan, table in ids.items()}


def _numbers(table: pa.Table) -> np.ndarray[Any, Any]:
    targets = table.column("target").to_numpy().astype(np.int64)
    numbers: np.ndarray[Any, Any] = (targets << _ROW_BITS) + table.column("row").to_numpy()
    return numbers


def _separated(numbers: np.ndarray[Any, Any]) -> tuple[Any, Any]:
    """Targets and rows."""
    return numbers >> _ROW_BITS, numbers & ((1 << _ROW_BITS) - 1)


def _differences(
    found: Mapping[int, np.ndarray[Any, Any]], expected: Mapping[int, np.ndarray[Any, Any]]
) -> tuple[int, int, int]:
    """How many pairs were found; how many of them are too many; how many are missing."""
    links = sum(map(len, found.values()))
    shared = sum(
        len(np.intersect1d(found[scan], rows, assume_unique=True))
        for scan, rows in expected.items()
        if scan in found
    )
    return links, links - shared, sum(map(len, expected.values())) - shared
