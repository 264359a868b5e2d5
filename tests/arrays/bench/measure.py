"""The measurements: sizes, times to write, times to ask."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import TypeVar

import numpy as np

from predtrace.arrays.cells import Cells
from predtrace.arrays.format import decode
from predtrace.arrays.provrc import compress
from predtrace.arrays.query import Direction, TableIndex, trace
from predtrace.arrays.relation import CellRelation
from predtrace.errors import ArrayLineageError
from predtrace.packed.boxes import Shape
from tests.arrays.bench.baselines import FORMATS, Duck, same_cells
from tests.arrays.bench.figures import Compressed, QueryTimes, Stored, Written
from tests.arrays.bench.operations import Operation, aggregate, elementwise
from tests.arrays.bench.plain import compress_plainly
from tests.arrays.bench.scattered import SIZES, WORKLOADS

T = TypeVar("T")

ASKED = 1000
"""Cells that a query of one operation asks for."""

_ROUNDS = 5
_PAIRED = 5
_ENOUGH = 1.0


def best_time(run: Callable[[], T]) -> tuple[float, T]:
    """The least of some rounds, fewer of slow ones; after one that is not counted."""
    answer = run()
    best, spent = float("inf"), 0.0
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        answer = run()
        seconds = time.perf_counter() - start
        best, spent = min(best, seconds), spent + seconds
        if spent > _ENOUGH:
            break
    return best, answer


def stored(operation: Operation, relations: Sequence[CellRelation], folder: Path) -> Stored:
    """The sizes of all formats. Raises ArrayLineageError if ProvRC does not give the pairs back."""
    sizes = dict.fromkeys(FORMATS, 0)
    for relation in relations:
        for name, write in FORMATS.items():
            path = folder / "lineage"
            write(relation, path)
            sizes[name] += path.stat().st_size
        if not decode(path.read_bytes()).decompress().same_as(relation):
            raise ArrayLineageError(f"{operation.name} does not come back from its compressed form")
    return Stored(
        operation=operation.name,
        size=operation.size,
        pairs=sum(len(relation) for relation in relations),
        rows=sum(len(compress(relation)) for relation in relations),
        structured=operation.structured,
        bytes=sizes,
    )


def written(scale: float, folder: Path) -> Iterator[Written]:
    """Figure 7: the time to compress and write, for element-wise lineage and aggregates."""
    for side in (32, 100, 316, 1000):
        length = max(4, round(side * scale**0.5))
        for kind, relation in (
            ("element-wise", elementwise(length, length)),
            ("aggregate", aggregate(length, length)),
        ):
            path = folder / "lineage"
            seconds = {
                name: best_time(partial(write, relation, path))[0]
                for name, write in FORMATS.items()
            }
            yield Written(kind, len(relation), seconds)


def compressed(scale: float) -> Iterator[Compressed]:
    """Both implementations of ProvRC on data without structure, in turns."""
    for name, make in WORKLOADS.items():
        for size in SIZES:
            relation = make(max(100, round(size * scale)))
            took: dict[str, list[float]] = {"ProvRC": [], "plain": []}
            rows: dict[str, int] = {}
            for _ in range(_PAIRED):
                for system, run in (("plain", compress_plainly), ("ProvRC", compress)):
                    start = time.perf_counter()
                    rows[system] = len(run(relation))
                    took[system].append(time.perf_counter() - start)
            pairs = zip(took["ProvRC"], took["plain"], strict=True)
            yield Compressed(
                data=name,
                pairs=len(relation),
                rows=rows,
                seconds={system: median(seconds) for system, seconds in took.items()},
                ratio=median(ours / plain for ours, plain in pairs),
            )


def asked_of_operation(
    operation: Operation, relations: Sequence[CellRelation], folder: Path
) -> Iterator[QueryTimes]:
    """Queries of a box and of scattered cells, both ways, for every input."""
    for number, relation in enumerate(relations):
        duck = Duck()
        duck.load("lineage", relation)
        path = folder / "lineage.parquet"
        FORMATS["Parquet"](relation, path)
        duck.scan("file", path)
        index = TableIndex(compress(relation))
        for direction in Direction:
            shape = relation.out_shape if direction is Direction.backward else relation.in_shape
            for kind, cells in questions(shape, ASKED):
                seconds, answer = best_time(partial(index.hop, cells, direction))
                times = {"ProvRC": seconds}
                for system, table in (("DuckDB", "lineage"), ("DuckDB on Parquet", "file")):
                    run = duck.ask([(table, relation, direction)], cells)
                    times[system], found = best_time(run)
                    _agree(operation.name, same_cells(found, answer))
                yield QueryTimes(
                    workload=operation.name + (f", input {number + 1}" if number else ""),
                    direction=direction.value,
                    kind=kind,
                    cells=cells.count(),
                    answer=answer.count(),
                    structured=operation.structured,
                    seconds=times,
                )


def asked_of_path(
    name: str, path: Sequence[tuple[CellRelation, Direction]], share: float, structured: bool
) -> QueryTimes:
    """A box with a share of the first array's cells, through a workflow."""
    duck = Duck()
    hops = []
    for number, (relation, direction) in enumerate(path):
        duck.load(f"lineage{number}", relation)
        hops.append((f"lineage{number}", relation, direction))
    indexes = [(TableIndex(compress(relation)), direction) for relation, direction in path]
    first, direction = path[0]
    shape = first.out_shape if direction is Direction.backward else first.in_shape
    _, cells = next(questions(shape, max(1, round(share * np.prod(shape)))))
    seconds, answer = best_time(partial(trace, indexes, cells))
    slower, found = best_time(duck.ask(hops, cells))
    _agree(name, same_cells(found, answer))
    return QueryTimes(
        workload=name,
        direction=direction.value,
        kind=f"{share:.1%}",
        cells=cells.count(),
        answer=answer.count(),
        structured=structured,
        seconds={"ProvRC": seconds, "DuckDB": slower},
    )


def questions(shape: Shape, count: int) -> Iterator[tuple[str, Cells]]:
    """A box of about `count` cells, then as many scattered ones."""
    rng = np.random.default_rng(len(shape))
    if not shape:
        yield "box", Cells.everything(shape)
        return
    places, wanted = [slice(0)] * len(shape), count
    # Short axes first: what they cannot hold, long ones do.
    for left, axis in enumerate(sorted(range(len(shape)), key=lambda axis: shape[axis])):
        length = min(shape[axis], max(1, round(wanted ** (1 / (len(shape) - left)))))
        wanted = max(1, round(wanted / length))
        start = int(rng.integers(0, shape[axis] - length + 1))
        places[axis] = slice(start, start + length)
    yield "box", Cells.box(shape, *places)
    cells = int(np.prod(shape))
    chosen = rng.choice(cells, min(count, cells), replace=False)
    yield "scattered", Cells.points(shape, np.stack(np.unravel_index(chosen, shape), axis=1))


def _agree(name: str, same: bool) -> None:
    if not same:
        raise ArrayLineageError(f"ProvRC and DuckDB disagree on {name}; the benchmark stops here")
