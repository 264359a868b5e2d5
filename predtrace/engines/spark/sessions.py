"""The sessions of questions: the job's settings, the user's that change no result, and our own.

Each question gets a session of its own: its settings and views are separate from the user's, and
from those of other questions. Making one takes several hundred calls into the JVM, most of them to
compare settings. So the first session for some settings is kept as a pattern, in which nothing is
ever computed, and questions get copies of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import msgspec

from predtrace.engines.spark.total import provide
from predtrace.environment.sessions import copied_session, new_session, settings_text
from predtrace.jobs.model import EngineSettings
from predtrace.jobs.settings import EXCLUDED_RULES, PREFIX, belongs_to_statements, put_in_force

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OWN = {
    # Values travel to Python by Arrow; a fallback would lose types.
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # ${…} in a text is text.
    "spark.sql.variable.substitute": "false",
    # Timestamps exact for every engine, and with statistics.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.writeLegacyFormat": "false",
    # Filters on files get days as they are: Java's old classes lack ten days of October 1582.
    "spark.sql.datetime.java8API.enabled": "true",
    # A filter that is applied while a line is parsed sees values that a malformed line has not.
    "spark.sql.avro.filterPushdown.enabled": "false",
    "spark.sql.csv.filterPushdown.enabled": "false",
    "spark.sql.json.filterPushdown.enabled": "false",
    # A predicate without params is joined with the target numbers without a condition.
    "spark.sql.crossJoin.enabled": "true",
    # From a = b and CAST(a AS STRING) = c Spark infers CAST(b AS STRING) = c, but 0.0 = -0.0.
    "spark.sql.constraintPropagation.enabled": "false",
    # Statistics ignore NaN: those of cached results, and those of columns inside structs. (Floats
    # of files are read through a function, see `source`.)
    "spark.sql.inMemoryColumnarStorage.partitionPruning": "false",
    "spark.sql.optimizer.nestedPredicatePushdown.supportedFileSources": "",
}
"""The settings that questions need in addition."""
_UNSOUND_RULES = (
    # Replaces a column in other conditions by a constant that it equals: -0.0 by 0.0.
    "ConstantPropagation",
    # Turns CAST(t AS TIMESTAMP_NTZ) = constant into t = constant: one of the two instants with that
    # local time. The job's graph has the pipeline's own conditions in their rewritten form.
    "UnwrapCastInBinaryComparison",
)
"""Rules of Catalyst's optimizer that make conditions on bound values select other rows."""
_MOST_PATTERNS = 8
"""Patterns that are kept for a session of the user."""

_patterns: WeakKeyDictionary[SparkSession, dict[tuple[str, bytes], SparkSession]]
_patterns = WeakKeyDictionary()


def question_session(spark: SparkSession, settings: EngineSettings) -> SparkSession:
    """A new session for a question to a job with these settings."""
    kept = _patterns.setdefault(spark, {})
    key = (settings_text(spark), msgspec.json.encode(settings))
    if (pattern := kept.get(key)) is None:
        pattern = _made(spark, settings)
        while len(kept) >= _MOST_PATTERNS:
            kept.pop(next(iter(kept)), None)
        kept[key] = pattern
    return copied_session(pattern)


def _made(spark: SparkSession, settings: EngineSettings) -> SparkSession:
    """A session with the settings."""
    session = new_session(spark)
    given: Mapping[str, str] = spark.conf.getAll
    for key, value in given.items():
        if key.startswith(PREFIX) and session.conf.isModifiable(key):
            if belongs_to_statements(key):
                session.conf.unset(key)
            else:
                session.conf.set(key, value)
    put_in_force(session.conf, settings)
    for key, value in OWN.items():
        session.conf.set(key, value)
    rules = [f"org.apache.spark.sql.catalyst.optimizer.{rule}" for rule in _UNSOUND_RULES]
    excluded = session.conf.get(EXCLUDED_RULES, None)
    session.conf.set(EXCLUDED_RULES, ",".join([excluded, *rules] if excluded else rules))
    provide(session)
    return session
