"""Hypothesis profiles: ``dev`` (the suite: few examples, always the same), ``ci`` (many, fresh).

``HYPOTHESIS_PROFILE=ci pytest tests/test_random_graphs.py`` runs the larger one.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

_FACTOR = {"dev": 1, "ci": 20}


def current_profile() -> str:
    """The profile that the environment asks for; ``dev`` without one."""
    wanted = os.environ.get("HYPOTHESIS_PROFILE", "dev")
    return wanted if wanted in _FACTOR else "dev"


def count(examples: int) -> int:
    """How many examples a test runs that has `examples` of them in the suite."""
    return examples * _FACTOR[current_profile()]


def phases() -> tuple[Phase, ...]:
    """Phases of a test whose examples take seconds: the suite reports failures unshrunk."""
    every = (Phase.explicit, Phase.reuse, Phase.generate)
    return every if current_profile() == "dev" else (*every, Phase.shrink)


def register_profiles() -> None:
    """Register both profiles and load the current one. Calling it again is harmless."""
    # Graphs are built by many small draws, and solver time varies: neither is a fault.
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    common = settings(deadline=None, suppress_health_check=checks, print_blob=True)
    settings.register_profile("dev", common, max_examples=100, derandomize=True, database=None)
    settings.register_profile("ci", common, max_examples=2000)
    settings.load_profile(current_profile())
