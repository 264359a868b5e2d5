"""Cell-level lineage of arrays: captured, compressed, stored and queried without unpacking.

    store = predtrace.arrays.open_store("lineage/")
    a, b = store.array("A", (1000, 200)), store.array("B", (1000,))
    store.lineage(b, a, relation)
    store.query([b, a], [3]).cells()           # the cells of A that cell 3 of B came from

After DSLog ("Compression and In-Situ Query Processing for Fine-Grained Array Lineage")
and the thesis it grew from; docs/arrays.md explains. The names below are loaded when first
used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from predtrace.arrays.calls import TrackedArray
    from predtrace.arrays.cells import Cells
    from predtrace.arrays.provrc import compress
    from predtrace.arrays.query import Direction, TableIndex, trace
    from predtrace.arrays.relation import CellRelation, End, LineageTable, follow
    from predtrace.arrays.reuse.predictor import Reuse
    from predtrace.arrays.rowsets import RowIndex
    from predtrace.arrays.store import ArrayStore, open_store

_HOMES = {
    **dict.fromkeys(("CellRelation", "End", "LineageTable", "follow"), "relation"),
    "Cells": "cells",
    "compress": "provrc",
    **dict.fromkeys(("Direction", "TableIndex", "trace"), "query"),
    **dict.fromkeys(("ArrayStore", "open_store"), "store"),
    "Reuse": "reuse.predictor",
    "RowIndex": "rowsets",
    "TrackedArray": "calls",
}

__all__ = [
    "ArrayStore",
    "CellRelation",
    "Cells",
    "Direction",
    "End",
    "LineageTable",
    "Reuse",
    "RowIndex",
    "TableIndex",
    "TrackedArray",
    "compress",
    "follow",
    "open_store",
    "trace",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
