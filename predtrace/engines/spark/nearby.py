"""Small stored results, looked up in this process instead of by a Spark job.

Target rows, and the rows of stored results, are looked up before the first source is read. On Spark
each of these look-ups takes one or two jobs, even if the stored file has a few kilobytes. Another
engine finds the rows in milliseconds. It is asked only for what it evaluates exactly, and only for
local files that one process reads fast. Everything else stays with Spark.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from predtrace.engines.base import (
    BindingSource,
    Engine,
    Evaluation,
    LookedUp,
    StoredBinding,
    TargetBinding,
    Targets,
    UnionBinding,
)
from predtrace.errors import EngineError
from predtrace.jobs.model import EngineSettings

if TYPE_CHECKING:
    import pyarrow as pa

MOST_BYTES = 64_000_000
"""The most bytes of stored files that are read for a look-up."""


class Nearby:
    """The look-ups of one question that an engine in this process can do."""

    def __init__(self, engine: Engine, targets: Targets, settings: EngineSettings) -> None:
        self._engine = engine
        self._targets = targets
        self._settings = settings
        self._evaluation: Evaluation | None = None

    def bound(self, binding: BindingSource) -> pa.Table | None:
        """The distinct rows of a binding; None if only Spark can look them up.

        Raises StoreError if stored files are not what the job wrote.
        """
        chain = list(_above(binding))
        stored = [link for link in chain if isinstance(link, StoredBinding)]
        if not stored or len(stored) < len(chain) or not all(map(self._is_fit, stored)):
            return None
        if sum(file.bytes for link in stored for file in link.files) > MOST_BYTES:
            return None
        try:
            if self._evaluation is None:
                self._evaluation = self._engine.open(self._targets, self._settings)
            return self._evaluation.bound(binding)
        except EngineError:
            # The files turn out to have other types than the engine can read, or the engine failed.
            return None

    def _is_fit(self, link: StoredBinding) -> bool:
        """Whether the engine finds exactly the rows that Spark would find."""
        return (
            "://" not in link.folder + link.output
            and self._engine.binding_inexactness(link, self._settings) is None
            and self._engine.expression_inexactness([link.predicate], self._settings) is None
        )


def _above(binding: BindingSource) -> Iterator[LookedUp]:
    """The binding, and all bindings that give its params values, except the targets."""
    if isinstance(binding, UnionBinding):
        for part in binding.parts:
            yield from _above(part)
    elif not isinstance(binding, TargetBinding):
        yield binding
        yield from _above(binding.parent)
