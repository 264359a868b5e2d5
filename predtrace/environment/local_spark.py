"""A local Spark session, for commands and for questions asked without one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from predtrace.environment.interrupts import interrupts_held, stopping_on_interrupt
from predtrace.environment.java import require_java
from predtrace.environment.sessions import active_session, first_line, new_session
from predtrace.errors import EnvironmentError_

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULTS: Mapping[str, str] = {
    "spark.master": "local[*]",
    "spark.app.name": "predtrace",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "8",
    # Errors only from the first line on; `spark.log.level` would come too late for that.
    "spark.driver.extraJavaOptions": (
        f'"-Dlog4j2.configurationFile={Path(__file__).with_name("log4j2.properties")}"'
    ),
}
_LOCAL: Mapping[str, str] = {
    # A local master works without a network, even if the machine's name does not resolve.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


@contextmanager
def local_session(
    settings: Mapping[str, str] | None = None,
) -> Iterator[SparkSession]:
    """A Spark session for this process, stopped at the end.

    `settings` override `DEFAULTS`; SPARK_HOME's own configuration applies as well. If the process
    already has a session, the new session is made beside it, with `settings` and without
    `DEFAULTS`, and nothing is stopped. Ctrl-C stops a session that was started here. Raises
    EnvironmentError_ if Java is missing or Spark does not start.
    """
    there = active_session()
    if there is not None:
        beside = new_session(there)
        for key, value in (settings or {}).items():
            beside.conf.set(key, value)
        yield beside
        return
    spark = _started({**DEFAULTS, **(settings or {})})
    try:
        with stopping_on_interrupt(spark):
            yield spark
    finally:
        spark.stop()


def _started(settings: Mapping[str, str]) -> SparkSession:
    require_java()
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    if settings["spark.master"].startswith("local"):
        settings = {**_LOCAL, **settings}
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        with _own_workers(), interrupts_held() as interrupted:
            spark = builder.getOrCreate()
    except PySparkException as error:
        raise EnvironmentError_(
            f"Spark does not start ({first_line(error)}); `predtrace doctor --spark` finds out why"
        ) from error
    if interrupted:
        spark.stop()
        raise KeyboardInterrupt
    return spark


@contextmanager
def _own_workers() -> Iterator[None]:
    """Let a Spark started in the block run its workers with this Python, unless another is
    chosen."""
    name = "PYSPARK_PYTHON"
    if name in os.environ:
        yield
        return
    os.environ[name] = sys.executable
    try:
        yield
    finally:
        del os.environ[name]
