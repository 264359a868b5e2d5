"""Forward questions: what source rows are asked about, and whether answers agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tpch.bench.systems.base import Ints, Row

_Any = npt.NDArray[Any]


class ForwardQuestions:
    """One row of every scan, round after round, out of the rows that targets are made of.

    `output` are all output rows, `targets` those that were traced backward, `pairs` what
    was found: per scan positions of targets, and row numbers.
    """

    def __init__(
        self,
        output: Sequence[Row],
        targets: Sequence[Row],
        pairs: Mapping[int, tuple[_Any, _Any]],
        rounds: int,
    ) -> None:
        position = {row: place for place, row in enumerate(targets)}
        self._positions = np.array([position.get(row, -1) for row in output], np.int64)
        self._pairs = {scan: found for scan, found in pairs.items() if len(found[0])}
        self._rows = {scan: _spread(rows, rounds) for scan, (_, rows) in self._pairs.items()}

    def __bool__(self) -> bool:
        return bool(self._rows)

    def of_turn(self, turn: int) -> dict[int, int]:
        """A row of every scan that has lineage."""
        return {scan: int(rows[turn % len(rows)]) for scan, rows in self._rows.items()}

    def differences(self, turn: int, found: Mapping[int, Ints]) -> int:
        """How many scans' answers are not the inverse of what was found backward.

        Output rows that were no targets are not judged here.
        """
        wrong = 0
        for scan, row in self.of_turn(turn).items():
            targets, rows = self._pairs[scan]
            expected = np.isin(self._positions, targets[rows == row])
            reached = np.zeros(len(self._positions), bool)
            reached[found[scan]] = True
            asked = self._positions >= 0
            wrong += not np.array_equal(reached[asked], expected[asked])
        return wrong


def _spread(rows: _Any, most: int) -> _Any:
    different = np.unique(rows)
    return different[np.unique(np.linspace(0, len(different) - 1, most).astype(np.int64))]
