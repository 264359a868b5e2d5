"""The Spark front end: turns a DataFrame or SQL text into an operator graph, and runs it with cuts.

`read_pipeline` is the entry point; `read_plan` is the entry point for analyzed plans. No module
here imports pyspark before it is needed.
"""

from __future__ import annotations

from predtrace.frontends.spark.output import read_output
from predtrace.frontends.spark.pipeline import SparkPipeline
from predtrace.frontends.spark.reading import read_pipeline, read_plan

__all__ = ["SparkPipeline", "read_output", "read_pipeline", "read_plan"]
