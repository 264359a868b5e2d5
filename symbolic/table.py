"""Bounded symbolic tables: a few rows of arbitrary values, each of which may be absent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from symbolic.encode import Encoder, Value
from symbolic.expr import Column


class SymbolicRow(msgspec.Struct, frozen=True):
    """A row: Z3 Bool `exists`, and its values by column id."""

    exists: Any
    values: Mapping[int, Value]


def symbolic_table(
    encoder: Encoder, columns: Iterable[Column], rows: int, name: str
) -> tuple[SymbolicRow, ...]:
    """An arbitrary table of at most `rows` rows."""
    wanted = tuple(columns)
    return tuple(
        SymbolicRow(
            encoder.fresh_flag(f"{name}[{index}]"),
            {
                column.id: encoder.fresh(
                    column.type, f"{name}[{index}].{column.name}", nullable=column.nullable
                )
                for column in wanted
            },
        )
        for index in range(rows)
    )
