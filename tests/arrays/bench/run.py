"""The parts of a run, one after the other, each told about as it begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from predtrace.arrays.query import Direction
from predtrace.arrays.relation import CellRelation
from tests.arrays.bench import measure
from tests.arrays.bench.figures import (
    Compressed,
    Covered,
    Predicted,
    QueryTimes,
    Registered,
    Stored,
    Written,
)
from tests.arrays.bench.functions import covered
from tests.arrays.bench.operations import OPERATIONS
from tests.arrays.bench.reuse import predicted_functions, registered
from tests.arrays.bench.workflows import WORKFLOWS, random_workflow

Tell = Callable[[str], None]

SHARES = (0.0001, 0.001, 0.01, 0.1)
"""Of the first array's cells, those that workflows are asked about."""

LENGTHS = (5, 10)


def of_operations(
    scale: float, folder: Path, tell: Tell, *, sizes: bool, queries: bool
) -> tuple[list[Stored], list[QueryTimes]]:
    """Table VII, and queries of each operation."""
    stored: list[Stored] = []
    asked: list[QueryTimes] = []
    for operation in OPERATIONS if sizes or queries else ():
        tell(f"{operation.name} ({operation.size})")
        relations = [relation.normalized() for relation in operation.relations(scale)]
        if sizes:
            stored.append(measure.stored(operation, relations, folder))
        if queries:
            asked += measure.asked_of_operation(operation, relations, folder)
    return stored, asked


def of_latency(scale: float, folder: Path, tell: Tell) -> list[Written]:
    """Figure 7."""
    tell("time to compress and write")
    return list(measure.written(scale, folder))


def of_unstructured(scale: float, tell: Tell) -> list[Compressed]:
    """ProvRC against its plain implementation."""
    tell("time to compress data without structure")
    return list(measure.compressed(scale))


def of_workflows(scale: float, tell: Tell) -> list[QueryTimes]:
    """Figure 8: forward through whole workflows."""
    asked = []
    for name, make in WORKFLOWS.items():
        tell(f"workflow: {name}")
        path = _forward(make(scale))
        asked += [measure.asked_of_path(name, path, share, structured=False) for share in SHARES]
    return asked


def of_random(scale: float, repeats: int, tell: Tell) -> list[QueryTimes]:
    """Figure 9: forward through random workflows."""
    asked = []
    for length in LENGTHS:
        for seed in range(repeats):
            tell(f"random workflow {seed + 1} of {repeats}, {length} operations")
            path = _forward([table.decompress() for table in random_workflow(length, seed, scale)])
            name = f"{length} operations, {seed + 1}"
            asked += [
                measure.asked_of_path(name, path, share, structured=False) for share in SHARES[1::2]
            ]
    return asked


def of_functions(scale: float, tell: Tell) -> tuple[list[Covered], list[Predicted], list[str]]:
    """Table IX: compression, reuse, and the names of functions that were not tried."""
    tell("lineage of numpy's functions, compressed")
    found = list(covered(scale))
    tell("lineage of numpy's functions, predicted")
    foretold = list(predicted_functions())
    return (
        [one for one in found if isinstance(one, Covered)],
        [one for one in foretold if isinstance(one, Predicted)],
        [one for one in found if isinstance(one, str)],
    )


def of_reuse(scale: float, folder: Path, tell: Tell) -> list[Registered]:
    """The time to register calls with lineage that is captured, or predicted."""
    tell("time to register")
    return list(registered(scale, folder))


def _forward(relations: Sequence[CellRelation]) -> list[tuple[CellRelation, Direction]]:
    return [(relation, Direction.forward) for relation in relations]
