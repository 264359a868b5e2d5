"""The SMT solver behind one class: `Prover`.

Budgets are Z3's deterministic resource limit, never wall-clock time, so a verdict does
not depend on the machine. "Unknown" is a verdict of its own and never counts as a yes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from enum import Enum
from typing import Any

import msgspec

RESOURCE_LIMIT = 2_000_000
"""Z3 resource units for one question; a typical one takes some thousands."""

LOCK = threading.RLock()
"""Z3's default context is not thread-safe: hold this while terms are built or checked."""


class Verdict(Enum):
    """The solver's answer to "does the goal follow from the assumptions?"."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNKNOWN = "unknown"


class Spent(msgspec.Struct):
    """The solver's work in this process: questions answered, and seconds in Z3."""

    questions: int = 0
    seconds: float = 0.0


SPENT = Spent()
"""Every question adds to it; for measurements."""


class Prover:
    """Proves goals one after the other, from assumptions that only grow.

    One solver serves all goals: shared assumptions are asserted once. Each goal has a level of its
    own, which is popped: nothing of a goal remains when the next is asked.
    """

    def __init__(self, limit: int = RESOURCE_LIMIT) -> None:
        import z3

        # The incremental core: for small formulas the full preprocessing costs far more than
        # it saves.
        self._solver = z3.SimpleSolver()
        # Z3's own handler of Ctrl-C would leave the process's handler in a state in which reads
        # continue.
        self._solver.set("ctrl_c", False)
        self._solver.set("rlimit", limit)
        self._assumed: dict[int, Any] = {}
        self._z3 = z3

    def prove(self, goal: Any, assumptions: Iterable[Any] = ()) -> Verdict:
        """Whether the Z3 formula `goal` holds in every model of all assumptions so far."""
        started = time.perf_counter()
        for assumption in assumptions:
            # Equal terms are one term to Z3 as long as one of them is kept.
            if assumption.get_id() not in self._assumed:
                self._assumed[assumption.get_id()] = assumption
                self._solver.add(assumption)
        self._solver.push()
        self._solver.add(self._z3.Not(goal))
        answer = self._solver.check()
        self._solver.pop()
        SPENT.questions += 1
        SPENT.seconds += time.perf_counter() - started
        if answer == self._z3.unsat:
            return Verdict.PROVED
        return Verdict.REFUTED if answer == self._z3.sat else Verdict.UNKNOWN


def prove(goal: Any, assumptions: Iterable[Any], *, limit: int = RESOURCE_LIMIT) -> Verdict:
    """Whether the Z3 formula `goal` holds in every model of the `assumptions`."""
    return Prover(limit).prove(goal, assumptions)
