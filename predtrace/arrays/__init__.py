"""Cell-level lineage of arrays: captured, compressed, stored and queried without unpacking.

    @predtrace.arrays.track
    def shares(table):
        return table / table.sum(axis=1, keepdims=True)

    result = shares(data)                              # numpy arrays in, a tracked array out
    result.lineage.backward((3, 4), to="table").cells()

    store = predtrace.arrays.open_store("lineage/")    # or lineage that was captured elsewhere
    a, b = store.array("A", (1000, 200)), store.array("B", (1000,))
    store.lineage(b, a, relation)
    store.query([b, a], [3]).cells()                   # the cells of A that cell 3 of B came from

It follows DSLog ("Compression and In-Situ Query Processing for Fine-Grained Array Lineage") and the
thesis that DSLog grew from; see docs/arrays.md. The names below are loaded when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from predtrace.arrays.answers import Answer
    from predtrace.arrays.blackbox.box import black_box
    from predtrace.arrays.calls import TrackedArray
    from predtrace.arrays.cells import Cells
    from predtrace.arrays.provrc import compress
    from predtrace.arrays.quality import Quality
    from predtrace.arrays.query import Direction, TableIndex, trace
    from predtrace.arrays.relation import CellRelation, End, LineageTable, follow
    from predtrace.arrays.reuse.predictor import Reuse
    from predtrace.arrays.store import ArrayStore, open_store
    from predtrace.arrays.tracked.array import LineageArray
    from predtrace.arrays.tracked.decorator import track
    from predtrace.arrays.tracked.session import Tracking, tracking
    from predtrace.arrays.tracked.views import as_strided
    from predtrace.arrays.weights import significant
    from predtrace.packed.rowsets import RowIndex

_HOMES = {
    **dict.fromkeys(("CellRelation", "End", "LineageTable", "follow"), "relation"),
    "Cells": "cells",
    "compress": "provrc",
    **dict.fromkeys(("Direction", "TableIndex", "trace"), "query"),
    **dict.fromkeys(("ArrayStore", "open_store"), "store"),
    "Reuse": "reuse.predictor",
    "RowIndex": "rowsets",
    "TrackedArray": "calls",
    "Answer": "answers",
    "Quality": "quality",
    "LineageArray": "tracked.array",
    "black_box": "blackbox.box",
    "significant": "weights",
    "track": "tracked.decorator",
    **dict.fromkeys(("Tracking", "tracking"), "tracked.session"),
    "as_strided": "tracked.views",
}

__all__ = [
    "Answer",
    "ArrayStore",
    "CellRelation",
    "Cells",
    "Direction",
    "End",
    "LineageArray",
    "LineageTable",
    "Quality",
    "Reuse",
    "RowIndex",
    "TableIndex",
    "TrackedArray",
    "Tracking",
    "as_strided",
    "black_box",
    "compress",
    "follow",
    "open_store",
    "significant",
    "trace",
    "track",
    "tracking",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
