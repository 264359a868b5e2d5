"""Ctrl-C while a Spark of our own starts or works: it ends soon, and leaves nothing behind.

Left alone, an interrupted launcher of Spark leaves a JVM that never ends. And PySpark's own
handler asks for the end of all jobs on the very connection on which the main thread waits for
one: Spark reads that when the job is done.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LONGEST_CLEANING = 5
_LONGEST_STOP = 10
"""Seconds that tasks may take to end, and stopping in all; the interrupt goes on without."""


@contextmanager
def interrupts_held() -> Iterator[list[int]]:
    """Note SIGINT in the list, instead of raising KeyboardInterrupt, while Spark starts."""
    held: list[int] = []

    def hold(number: int, frame: object) -> None:
        held.append(number)

    with _handler(hold):
        yield held


@contextmanager
def stopping_on_interrupt(spark: SparkSession) -> Iterator[None]:
    """Let SIGINT stop Spark, whatever it is doing, before KeyboardInterrupt is raised."""

    def interrupt(number: int, frame: object) -> None:
        # A thread of its own has a connection of its own.
        thread = threading.Thread(target=_stop, args=(spark,), daemon=True)
        thread.start()
        thread.join(_LONGEST_STOP)
        _leave_connection(spark)
        raise KeyboardInterrupt

    with _handler(interrupt):
        yield


@contextmanager
def _handler(handler: Any) -> Iterator[None]:
    """Have SIGINT handled as long as the block lasts, where that can be: in the main thread."""
    before = signal.getsignal(signal.SIGINT)
    # A handler that is not Python's could not be put back.
    if threading.current_thread() is not threading.main_thread() or before is None:
        yield
        return
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        # Spark, once started, has set one of its own.
        if signal.getsignal(signal.SIGINT) is handler:
            signal.signal(signal.SIGINT, before)


def _stop(spark: SparkSession) -> None:
    """End all jobs, let their tasks clean up, and stop Spark; without a word of its log."""
    from py4j.protocol import Py4JError

    context: Any = spark.sparkContext
    with suppress(Py4JError, OSError, AttributeError):
        running = context._jsc.sc()
        running.setLogLevel("OFF")
        running.cancelAllJobs()
        until = time.monotonic() + _LONGEST_CLEANING
        while _tasks(running) and time.monotonic() < until:
            time.sleep(0.05)
        running.stop()


def _tasks(context: Any) -> int:
    return sum(int(info.numRunningTasks()) for info in context.statusTracker().getExecutorInfos())


def _leave_connection(spark: SparkSession) -> None:
    """Have this thread talk to the JVM anew: an answer to what it asked may still come."""
    client: Any = spark.sparkContext._gateway._gateway_client
    with suppress(AttributeError):
        client.thread_connection.connection = None
