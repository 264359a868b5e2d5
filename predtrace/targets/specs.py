"""Target specs: the checked description of the output rows that a question asks about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from predtrace.engines.base import TARGET, physical_name
from predtrace.engines.values import arrow_type
from symbolic.expr import Column, Expr, Param, conjunction, same
from symbolic.types import comparable

if TYPE_CHECKING:
    import pyarrow as pa


class TargetSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One target, checked: `values` by column id, or a `predicate` over the output columns.

    `number` is its position in the given list, from 0. `complete` says that all columns have a
    value. `overlooked` names the columns whose values are not compared: maps.
    """

    number: int
    values: Mapping[int, Any] = {}
    predicate: Expr | None = None
    complete: bool = False
    overlooked: tuple[str, ...] = ()


class TargetSpecs(msgspec.Struct, frozen=True, kw_only=True):
    """The targets of a question; `numbered` if they were given as a list."""

    targets: tuple[TargetSpec, ...]
    numbered: bool
    columns: tuple[Column, ...]

    @property
    def by_columns(self) -> tuple[tuple[TargetSpec, ...], ...]:
        """The targets given by values, grouped by the columns that they give."""
        groups: dict[tuple[int, ...], list[TargetSpec]] = {}
        for spec in self.targets:
            if spec.predicate is None:
                groups.setdefault(tuple(sorted(spec.values)), []).append(spec)
        return tuple(map(tuple, groups.values()))

    @property
    def predicates(self) -> tuple[Expr, ...]:
        """The expressions evaluated to find the targets in the stored output."""
        return tuple(
            lookup_predicate(self.columns, tuple(spec.values))
            if spec.predicate is None
            else spec.predicate
            for spec in self.targets
        )


def lookup_predicate(columns: Sequence[Column], keys: Sequence[int]) -> Expr:
    """The predicate that the columns with the ids `keys` equal the params of the target."""
    return conjunction(
        *(
            same(column, Param(0, column.id, column.name, column.type))
            for column in dict.fromkeys(columns)
            if column.id in keys
        )
    )


def target_schema(columns: Sequence[Column]) -> pa.Schema:
    """The Arrow schema of target rows with these columns."""
    import pyarrow as pa

    fields = [pa.field(TARGET, pa.int64())]
    fields += [pa.field(physical_name(column.id), arrow_type(column.type)) for column in columns]
    return pa.schema(fields)


def bindable(columns: Sequence[Column]) -> tuple[Column, ...]:
    """One column for each id (an output may show a column twice), without maps.

    SQL does not compare maps, so no predicate can have their values.
    """
    found = {column.id: column for column in columns if comparable(column.type)}
    return tuple(found.values())
