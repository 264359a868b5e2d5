"""The thread that records what has ended, and the moments at which it must have done so."""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import thread as _pools  # its exit hook must be older than ours
from contextlib import suppress
from typing import Any

from predtrace.attachment.recording import Recorder
from predtrace.frontends.spark.listener.executions import Listener
from predtrace.text.layout import counted

_log = logging.getLogger("predtrace")
_PAUSE = 200
"""Milliseconds after which an idle thread looks whether somebody waits for it."""
AT_END = 60.0
"""Seconds that the end of a session or of the process waits for jobs to be recorded."""


class Worker:
    """Records the executions of one Spark application, until it is closed."""

    def __init__(self, context: Any, recorder: Recorder, *, actions: bool) -> None:
        self._context = context
        self._recorder = recorder
        self._listener = Listener(context, actions=actions)
        self._waiting: list[threading.Event] = []
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._work, name="predtrace attach", daemon=True)
        self._thread.start()
        self._stop = context.stop
        context.stop = self._stop_after_flush
        # Exit hooks of `atexit` come too late: threads cannot be started any more.
        assert _pools is not None
        with suppress(AttributeError, RuntimeError):
            threading._register_atexit(self._flush_at_exit)  # type: ignore[attr-defined]

    @property
    def is_active(self) -> bool:
        """Whether executions are still recorded."""
        return self._thread.is_alive() and not self._closing.is_set()

    def flush(self, seconds: float | None = None) -> bool:
        """Wait until all that has ended is recorded; whether that is so in that time."""
        if not self._thread.is_alive():
            return True
        until = None if seconds is None else time.monotonic() + seconds
        self._listener.wait_for_spark()
        done = threading.Event()
        self._waiting.append(done)
        while not done.wait(0.05 if until is None else min(0.05, max(0, until - time.monotonic()))):
            if not self._thread.is_alive():
                return True
            if until is not None and time.monotonic() >= until:
                return False
        return True

    def close(self, seconds: float = AT_END) -> None:
        """Record what has ended, as far as the time suffices; then stop."""
        if self._closing.is_set():
            return
        if not self.flush(seconds):
            _log.warning("predtrace: jobs were not recorded in %.0f seconds, and are lost", seconds)
        self._closing.set()
        with suppress(Exception):  # the session may be gone
            self._listener.remove()
        if vars(self._context).get("stop") == self._stop_after_flush:
            del self._context.stop

    def _stop_after_flush(self) -> None:
        try:
            self.close()
        finally:
            self._stop()

    def _flush_at_exit(self) -> None:
        with suppress(Exception):
            self.close()

    def _work(self) -> None:
        while not self._closing.is_set():
            waiting = list(self._waiting)
            try:
                execution = self._listener.take(_PAUSE)
                dropped = self._listener.dropped()
            except Exception:
                return  # the JVM is gone
            if dropped:
                _log.warning(
                    "predtrace: %s could not be seen, and %s not recorded",
                    counted(dropped, "execution"),
                    "is" if dropped == 1 else "are",
                )
            if execution is not None:
                self._recorder.take(execution)
                continue
            for event in waiting:
                event.set()
                self._waiting.remove(event)
