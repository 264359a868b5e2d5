"""Hypothesis strategies: small random tables, operator graphs over them, and SQL text."""

from tests.strategies.compared import compared
from tests.strategies.graphs import (
    Pipeline,
    block_pipelines,
    duplicate_pipelines,
    pipelines,
    positive_pipelines,
    shared_pipelines,
)
from tests.strategies.profiles import count, phases, register_profiles

register_profiles()

__all__ = [
    "Pipeline",
    "block_pipelines",
    "compared",
    "count",
    "duplicate_pipelines",
    "phases",
    "pipelines",
    "positive_pipelines",
    "register_profiles",
    "shared_pipelines",
]
