"""The registry of plan node translations: one small function per Catalyst class."""

from __future__ import annotations

from collections.abc import Callable

from predtrace.frontends.spark.limits import LIMITS
from predtrace.frontends.spark.translation import Prepared, Translated, Translation
from predtrace.frontends.spark.windows import WINDOWS

Translator = Callable[[Translation, Prepared], Translated]

TRANSLATORS: dict[str, Translator] = {}
"""Catalyst node class: its translation."""
DROPPED: dict[str, str] = {
    "CollectMetrics": "nothing: no operator reads observed metrics",
    "PipeOperator": "nothing: the same rows, after a step of pipe syntax",
}
"""Node classes without which a plan means the same, dropped before it is translated: the reason."""
REWRITTEN: dict[str, str] = {
    "AsOfJoin": "OuterJoin, Window, Filter: the nearest candidate of each outer row",
    "DomainJoin": "InnerJoin, OuterJoin with a Domain",
    "LateralJoin": "InnerJoin, OuterJoin",
}
"""Node classes that are rewritten before the plan is translated: what they become."""
BECOMES: dict[str, str] = {
    **REWRITTEN,
    **dict.fromkeys(LIMITS, "Limit"),
    **dict.fromkeys(WINDOWS, "Window, RowTransform above where positions are kept"),
    **DROPPED,
}
"""The operator that a node class becomes, for the coverage table."""
KEEPS_COLUMNS: set[str] = {*LIMITS, "LocalLimit", "LateralJoin"}
"""Node classes that pass columns on with their ids, and read only columns in their expressions."""


def translates(
    *classes: str, to: str, keeps_columns: bool = False
) -> Callable[[Translator], Translator]:
    """Register a translation for Catalyst classes, which become `to`; see `KEEPS_COLUMNS`."""

    def register(translator: Translator) -> Translator:
        TRANSLATORS.update(dict.fromkeys(classes, translator))
        BECOMES.update(dict.fromkeys(classes, to))
        KEEPS_COLUMNS.update(classes if keeps_columns else ())
        return translator

    return register
