"""Mode ``auto``: the row-id index if there is one, else the best mode that reads the sources."""

from __future__ import annotations

from predtrace.lineage.answer import Lineage
from predtrace.lineage.context import QuestionContext, usable
from predtrace.lineage.modes.base import Mode
from predtrace.lineage.modes.choice import choose
from predtrace.lineage.modes.indexed import has_index, indexed_answer
from predtrace.vocabulary import AUTO


class AutomaticMode(Mode):
    """Takes the fastest mode that is available."""

    @property
    def name(self) -> str:
        """``auto``."""
        return AUTO

    def answer(self, context: QuestionContext, notes: list[str]) -> Lineage:
        """The answer of the chosen mode; the notes name the mode and the reason."""
        if has_index(context):
            looked_up = indexed_answer(context, notes, strict=False)
            if looked_up is not None:
                return looked_up
        there = usable(context.job, context.folder, context.plan, AUTO, notes)
        mode, reason = choose(there, context.plan)
        answer = mode.answer_with(there, context, notes)
        notes.insert(0, f"mode {mode.name}: {reason}")
        return answer
