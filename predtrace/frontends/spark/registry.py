"""The registry of plan node translations: one small function a Catalyst class."""

from __future__ import annotations

from collections.abc import Callable

from predtrace.frontends.spark.limits import LIMITS
from predtrace.frontends.spark.translation import Prepared, Translated, Translation

Translator = Callable[[Translation, Prepared], Translated]

TRANSLATORS: dict[str, Translator] = {}
"""Catalyst node class: its translation."""
BECOMES: dict[str, str] = dict.fromkeys(LIMITS, "Limit")
"""For the coverage table: the operator that a node class becomes."""


def translates(*classes: str, to: str) -> Callable[[Translator], Translator]:
    """Register a translation for Catalyst classes, which become `to`."""

    def register(translator: Translator) -> Translator:
        TRANSLATORS.update(dict.fromkeys(classes, translator))
        BECOMES.update(dict.fromkeys(classes, to))
        return translator

    return register
