"""What inferring lineage plans takes, by phase, and what Algorithm 2 saves (Table 5).

Each round traces a DataFrame twice: with all verdicts of the solver forgotten, as in a process
that infers for the first time, and again with them remembered. Spark's JVM has read the plans
before (`--warm` rounds).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import msgspec

from predtrace.planning import LineagePlan, SparkPipeline, infer, read_pipeline
from pushdown import verify
from symbolic.solver import SPENT
from tpch.bench.figures import Times

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Phases(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds of the phases of one inference, per round.

    `capture` reads Spark's plan and statistics; `solver` is spent in Z3, `pushdown` is the rest,
    writing formulas included. `cpu` is what this process's thread took of all three: what
    the JVM and other processes take is not in it.
    """

    capture: Times
    pushdown: Times
    solver: Times
    cpu: Times

    @property
    def total(self) -> Times:
        """All phases together."""
        phases = (self.capture.rounds, self.pushdown.rounds, self.solver.rounds)
        return Times([sum(parts) for parts in zip(*phases, strict=True)])


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """One intermediate result: the operator whose output it is, guessed and true size.

    `rows` and `bytes` (Parquet) are those that Spark stored, None where that was not asked.
    """

    node: int
    estimated_bytes: float
    rows: int | None = None
    bytes: int | None = None


class InferenceFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One query. `calls` into the JVM and `proofs` are of one inference from nothing.

    `kept` is what the plan stores, `kept_at_once` what it would without Algorithm 2.
    """

    number: int
    first: Phases
    again: Phases
    calls: int
    proofs: int
    kept: list[Kept]
    kept_at_once: list[Kept]

    @property
    def deferred(self) -> bool:
        """Whether Algorithm 2 finds other places."""
        return [one.node for one in self.kept] != [one.node for one in self.kept_at_once]


class _Rounds:
    """Collects the phases of the rounds."""

    def __init__(self) -> None:
        self._seconds: dict[str, list[float]] = {name: [] for name in Phases.__struct_fields__}

    def trace(self, frame: DataFrame) -> None:
        """One inference."""
        in_solver, cpu, started = SPENT.seconds, time.thread_time(), time.perf_counter()
        pipeline = read_pipeline(frame)
        estimates = pipeline.estimates()
        captured = time.perf_counter()
        infer(pipeline.graph, estimates=estimates)
        ended = time.perf_counter()
        solver = SPENT.seconds - in_solver
        values = {
            "capture": captured - started,
            "pushdown": ended - captured - solver,
            "solver": solver,
            "cpu": time.thread_time() - cpu,
        }
        for name, value in values.items():
            self._seconds[name].append(value)

    def phases(self) -> Phases:
        """What was collected."""
        return Phases(**{name: Times(seconds) for name, seconds in self._seconds.items()})


class InferenceMeter:
    """Measures the inference of queries; `frame` gives the query's DataFrame.

    With `sizes`, intermediates are stored to find out how large they are.
    """

    def __init__(
        self,
        frame: Callable[[int], DataFrame],
        *,
        rounds: int,
        sizes: bool,
        step: Callable[[str], None] = lambda name: None,
    ) -> None:
        self._frame = frame
        self._rounds = rounds
        self._sizes = sizes
        self._step = step

    def measure(self, number: int) -> InferenceFigures:
        """Measure one query."""
        frame = self._frame(number)
        first, again = _Rounds(), _Rounds()
        self._step("count")
        verify.forget()
        proofs = SPENT.questions
        with counted_calls(frame) as calls:
            first.trace(frame)
        proofs = SPENT.questions - proofs
        again.trace(frame)
        for done in range(1, self._rounds):
            self._step(f"round {done + 1} of {self._rounds}")
            verify.forget()
            first.trace(frame)
            again.trace(frame)
        pipeline = read_pipeline(frame)
        estimates = pipeline.estimates()
        deferring, at_once = (
            infer(pipeline.graph, estimates=estimates, deferring=deferring)
            for deferring in (True, False)
        )
        self._step("sizes of intermediates")
        return InferenceFigures(
            number=number,
            first=first.phases(),
            again=again.phases(),
            calls=calls[0],
            proofs=proofs,
            kept=self._kept(pipeline, deferring),
            kept_at_once=self._kept(pipeline, at_once),
        )

    def _kept(self, pipeline: SparkPipeline, plan: LineagePlan) -> list[Kept]:
        sizes: dict[int, Any] = {}
        if self._sizes and plan.intermediates:
            with TemporaryDirectory() as folder:
                result = pipeline.run(Path(folder), plan.intermediates, "late", keep_output=False)
                result.finish()
                sizes = result.intermediates
        return [
            Kept(
                node=item.node,
                estimated_bytes=item.estimated_bytes or 0.0,
                rows=sizes[item.node].rows if item.node in sizes else None,
                bytes=sizes[item.node].bytes if item.node in sizes else None,
            )
            for item in plan.intermediates
        ]


@contextmanager
def counted_calls(frame: DataFrame) -> Iterator[list[int]]:
    """Counts the calls into a DataFrame's JVM, in the one item of the list.

    Left out is that objects are let go: when that happens is up to garbage collection.
    """
    from py4j.protocol import MEMORY_COMMAND_NAME

    client = frame._jdf._gateway_client
    send, count = client.send_command, [0]

    def counting(command: str, *args: Any, **kwargs: Any) -> Any:
        count[0] += not command.startswith(MEMORY_COMMAND_NAME)
        return send(command, *args, **kwargs)

    client.send_command = counting
    try:
        yield count
    finally:
        del client.send_command


def total_bytes(kept: Sequence[Kept]) -> int | None:
    """The bytes of all; None if they were not stored."""
    found = [one.bytes for one in kept if one.bytes is not None]
    return sum(found) if len(found) == len(kept) else None
