"""Spark's SQL, as pipelines are written in it and as questions are written in it."""

from msgspec.structs import replace

from predtrace.engines.spark.aggregates import SPARK_AGGREGATES
from predtrace.engines.spark.functions import SPARK
from predtrace.engines.spark.windows import SPARK_WINDOWS
from predtrace.engines.sql.dialect import Dialect
from predtrace.engines.sql.functions import spellings
from symbolic.functions import Semantics

SPARK_DIALECT = Dialect(
    name="spark",
    semantics=frozenset({Semantics.SPARK}),
    functions=spellings(SPARK),
    aggregates=spellings(SPARK_AGGREGATES),
    windows=spellings(SPARK_WINDOWS),
    exists_as_value=False,
    materializes=False,
    lateral_views=True,
)

QUESTIONS: dict[bool, Dialect] = {
    True: replace(
        SPARK_DIALECT,
        functions={id: row.in_ansi.build for id, row in SPARK.items()},
        aggregates={id: row.in_ansi for id, row in SPARK_AGGREGATES.items()},
    ),
    False: replace(
        SPARK_DIALECT,
        functions={id: row.without_ansi.build for id, row in SPARK.items()},
    ),
}
"""The dialect of questions, by the ANSI mode of their job: no function fails."""
