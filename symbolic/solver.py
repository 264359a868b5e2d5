"""The SMT solver behind one function: `prove`.

Budgets are Z3's deterministic resource limit, never wall-clock time, so a verdict does
not depend on the machine. "Unknown" is a verdict of its own and never counts as a yes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from enum import Enum
from typing import Any

RESOURCE_LIMIT = 2_000_000
"""Z3 resource units for one question; a typical one takes some thousands."""

LOCK = threading.RLock()
"""Z3's default context is not thread-safe: hold this while terms are built or checked."""


class Verdict(Enum):
    """The solver's answer to "does the goal follow from the assumptions?"."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNKNOWN = "unknown"


def prove(goal: Any, assumptions: Iterable[Any], *, limit: int = RESOURCE_LIMIT) -> Verdict:
    """Whether the Z3 formula `goal` holds in every model of the `assumptions`."""
    import z3

    # The incremental core: for small formulas the full preprocessing costs far more than it saves.
    solver = z3.SimpleSolver()
    solver.set("rlimit", limit)
    for assumption in assumptions:
        solver.add(assumption)
    solver.add(z3.Not(goal))
    answer = solver.check()
    if answer == z3.unsat:
        return Verdict.PROVED
    return Verdict.REFUTED if answer == z3.sat else Verdict.UNKNOWN
