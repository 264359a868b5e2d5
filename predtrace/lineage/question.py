"""The common part of an answer's scans: the target rows, and what selects their source rows."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TypeVar

from predtrace.engines.base import Answering, Engine, ScanRequest, Targets
from predtrace.jobs.boundary import of_record
from predtrace.jobs.model import Job

T = TypeVar("T")


class Question(ABC):
    """One question: its target rows, read when first needed, and how their lineage is found.

    `trusted` says that targets are taken as given. `timings` collects the seconds of each step.
    """

    def __init__(
        self, job: Job, find_targets: Callable[[], Targets], *, trusted: bool = False
    ) -> None:
        self.trusted = trusted
        self.job = job
        self.timings: dict[str, float] = {}
        self._find_targets = find_targets

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Add the seconds that the block takes to `timings[step]`."""
        started = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - started
            self.timings[step] = self.timings.get(step, 0.0) + spent

    @cached_property
    def targets(self) -> Targets:
        """The target rows: full output rows."""
        with of_record(self.job.id), self.timed("find the target rows"):
            return self._find_targets()

    @property
    @abstractmethod
    def answered_by(self) -> str:
        """The name of the engine, or ``index``."""

    @property
    @abstractmethod
    def evaluation(self) -> Answering:
        """The evaluation that selects rows."""

    def at_once(self, steps: Sequence[Callable[[], T]]) -> list[T]:
        """The results of steps that read different scans, in their order."""
        return [step() for step in steps]

    @abstractmethod
    def looks_up(self, requests: Sequence[ScanRequest]) -> bool:
        """Whether row counts and row ids are found without reading the sources."""

    @abstractmethod
    def selecting(self, requests: Sequence[ScanRequest]) -> Sequence[ScanRequest]:
        """The requests with the predicates that select the rows."""


class EngineQuestion(Question):
    """A question that an engine answers from the sources."""

    def __init__(
        self,
        engine: Engine,
        job: Job,
        find_targets: Callable[[], Targets],
        *,
        trusted: bool = False,
    ) -> None:
        super().__init__(job, find_targets, trusted=trusted)
        self._engine = engine

    @property
    def answered_by(self) -> str:
        """The engine's name."""
        return self._engine.name

    @cached_property
    def evaluation(self) -> Answering:
        """The question on its engine."""
        return self._engine.open(self.targets, self.job.settings)

    def at_once(self, steps: Sequence[Callable[[], T]]) -> list[T]:
        """The results of the steps, which the engine may run at the same time."""
        with of_record(self.job.id):
            # What all steps share is there before the first of them begins.
            _ = self.evaluation
        return self._engine.at_once(steps)

    def looks_up(self, requests: Sequence[ScanRequest]) -> bool:
        """False: rows are selected in the sources."""
        return False

    def selecting(self, requests: Sequence[ScanRequest]) -> Sequence[ScanRequest]:
        """The requests themselves."""
        return requests
