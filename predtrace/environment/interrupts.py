"""Ctrl-C while a Spark session of ours starts or works: ends it soon, and leaves nothing behind.

Without this module, an interrupted launcher of Spark leaves a JVM that never ends. And PySpark's
own handler sends its request to cancel all jobs on the connection on which the main thread waits
for a job: Spark reads the request when the job is done.
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
"""Seconds for tasks to end, and for the whole stop; after that the interrupt continues anyway."""


@contextmanager
def interrupts_held() -> Iterator[list[int]]:
    """Record SIGINT in the list, instead of raising KeyboardInterrupt, while Spark starts."""
    held: list[int] = []

    def hold(number: int, frame: object) -> None:
        held.append(number)

    with _handler(hold):
        yield held


@contextmanager
def stopping_on_interrupt(spark: SparkSession) -> Iterator[None]:
    """Let SIGINT stop Spark, whatever it does, before KeyboardInterrupt is raised."""

    def interrupt(number: int, frame: object) -> None:
        # A new thread has its own connection.
        thread = threading.Thread(target=_stop, args=(spark,), daemon=True)
        thread.start()
        thread.join(_LONGEST_STOP)
        _leave_connection(spark)
        raise KeyboardInterrupt

    with _handler(interrupt):
        yield


@contextmanager
def _handler(handler: Any) -> Iterator[None]:
    """Handle SIGINT during the block, if this is the main thread; other threads cannot."""
    before = signal.getsignal(signal.SIGINT)
    # A handler that is not Python's could not be restored.
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
    """Cancel all jobs, let their tasks clean up, and stop Spark, with its log silenced."""
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
    """Give this thread a new connection to the JVM: an answer may still arrive on the old one."""
    client: Any = spark.sparkContext._gateway._gateway_client
    with suppress(AttributeError):
        client.thread_connection.connection = None
