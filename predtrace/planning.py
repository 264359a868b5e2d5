"""The steps of `predtrace.trace`, one by one, for harnesses and experiments that time them.

    pipeline = read_pipeline(frame)                              # operators, sources, settings
    plan = infer(pipeline.graph, estimates=pipeline.estimates())

A `Trace` does both, and remembers the plan.
"""

from __future__ import annotations

from predtrace.frontends.spark import SparkPipeline, read_pipeline
from predtrace.inference.plan import LineagePlan
from predtrace.inference.planner import infer

__all__ = ["LineagePlan", "SparkPipeline", "infer", "read_pipeline"]
