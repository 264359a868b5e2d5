"""Provenance of rows, built cheaply and flattened only for the rows that are asked for.

A provenance is a number (one source row of one scan), or a tuple of provenances whose
union it is. Operators only make new tuples around old ones, so a group of 60,000 rows
costs one tuple, shared by everything above.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Union

Provenance = Union[int, tuple["Provenance", ...]]
NOTHING: Provenance = ()


def both(left: Provenance, right: Provenance) -> Provenance:
    """The union of two."""
    if left == ():
        return right
    return left if right == () else (left, right)


def union(parts: Iterable[Provenance]) -> Provenance:
    """The union of any number."""
    kept = tuple(part for part in parts if part != ())
    return kept[0] if len(kept) == 1 else kept


def flatten(provenance: Provenance) -> set[int]:
    """The source rows of a provenance; shared parts are visited once."""
    found: set[int] = set()
    visited: set[int] = set()
    stack = [provenance]
    while stack:
        part = stack.pop()
        if isinstance(part, int):
            found.add(part)
        elif id(part) not in visited:
            # `part` is alive as long as the root is, so its id is not reused.
            visited.add(id(part))
            stack.extend(part)
    return found
