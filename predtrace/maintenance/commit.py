"""The end of a run: stores late results and saves the job, on request in the background."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from predtrace.environment.function_texts import FunctionText, text_of
from predtrace.environment.python_functions import known
from predtrace.environment.recursion import reads_deep_trees
from predtrace.errors import StoreError
from predtrace.inference.plan import LineagePlan
from predtrace.jobs.codec import with_calls
from predtrace.jobs.function_results import Typed, name_of, typed
from predtrace.jobs.kept import anchored
from predtrace.jobs.model import (
    Job,
    KeptConstant,
    KeptFunction,
    Source,
    StoredIntermediate,
    StoredResult,
    Written,
)
from predtrace.jobs.snapshot import SINCE_READ, unchanged
from predtrace.jobs.store import JobWriter
from predtrace.maintenance.compaction import compacted, sweep
from predtrace.vocabulary import LATE, NONE
from pushdown.calls import python_functions
from symbolic.expr import Call
from symbolic.functions import PythonFunction

if TYPE_CHECKING:
    from predtrace.frontends.base import Pipeline, RunResult


class Commit:
    """The rest of a run: storing late intermediate results, then saving the job."""

    def __init__(
        self,
        pipeline: Pipeline,
        sources: tuple[Source, ...],
        writer: JobWriter,
        plans: list[LineagePlan],
        keep: str,
        result: RunResult,
        started: float,
        written: Written | None = None,
    ) -> None:
        self._pipeline = pipeline
        self._written = written
        self._sources = sources
        self._writer = writer
        self._plans = plans
        self._keep = keep
        self._result = result
        self._handed_over = time.perf_counter() - started
        self._functions = python_functions(pipeline.graph)
        self._results: Mapping[Typed, StoredResult] = {}
        self._done: tuple[Job, Path] | None = None
        self._error: BaseException | None = None
        # Not a daemon: the process does not end before the job is stored.
        self._thread = threading.Thread(target=self._work, name=f"predtrace {writer.id}")

    def start(self) -> None:
        """Commit in the background."""
        self._thread.start()

    def wait(self) -> tuple[Job, Path]:
        """The saved job and its folder. Raises StoreError if that failed."""
        self._thread.join()
        if self._error is not None:
            raise StoreError(
                f"the intermediate results of job {self._writer.id} could not be stored "
                f"({_first_line(self._error)}); the output was handed over, but there is no job: "
                "run again, and call wait() before Spark is stopped"
            ) from self._error
        assert self._done is not None
        return self._done

    def _work(self) -> None:
        try:
            self._done = self._commit(in_background=True)
        except BaseException as error:  # reported by `wait`
            self._error = error
            # The output that was handed over is read from these files.
            atexit.register(self._writer.abort)

    def commit(self) -> tuple[Job, Path]:
        """Store the missing results and save the job; returns its record and folder."""
        return self._commit(in_background=False)

    @reads_deep_trees
    def _commit(self, in_background: bool) -> tuple[Job, Path]:
        read = [source for source in self._sources if source.is_there]
        with unchanged(read, SINCE_READ, after=False):
            self._result.finish()
            if self._functions and self._keep != NONE:
                self._results = self._result.keep_functions(self._functions)
        incomplete = self._writer.folder.resolve()
        record = self._record()
        if self._results:
            record = with_calls(record, self._looked_up)
        if self._keep == LATE:
            given, record = record, compacted(record, incomplete)
            sweep(incomplete, given, record)
        if in_background:
            # From now on this output is returned; before, it was made on request.
            _ = self._result.dataframe
        final = self._writer.commit(record).resolve()
        record = anchored(record, final)
        # Of a job that ran without us, nobody was given a DataFrame.
        if in_background or (record.output is None and record.written is None):
            _leave_way(incomplete, final)
        return record, final

    def _results_of(self, function: PythonFunction) -> tuple[StoredResult, ...]:
        return tuple(found for each, found in self._results.items() if each.function == function)

    def _looked_up(self, call: Call) -> Call:
        """The call, of a function that looks its results up if they were stored."""
        found = typed(call)
        result = found and self._results.get(found)
        if found is None or result is None:
            return call
        kept = msgspec.structs.replace(found.function, kept=name_of(result))
        return msgspec.structs.replace(call, function=kept.id)

    def _record(self) -> Job:
        pipeline, result = self._pipeline, self._result
        return Job(
            id=self._writer.id,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            query=pipeline.query,
            keep=self._keep,
            graph=pipeline.graph.operators(),
            root=pipeline.graph.root,
            plans=tuple(self._plans),
            sources=self._sources,
            settings=pipeline.settings,
            intermediates=tuple(
                StoredIntermediate(
                    aggregates=plan.aggregates,
                    binding=item.binding,
                    result=result.intermediates[item.node],
                )
                for plan in self._plans
                for item in plan.intermediates
                if item.node in result.intermediates
            ),
            output=result.output,
            front_end=pipeline.front_end,
            timings={"output handed over": self._handed_over, **result.timings},
            written=self._written,
            functions=tuple(
                _kept(each, self._results_of(each))
                for each in dict.fromkeys((*self._functions, *pipeline.functions_read))
            ),
        )


def _kept(function: PythonFunction, results: tuple[StoredResult, ...]) -> KeptFunction:
    """What the job keeps of a function, as far as it is at hand."""
    live = known(function)
    text = FunctionText("", (), "") if live is None else text_of(live.function)
    return KeptFunction(
        name=function.name,
        digest=function.digest,
        id=function.id,
        source=text.source,
        constants=tuple(KeptConstant(name=name, text=value) for name, value in text.constants),
        signature=text.signature,
        modules=None if live is None else live.modules,
        results=results,
    )


def _leave_way(incomplete: Path, final: Path) -> None:
    """Let DataFrames made before the job's folder got its name find their files.

    A link under the old name stays until the process ends.
    """
    try:
        incomplete.symlink_to(final, target_is_directory=True)
    except OSError:
        return
    atexit.register(incomplete.unlink, missing_ok=True)


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # Java's errors come with a heading and a stack.
    told = next((line for line in lines if not line.startswith("An error occurred")), "")
    return told[:300] or type(error).__name__
