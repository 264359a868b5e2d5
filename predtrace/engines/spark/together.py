"""Steps that run Spark jobs, several at a time.

Most of a short job is planning and waiting, so the jobs of different sources overlap well. Steps
run in threads of their own, with the local properties of the caller: its job group, its pool, its
description. The caller's properties stay as they are.
"""

from __future__ import annotations

import queue
import threading
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")

MOST_THREADS = 8
"""Threads at a time: planning takes memory and a core each."""
_PAUSE = 0.05
"""Seconds between two looks at the threads, and between two attempts to cancel their jobs: a job
that is still being planned cannot be cancelled."""


def at_once(context: Any, steps: Sequence[Callable[[], T]]) -> list[T]:
    """The results of the steps, in their order; `context` is the SparkContext.

    If one fails, the jobs of the others are cancelled, and the first error is raised when all have
    ended. The same happens if the caller is interrupted.
    """
    if len(steps) < 2 or not _has_own_threads(context):
        return [step() for step in steps]
    return _Run(context, steps).results()


def _has_own_threads(context: Any) -> bool:
    """Whether every Python thread has a thread of its own in the JVM, as it has by default.

    Local properties of one thread would be those of another without that.
    """
    from py4j.clientserver import ClientServer

    return isinstance(context._gateway, ClientServer)


class _Run:
    """One run of several steps."""

    def __init__(self, context: Any, steps: Sequence[Callable[[], Any]]) -> None:
        self._context = context
        self._steps = steps
        self._waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._ended: queue.SimpleQueue[tuple[int, Any, BaseException | None]]
        self._ended = queue.SimpleQueue()
        self._stopped = threading.Event()
        # One word without commas; a question has its own.
        self._tag = f"predtrace-{uuid.uuid4().hex}"

    def results(self) -> list[Any]:
        """Run all steps; raise the first error."""
        from pyspark import InheritableThread

        for number in range(len(self._steps)):
            self._waiting.put(number)
        count = min(len(self._steps), MOST_THREADS)
        threads = [InheritableThread(target=self._work) for _ in range(count)]
        found: dict[int, Any] = {}
        started = []
        try:
            for thread in threads:
                thread.daemon = True
                thread.start()
                started.append(thread)
            while len(found) < len(self._steps):
                try:
                    # Not for ever: not every interrupt wakes a thread that waits.
                    number, result, error = self._ended.get(timeout=_PAUSE)
                except queue.Empty:
                    continue
                if error is not None:
                    raise error
                found[number] = result
        except BaseException:
            self._stop(started)
            raise
        for thread in started:
            thread.join()
        return [found[number] for number in range(len(self._steps))]

    def _work(self) -> None:
        self._context.addJobTag(self._tag)
        while not self._stopped.is_set():
            try:
                number = self._waiting.get_nowait()
            except queue.Empty:
                return
            try:
                self._ended.put((number, self._steps[number](), None))
            except BaseException as error:
                self._ended.put((number, None, error))
                return

    def _stop(self, threads: Sequence[threading.Thread]) -> None:
        """End the threads: cancel their jobs until none is left."""
        from py4j.protocol import Py4JError

        self._stopped.set()
        while running := [thread for thread in threads if thread.is_alive()]:
            with suppress(Py4JError, OSError):
                self._context.cancelJobsWithTag(self._tag)
            running[0].join(_PAUSE)
