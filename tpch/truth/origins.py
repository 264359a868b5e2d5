"""The source rows behind a row, as a graph that shares its parts and is walked when asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias, Union

Path: TypeAlias = tuple[int, ...]
"""A scan: the references to CTEs that lead to it, then the FROM item itself."""
Places: TypeAlias = dict[Path, set[int]]
"""Row numbers by scan."""


class Leaf(NamedTuple):
    """A source row."""

    scan: int
    row: int


class Under(NamedTuple):
    """What is behind a row of a CTE, seen through one of the references to it."""

    reference: int
    origin: Origin


class Together(NamedTuple):
    """All rows behind several others."""

    parts: Sequence[Origin]


Origin: TypeAlias = Union[Leaf, Under, Together]
NOTHING = Together(())


def together(*parts: Origin) -> Origin:
    """What is behind all of them."""
    kept = [part for part in parts if part is not NOTHING]
    if len(kept) == 1:
        return kept[0]
    return Together(kept) if kept else NOTHING


def places(origins: Iterable[Origin]) -> Places:
    """The source rows, by scan."""
    found: Places = {}
    seen: set[tuple[int, Path]] = set()
    waiting: list[tuple[Origin, Path]] = [(origin, ()) for origin in origins]
    while waiting:
        origin, path = waiting.pop()
        if isinstance(origin, Leaf):
            found.setdefault((*path, origin.scan), set()).add(origin.row)
        elif (id(origin), path) not in seen:
            seen.add((id(origin), path))
            if isinstance(origin, Under):
                waiting.append((origin.origin, (*path, origin.reference)))
            else:
                waiting.extend((part, path) for part in origin.parts)
    return found
