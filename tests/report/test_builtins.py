"""The table of Spark's built-in functions is that of the installed Spark."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from predtrace.jobs.builtins import AGGREGATE, FOLDED, NEVER, SCALAR, builtins, may_be_carried
from predtrace.report.builtins import asked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SAMPLE = 24


def test_it_has_every_built_in_function(spark: SparkSession) -> None:
    names = [row[0] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()]
    assert list(builtins()) == names


def test_a_sample_is_current(spark: SparkSession) -> None:
    chosen = random.Random(1).sample(sorted(builtins()), _SAMPLE)
    assert {row.name: row for row in asked(spark, chosen)} == {
        name: builtins()[name] for name in chosen
    }


def test_what_is_never_carried_is_built_in() -> None:
    assert {*NEVER, *FOLDED} <= builtins().keys()
    assert not any(may_be_carried(name) for name in NEVER)


def test_aggregates_are_traced() -> None:
    """Except for those of grouping sets and of metric views, which are no aggregates."""
    rows = [row for row in builtins().values() if row.kind == AGGREGATE]
    assert len(rows) > 80
    assert {row.support for row in rows} == {"own", "carried", "opaque", ""}
    assert {row.name for row in rows if not row.support} == {"grouping", "grouping_id", "measure"}


def test_few_scalar_functions_are_refused() -> None:
    rows = [row for row in builtins().values() if row.kind == SCALAR]
    refused = {row.name for row in rows if row.support.startswith("refused")}
    assert len(rows) > 400
    assert len(refused) < 7
    known = {row.support.partition(":")[0] for row in rows if row.name not in refused}
    assert known == {"own", "carried", "opaque"}
