"""The user's Spark session: finding it, and working beside it without side effects.

Spark reads settings from the session that is active in a thread (`SQLConf.get`). Rules applied to a
plan by hand take the time zone, and whether constraints are propagated, from the active session,
not from the plan's. And PySpark changes its own classes when it makes a session (`RDD.toDF` then
makes frames of the new session) or a DataFrame of local rows (its session becomes active).
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STOPPED = "the Spark session was stopped; start one, and ask or run again with that"

_classes = threading.RLock()
"""Held while PySpark's classes are changed."""


def active_session() -> SparkSession | None:
    """The Spark session of this process, if it has one; never imports pyspark.

    A thread without an active session uses the session of the process, as in PySpark.
    """
    if "pyspark" not in sys.modules:
        return None
    from pyspark.sql import SparkSession

    session = SparkSession._instantiatedSession
    if session is None or not is_running(session):
        return None
    return SparkSession.getActiveSession() or session


def is_running(session: SparkSession) -> bool:
    """Whether a session can still be used: neither the session nor its JVM was stopped."""
    from py4j.protocol import Py4JError

    context: Any = session._sc
    if context._jsc is None:
        return False
    try:
        return not context._jsc.sc().isStopped()
    except (Py4JError, OSError):
        return False


def first_line(error: Exception) -> str:
    """The first line of an error of Spark or its JVM."""
    # An error for which PySpark has no class has the JVM's stack trace as its text.
    java = getattr(error, "java_exception", None)
    lines = [line.strip() for line in str(java or error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


def new_session(session: SparkSession) -> SparkSession:
    """A new session of the same application, without the user's settings and views."""
    with classes_kept():
        return session.newSession()


def copied_session(session: SparkSession) -> SparkSession:
    """A new session with the settings, views and functions that `session` has now."""
    with classes_kept():
        return type(session)(session._sc, session._jsparkSession.cloneSession())


def settings_text(session: SparkSession) -> str:
    """All settings of a session in one text; equal settings may be in another order."""
    conf: Any = session._jsparkSession.sessionState().conf()
    text: str = conf.getAllConfs().mkString("\n")
    return text


@contextmanager
def as_active(session: SparkSession) -> Iterator[None]:
    """Make `session` the active session of this thread, in the JVM, during the block."""
    in_jvm: Any = session._jvm.org.apache.spark.sql.classic.SparkSession
    before = in_jvm.getActiveSession()
    try:
        in_jvm.setActiveSession(session._jsparkSession)
        yield
    finally:
        if before.isDefined():
            in_jvm.setActiveSession(before.get())
        else:
            in_jvm.clearActiveSession()


@contextmanager
def classes_kept() -> Iterator[None]:
    """Undo PySpark's changes to its classes after the block; one block at a time."""
    from pyspark import RDD
    from pyspark.sql import SparkSession

    attributes: tuple[tuple[Any, str], ...] = (
        (RDD, "toDF"),
        (SparkSession, "_activeSession"),
        (SparkSession, "_instantiatedSession"),
    )
    with _classes:
        before = [vars(owner)[name] for owner, name in attributes]
        try:
            yield
        finally:
            for (owner, name), value in zip(attributes, before, strict=True):
                setattr(owner, name, value)
