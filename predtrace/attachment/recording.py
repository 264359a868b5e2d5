"""Executions become jobs: read, recorded, or noted with the reason why they cannot be."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from predtrace.api import Trace
from predtrace.environment.recursion import reads_deep_trees
from predtrace.environment.sessions import first_line
from predtrace.errors import NonDeterministicError, PredTraceError, SourceError
from predtrace.frontends.spark.catalyst import option
from predtrace.frontends.spark.listener.executions import Execution
from predtrace.frontends.spark.listener.writes import IGNORE, Write, write_of
from predtrace.frontends.spark.reading import read_plan
from predtrace.jobs.model import Written
from predtrace.jobs.store import JobStore
from predtrace.jobs.unrecorded import FAILED, REFUSED, Unrecorded

_log = logging.getLogger("predtrace")


class Recorder:
    """Records the jobs of one Spark application in one store; raises nothing."""

    def __init__(self, context: Any, store: Path, aggregates: str, rows_limit: int | None) -> None:
        self._context = context
        self._store = store
        self._aggregates = aggregates
        self._rows_limit = rows_limit

    def take(self, execution: Execution) -> None:
        """Record an execution that ended, if it is a job of the user."""
        write: Write | None = None
        try:
            write = _timed(_job_of(execution), execution)
            if write is None or self._is_ours(write.written):
                return
            if execution.error:
                self._note(execution, write, FAILED, _line(execution.error))
                return
            self._record(execution, write)
        except PredTraceError as error:
            self._refuse(execution, write, _line(str(error)))
        except Exception as error:
            self._refuse(execution, write, f"{type(error).__name__}: {first_line(error)}")

    @reads_deep_trees
    def _record(self, execution: Execution, write: Write) -> None:
        if execution.unknown:
            raise SourceError(
                f"the files that the job read are not known in this version of Spark "
                f"({_line(execution.unknown)})"
            )
        session = execution.session(self._context)
        pipeline = read_plan(session, write.query, _text(execution), execution.files_read())
        if pipeline.tells_session:
            raise NonDeterministicError(
                "the job reads the current user, catalog or database, which may have been another "
                "one when it ran; replace it by its value"
            )
        if pipeline.dates_only and _on_this_day(execution, pipeline.settings.time_zone):
            pipeline = replace(pipeline, time_dependent=False)
        Trace(pipeline).record(
            self._store,
            aggregates=self._aggregates,
            rows_limit=self._rows_limit,
            written=write.written,
        )

    def _is_ours(self, written: Written) -> bool:
        """Whether predtrace itself wrote: rows and results of jobs in the store."""
        return Path(written.path).is_relative_to(self._store) if written.path else False

    def _refuse(self, execution: Execution, write: Write | None, reason: str) -> None:
        place = "" if write is None else f" to {write.written.place}"
        _log.warning("predtrace: a write%s was not recorded: %s", place, reason)
        try:
            self._note(execution, write, REFUSED, reason)
        except Exception as error:
            _log.warning("predtrace: nor could that be noted: %s", first_line(error))

    def _note(self, execution: Execution, write: Write | None, state: str, reason: str) -> None:
        with JobStore(self._store).begin() as writer:
            writer.leave(
                Unrecorded(
                    id=writer.id,
                    created=_utc(execution.ended),
                    state=state,
                    reason=reason,
                    query=_text(execution) or "",
                    written=None if write is None else write.written,
                )
            )


def _job_of(execution: Execution) -> Write | None:
    """What the user's execution writes; an action writes nothing."""
    plan = execution.plan
    if not execution.is_command:
        return Write(plan, Written(command="action"))
    found = write_of(plan)
    if found is not None and found.written.mode == IGNORE and not execution.files_written:
        return None  # something was there, and stayed
    return found


def _on_this_day(execution: Execution, time_zone: str) -> bool:
    """Whether the execution began on the day that it is now, in a time zone."""
    try:
        zone = ZoneInfo(time_zone)
    except (ZoneInfoNotFoundError, ValueError):
        return False
    began = datetime.fromtimestamp(execution.started / 1000, zone)
    return began.date() == datetime.now(zone).date()


def _timed(write: Write | None, execution: Execution) -> Write | None:
    if write is None:
        return None
    written = msgspec.structs.replace(
        write.written, started=_utc(execution.started), ended=_utc(execution.ended)
    )
    return write._replace(written=written)


def _text(execution: Execution) -> str | None:
    """The SQL text of a statement; None for a DataFrame."""
    found = option(execution.plan.origin().sqlText())
    return None if found is None else str(found)


def _utc(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")


def _line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else ""
