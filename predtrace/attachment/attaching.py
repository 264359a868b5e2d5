"""`predtrace.attach` and `predtrace.detach`."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from predtrace.attachment.recording import Recorder
from predtrace.attachment.worker import Worker
from predtrace.environment.doctor import require_store
from predtrace.environment.sessions import STOPPED, is_running
from predtrace.errors import EngineError, PredTraceError
from predtrace.jobs.store import JobStore
from predtrace.vocabulary import NONE, ROWS_LIMIT
from pushdown.readings import MINIMAL

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_attached: dict[int, Attachment] = {}
"""The attachments of this process, by the identity of their Spark contexts."""
_changing = threading.Lock()


def attach(
    spark: SparkSession,
    store: str | os.PathLike[str],
    keep: str = NONE,
    *,
    actions: bool = False,
    aggregates: str = MINIMAL,
    rows_limit: int | None = ROWS_LIMIT,
) -> Attachment:
    """Record every later write of a Spark program as a job in `store`, once it has ended.

    This covers all sessions of the application of `spark`. Writes run as before: reading and
    recording happen in a thread of their own, and what goes wrong there becomes a warning and a
    line of ``predtrace jobs``. One write is one job; views, CACHE and other commands are none. With
    `actions` the executions of queries (collect, toPandas, show, …) are jobs, too. `keep` is
    ``none``: questions are answered from the sources, which must not have changed; `aggregates` and
    `rows_limit` are those of `Trace.record`.

    The same application attached again gives the same attachment. Raises PredTraceError if it is
    attached to another store or in another way, StoreError if the store cannot be written,
    EngineError for a session of Spark Connect or a stopped one.
    """
    if keep != NONE:
        raise PredTraceError(
            f"attach takes keep='none', not {keep!r}; job.build_intermediates() or `predtrace "
            "build` stores what questions need afterwards"
        )
    context: Any = getattr(spark, "_sc", None)
    if context is None:
        raise EngineError(
            "a Spark Connect session has its plans in its server, where nothing can be attached "
            "from here; attach in a program with a classic session"
        )
    if not is_running(spark):
        raise EngineError(STOPPED)
    folder = JobStore(store).path.absolute()
    way = (str(folder), actions, aggregates, rows_limit)
    with _changing:
        there = _attached.get(id(context))
        if there is not None and there.is_active:
            if there.way != way:
                raise PredTraceError(
                    f"this Spark program is attached to {there.store} already"
                    f"{'' if there.store != folder else ' with other settings'}; "
                    "predtrace.detach(spark) first"
                )
            return there
        require_store(folder)
        found = Attachment(context, folder, way)
        _attached[id(context)] = found
        return found


def detach(spark: SparkSession) -> None:
    """Record what has ended, then record no more. Does nothing if `spark` is not attached."""
    with _changing:
        found = _attached.pop(id(getattr(spark, "_sc", None)), None)
    if found is not None:
        found.close()


class Attachment:
    """A Spark program whose writes are recorded in `store`."""

    def __init__(self, context: Any, store: Path, way: tuple[str, bool, str, int | None]) -> None:
        self.store = store
        self.way = way
        _, actions, aggregates, rows_limit = way
        recorder = Recorder(context, store, aggregates, rows_limit)
        self._worker = Worker(context, recorder, actions=actions)

    @property
    def is_active(self) -> bool:
        """Whether writes are still recorded: not after `detach` or the end of the session."""
        return self._worker.is_active

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until all writes that have ended are recorded; false if that takes longer."""
        return self._worker.flush(seconds)

    def close(self) -> None:
        """Record what has ended, then stop listening."""
        self._worker.close()

    def __repr__(self) -> str:
        return f"<Attachment to {self.store}>"
