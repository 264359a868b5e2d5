"""The protocol of modes of answering."""

from __future__ import annotations

from abc import ABC, abstractmethod

from predtrace.lineage.answer import Lineage
from predtrace.lineage.context import QuestionContext


class Mode(ABC):
    """One way of answering questions."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The word for it (`predtrace.vocabulary.Mode`)."""

    @abstractmethod
    def answer(self, context: QuestionContext, notes: list[str]) -> Lineage:
        """The lazy answer; it comes with `notes`, to which it may add.

        Raises PredTraceError (TargetError, SourceError, EngineError, StoreError,
        NonDeterministicError) if the job cannot be asked in this mode.
        """
