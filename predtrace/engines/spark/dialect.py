"""Spark's SQL, as the pipelines are written in it; questions ask in that of `total`."""

from predtrace.engines.spark.aggregates import SPARK_AGGREGATES
from predtrace.engines.spark.functions import SPARK
from predtrace.engines.sql.dialect import Dialect
from symbolic.functions import Semantics

SPARK_DIALECT = Dialect(
    name="spark",
    semantics=frozenset({Semantics.SPARK}),
    functions=SPARK,
    aggregates=SPARK_AGGREGATES,
    exists_as_value=False,
)
