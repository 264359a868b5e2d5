"""The Spark session that is active in this thread.

Spark itself reads settings from it (`SQLConf.get`): rules that are applied to a plan by
hand take the time zone, and whether constraints are propagated, from the active session,
whichever session the plan is of. And PySpark makes a session the active one whenever it
creates a DataFrame from local rows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def active_session() -> SparkSession | None:
    """The Spark session of this process, if it has one; never imports pyspark."""
    if "pyspark" not in sys.modules:
        return None
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


@contextmanager
def as_active(session: SparkSession) -> Iterator[None]:
    """Make `session` the active one inside the block; after it, the one that was it before."""
    kind: Any = type(session)
    in_jvm = session._jvm.org.apache.spark.sql.classic.SparkSession
    here, there = kind._activeSession, in_jvm.getActiveSession()
    try:
        kind._activeSession = session
        in_jvm.setActiveSession(session._jsparkSession)
        yield
    finally:
        kind._activeSession = here
        if there.isDefined():
            in_jvm.setActiveSession(there.get())
        else:
            in_jvm.clearActiveSession()
