"""What a prediction rests on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import msgspec

from predtrace.arrays.relation import LineageTable


class Kind(StrEnum):
    """How far a prediction reaches beyond what was captured."""

    DIMENSIONAL = "dimensional"
    """The same shapes were captured before."""
    GENERALISED = "generalised"
    """Other shapes were, and the table's numbers are linear functions of their sizes."""


class Basis(msgspec.Struct, frozen=True):
    """The captured calls behind a predicted table: an inference, not a proof.

    `operation` and `structure` say where in what was learnt they are, `withdrawals` how
    often predictions of this kind from there had been withdrawn by then.
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
    """A predicted table, and why."""

    table: LineageTable
    basis: Basis
