"""The Spark front end: a DataFrame or SQL text becomes an operator graph, and can be run split.

`read_pipeline` is the entry. Nothing here imports pyspark before it is needed.
"""

from __future__ import annotations

from predtrace.frontends.spark.output import read_output
from predtrace.frontends.spark.pipeline import SparkPipeline, read_pipeline

__all__ = ["SparkPipeline", "read_output", "read_pipeline"]
