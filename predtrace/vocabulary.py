"""The words for modes, engines, labels, what to keep, and readings of min and max.

The command line offers the enumerations, each word with its help. Elsewhere the words are plain
strings, as the API takes them.
"""

from __future__ import annotations

from enum import StrEnum

from pushdown.readings import MINIMAL, WHOLE

PRECISE = "precise"
SUPERSET = "superset"
"""The labels: exactly the lineage, or all of it and perhaps more."""


class Mode(StrEnum):
    """How the answer is computed; auto: indexed or stored where available, else replayed, or
    refined where that is precise and a replay would be much larger."""

    auto = "auto"
    indexed = "indexed"
    stored = "stored"
    replayed = "replayed"
    refined = "refined"
    naive = "naive"


AUTO = Mode.auto.value
INDEXED = Mode.indexed.value
STORED = Mode.stored.value
REPLAYED = Mode.replayed.value
REFINED = Mode.refined.value
NAIVE = Mode.naive.value


class Engine(StrEnum):
    """The engine that selects the rows; auto takes duckdb where it is exact."""

    auto = "auto"
    duckdb = "duckdb"
    spark = "spark"


DUCKDB = Engine.duckdb.value
SPARK = Engine.spark.value


class Keep(StrEnum):
    """When intermediates are stored: while the pipeline runs, after its result, or not at all."""

    inline = "inline"
    late = "late"
    none = "none"


INLINE = Keep.inline.value
LATE = Keep.late.value
NONE = Keep.none.value


class Aggregates(StrEnum):
    """The reading of min and max: attaining rows, or whole groups."""

    minimal = MINIMAL
    whole = WHOLE


class RunAggregates(StrEnum):
    """The readings of min and max that a job is made for."""

    minimal = MINIMAL
    whole = WHOLE
    both = "both"


BOTH = RunAggregates.both.value


class Fingerprint(StrEnum):
    """The bytes of the sources that later questions compare: a sample, or all."""

    quick = "quick"
    full = "full"


QUICK = Fingerprint.quick.value
FULL = Fingerprint.full.value


ROWS_LIMIT = 64 << 20
"""The bytes of the program's own rows (VALUES, createDataFrame, …) that a job keeps by default."""
CACHE_LIMIT = 10**9
"""The bytes up to which a source that only Spark reads is read into the job's cache by default."""


def words(of: type[StrEnum]) -> str:
    """The words of an enumeration, as errors list them: ``auto, duckdb, spark``."""
    return ", ".join(of)
