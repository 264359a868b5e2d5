"""CASE in the ELSE of CASE, and so on: Spark takes exponentially long to hand such plans over.

The JSON form of a CASE has its ELSE twice, as a child and as a field.
"""

from __future__ import annotations

import re

from predtrace.errors import UnsupportedOperatorError
from predtrace.frontends.spark.catalyst import JavaObject

_DEEPEST = 12
_WORDS = re.compile(r"\b(ELSE CASE WHEN|CASE WHEN|END)\b")


def refuse_nested_cases(plan: JavaObject) -> None:
    """Raise UnsupportedOperatorError for a plan whose tree could not be read in any time."""
    if nesting(str(plan.toString())) > _DEEPEST:
        raise UnsupportedOperatorError(
            f"a CASE in the ELSE of another, more than {_DEEPEST} of them in each other, cannot be "
            "traced; write one CASE with many branches: when(…).when(…).otherwise(…)"
        )


def nesting(text: str) -> int:
    """How many CASEs, at most, stand each in the ELSE of the one before, in a plan's text."""
    deepest = 0
    around: list[int] = []
    for word in _WORDS.findall(text):
        if word != "END":
            inner = word.startswith("ELSE") and around
            around.append(around[-1] + 1 if inner else 1)
            deepest = max(deepest, around[-1])
        elif around:
            around.pop()
    return deepest
