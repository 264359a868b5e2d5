"""The protocol of front ends: what the API, runs and jobs need of a pipeline of any system.

A front end implements the three classes here and is registered in `predtrace.frontends.installed`.
Every member is required: there are no defaults.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from predtrace.vocabulary import INLINE, ROWS_LIMIT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from predtrace.jobs.function_results import Typed
    from predtrace.jobs.model import EngineSettings, Job, Source, StoredResult
    from pushdown.graph import OperatorGraph
    from pushdown.operators import Origin
    from pushdown.topk import NumberCut
    from symbolic.expr import Column
    from symbolic.functions import PythonFunction


class FrontEnd(ABC):
    """A kind of pipeline: reads pipelines, and reads their stored outputs back."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name under which it is registered; saved with every job."""

    @property
    @abstractmethod
    def takes(self) -> str:
        """What it reads, in the words of errors: ``a Spark DataFrame or SQL text``."""

    @abstractmethod
    def accepts(self, given: object) -> bool:
        """Whether `given` is a pipeline for this front end; `read` may still refuse it."""

    @abstractmethod
    def read(
        self,
        given: Any,
        spark: SparkSession | None,
        functions: Mapping[str, Callable[..., Any]],
    ) -> Pipeline:
        """Read a pipeline without running it; `spark` is the session that the user named.

        `functions` are functions of the user that the pipeline calls, by the names that it has for
        them.

        Raises UnsupportedOperatorError or NonDeterministicError if the pipeline cannot be traced,
        SourceError if sources cannot be read or distinguished.
        """

    @abstractmethod
    def read_output(self, job: Job, folder: Path, spark: SparkSession | None) -> Any:
        """The stored output of a job in `folder`, as a dataframe of the pipeline's own system.

        It has the names, types and order that the pipeline gave it. Raises PredTraceError if
        nothing is available to read it with.
        """

    @abstractmethod
    def is_readable(self, dataframe: Any) -> bool:
        """Whether a dataframe handed over earlier can still be read."""


@dataclass(frozen=True, kw_only=True)
class Pipeline(ABC):
    """A pipeline that was read.

    `front_end` names the front end that read it; `query` is its text, for people. A pipeline is
    `time_dependent` if it reads the date or time: another run would give other values. The
    sources `unrepeatable` (by name) are made when they are read, and need not be the same again.
    `functions_read` are the user's Python functions whose source says what they compute: the graph
    has that in place of their calls.
    """

    front_end: str
    graph: OperatorGraph
    sources: tuple[Source, ...]
    settings: EngineSettings
    query: str
    time_dependent: bool
    unrepeatable: tuple[str, ...]
    functions_read: tuple[PythonFunction, ...]

    @property
    @abstractmethod
    def spark(self) -> SparkSession | None:
        """The Spark session that the pipeline belongs to, for questions that Spark answers."""

    @property
    @abstractmethod
    def call_sites(self) -> Mapping[int, Origin]:
        """The places in the user's code that operators came from, by id, where known."""

    @abstractmethod
    def estimates(self) -> Mapping[int, tuple[float, float]]:
        """Rows and bytes of each scan, by its operator's id."""

    @abstractmethod
    def untied(self, cuts: Sequence[NumberCut]) -> Sequence[NumberCut]:
        """The cuts at which no rows tie, on the data as they are now, and in any other run.

        `cuts` are inputs first. Reads the data; errors of the pipeline are its system's own.
        """

    @abstractmethod
    def check_runnable(self) -> None:
        """Raise EngineError if the pipeline cannot be run any more."""

    @abstractmethod
    def run(
        self,
        folder: Path,
        cuts: Sequence[Cut],
        keep: str = INLINE,
        keep_output: bool = True,
        rows_limit: int | None = ROWS_LIMIT,
    ) -> RunResult:
        """Run the pipeline once; store the output and what `cuts` ask for under `folder`.

        `keep` is ``inline`` (all cuts are stored on the way) or ``late`` (only those that must
        be; `RunResult.finish` stores the rest). Cuts at one operator share a stored table with
        the columns of all of them; files name their columns ``c<column id>``. The rows of
        sources that are `Source.kept` are stored, too: up to `rows_limit` bytes in all (None: no
        limit), and none of them if it is 0. Raises StoreError if `folder` cannot be written or
        these rows are too many; errors of the pipeline itself are its system's own.
        """


class Cut(Protocol):
    """The part of an operator's output to store: see `predtrace.inference.plan.Intermediate`."""

    @property
    def node(self) -> int:
        """The operator whose output is stored."""
        ...

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that lineage needs."""
        ...

    @property
    def inline(self) -> bool:
        """Whether it must be stored while the pipeline runs."""
        ...


@dataclass(kw_only=True)
class RunResult(ABC):
    """The stored results of a run. `timings` are seconds per step.

    `output` is None if it is not kept. `intermediates` are by operator; some may be missing before
    `finish`. `brought` are the sources whose rows the program itself brought, with their files.
    """

    output: StoredResult | None
    intermediates: dict[int, StoredResult]
    timings: dict[str, float]
    brought: tuple[Source, ...]

    @property
    @abstractmethod
    def dataframe(self) -> Any:
        """The pipeline's result: read back if it was stored, else computed when read.

        It is first asked for while the run's folder still has its first name.
        """

    @abstractmethod
    def finish(self) -> None:
        """Store the cuts that a ``late`` run left for afterwards."""

    @abstractmethod
    def keep_functions(self, functions: Iterable[PythonFunction]) -> Mapping[Typed, StoredResult]:
        """Store what the user's Python functions gave in the run, by their arguments.

        Those are left out of which some results cannot be stored.
        """
