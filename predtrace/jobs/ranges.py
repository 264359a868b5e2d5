"""Sources that are ranges of numbers (``spark.range``): computed whenever they are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from predtrace.jobs.model import SourceFile

_LONG = range(-(1 << 63), 1 << 63)


class NumberRange(NamedTuple):
    """The numbers from `start` to before `end`, `step` apart: row i has the number start + i·step.

    They are Spark's longs.
    """

    start: int
    end: int
    step: int

    @classmethod
    def of(cls, options: Mapping[str, str]) -> NumberRange:
        """The range that a source's options describe.

        Raises ValueError if they describe none.

        >>> NumberRange.of({"start": "1", "end": "10", "step": "3"}).rows
        3
        """
        if sorted(options) != sorted(cls._fields):
            raise ValueError(f"a range has the options {', '.join(cls._fields)}")
        found = cls(*(int(options[name]) for name in cls._fields))
        if not found.step or not all(number in _LONG for number in found):
            raise ValueError("a range counts in steps other than 0, in 64 bits")
        return found

    @property
    def rows(self) -> int:
        """How many numbers there are."""
        return max(0, -((self.start - self.end) // self.step))

    @property
    def overflows(self) -> bool:
        """Whether Spark may lose its rows: it does if a partition's length is not in 64 bits."""
        return self.rows * self.step not in _LONG

    @property
    def options(self) -> dict[str, str]:
        """The options of its source."""
        return {name: str(value) for name, value in self._asdict().items()}

    @property
    def file(self) -> SourceFile:
        """The name under which its rows are numbered."""
        path = f"range({self.start}, {self.end}, {self.step})"
        return SourceFile(path=path, size=0, modified=0, rows=self.rows)
