"""The rules that move predicates through operators, one module per operator family.

A new operator gets its rule in the module of its family (or a new one), registered
in that module's `RULES`; an operator that cannot be supported gets its reason in
`UNSUPPORTED`. A test fails for an operator that is in neither.
"""

from __future__ import annotations

from pushdown.operators import OneRow, Opaque, OperatorBase, Scan
from pushdown.rules import (
    domains,
    duplicates,
    expansion,
    groups,
    joins,
    opaque,
    opaque_columns,
    order,
    rows,
    sets,
    subqueries,
    windows,
)
from pushdown.rules.base import Rule

RULES: dict[type[OperatorBase], Rule] = {
    **rows.RULES,
    **domains.RULES,
    **duplicates.RULES,
    **order.RULES,
    **opaque_columns.RULES,
    **joins.RULES,
    **subqueries.RULES,
    **expansion.RULES,
    **groups.RULES,
    **sets.RULES,
    **windows.RULES,
    **opaque.RULES,
}
"""The rule of every operator class that has inputs."""

UNDEFINED: frozenset[type[OperatorBase]] = frozenset({Opaque})
"""Operators whose lineage is not defined: answers through them are supersets."""

LEAVES: dict[type[OperatorBase], str] = {
    Scan: "the source rows that the predicate selects",
    OneRow: "reads no source",
}
"""Operators without inputs, where pushdown ends."""

UNSUPPORTED: dict[type[OperatorBase], str] = {}
"""Operator classes that cannot be traced, with the reason."""
