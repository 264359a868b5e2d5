"""The basis of a prediction."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import msgspec

from predtrace.arrays.relation import LineageTable


class Kind(StrEnum):
    """The reach of a prediction beyond the captured calls."""

    DIMENSIONAL = "dimensional"
    """The same shapes were captured before."""
    GENERALISED = "generalised"
    """Other shapes were captured, and the table's numbers are linear functions of the sizes."""


class Basis(msgspec.Struct, frozen=True):
    """The captured calls behind a predicted table: an inference, not a proof.

    `operation` and `structure` say where these calls are in what was learnt. `withdrawals` is the
    number of withdrawals there when the prediction was made.
    """

    operation: str
    structure: str
    kind: Kind
    calls: int
    withdrawals: int

    def __str__(self) -> str:
        return f"predicted from {self.calls} calls"


@dataclass(frozen=True, eq=False)
class Prediction:
    """A predicted table, and its basis."""

    table: LineageTable
    basis: Basis
