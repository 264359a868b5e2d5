"""The Spark front end: a DataFrame or SQL text becomes an operator graph, and can be run split.

`read_pipeline` is the entry, and `read_plan` that for analyzed plans. Nothing here imports pyspark
before it is needed.
"""

from __future__ import annotations

from predtrace.frontends.spark.output import read_output
from predtrace.frontends.spark.pipeline import SparkPipeline
from predtrace.frontends.spark.reading import read_pipeline, read_plan

__all__ = ["SparkPipeline", "read_output", "read_pipeline", "read_plan"]
