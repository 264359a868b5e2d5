"""Refuses CASEs nested in each other's ELSE: Spark takes exponentially long to hand them over.

The JSON form of a CASE contains its ELSE twice, as a child and as a field.
"""

from __future__ import annotations

import re

from predtrace.errors import UnsupportedOperatorError
from predtrace.frontends.spark.catalyst import JavaObject

_DEEPEST = 12
_WORDS = re.compile(r"\b(ELSE CASE WHEN|CASE WHEN|END)\b")


def refuse_nested_cases(plan: JavaObject) -> None:
    """Raise UnsupportedOperatorError for a plan whose tree would take too long to read."""
    if nesting(str(plan.toString())) > _DEEPEST:
        raise UnsupportedOperatorError(
            f"a CASE in the ELSE of another, more than {_DEEPEST} of them in each other, cannot be "
            "traced; write one CASE with many branches: when(…).when(…).otherwise(…)"
        )


def nesting(text: str) -> int:
    """The greatest depth of CASEs nested in each other's ELSE in a plan's text."""
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
