"""The baselines of ProvRC: files of other formats, and DuckDB on the same pairs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from predtrace.arrays.cells import Cells
from predtrace.arrays.format import encode
from predtrace.arrays.provrc import compress
from predtrace.arrays.query import Direction
from predtrace.arrays.relation import CellRelation
from predtrace.packed.boxes import Ints, sorted_unique

Writer = Callable[[CellRelation, Path], None]

_DELTA = {"use_dictionary": False, "column_encoding": "DELTA_BINARY_PACKED", "compression": "none"}
THREADS = os.cpu_count() or 1


def _raw(relation: CellRelation, path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, relation.pairs)


def _parquet(**style: Any) -> Writer:
    def write(relation: CellRelation, path: Path) -> None:
        pq.write_table(as_arrow(relation), path, **style)

    return write


def write_provrc(relation: CellRelation, path: Path) -> None:
    """Compress and write a relation; what else is compared does no more."""
    path.write_bytes(encode(compress(relation), relation))


FORMATS: Mapping[str, Writer] = {
    "raw": _raw,
    "Parquet": _parquet(),
    "Parquet-gzip": _parquet(compression="gzip"),
    "Parquet-zstd": _parquet(compression="zstd"),
    "Parquet-delta": _parquet(**_DELTA),
    "delta-zstd": _parquet(**{**_DELTA, "compression": "zstd"}),
    "ProvRC": write_provrc,
}
"""How a relation is written, by format."""


def columns_of(relation: CellRelation) -> tuple[list[str], list[str]]:
    """Names for the output's and the input's axes."""
    return (
        [f"o{axis}" for axis in range(len(relation.out_shape))],
        [f"i{axis}" for axis in range(len(relation.in_shape))],
    )


def as_arrow(relation: CellRelation) -> pa.Table:
    """The pairs as an Arrow table."""
    out, into = columns_of(relation)
    return pa.table([pa.array(column) for column in relation.pairs.T], names=out + into)


class Duck:
    """DuckDB with relations as tables in memory, or as Parquet files."""

    def __init__(self) -> None:
        self._connection = duckdb.connect()
        self._connection.execute(f"SET threads = {THREADS}")

    def load(self, name: str, relation: CellRelation) -> None:
        """A relation as a table in memory."""
        self._connection.register("pairs", as_arrow(relation))
        self._connection.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM pairs")
        self._connection.unregister("pairs")

    def scan(self, name: str, path: Path) -> None:
        """A Parquet file as a view."""
        text = str(path).replace("'", "''")
        self._connection.execute(f"CREATE OR REPLACE VIEW {name} AS SELECT * FROM '{text}'")

    def drop(self, name: str) -> None:
        """Forget a table."""
        self._connection.execute(f"DROP TABLE IF EXISTS {name}")

    def ask(
        self, path: Sequence[tuple[str, CellRelation, Direction]], cells: Cells
    ) -> Callable[[], Ints]:
        """A query ready to run: the distinct cells at the end of a path of tables.

        A single box is a filter; other cells are a table that is joined.
        """
        first, relation, direction = path[0]
        mine, _ = _sides(relation, direction)
        if len(cells) == 1:
            bounds = zip(mine, cells.lo[0].tolist(), cells.hi[0].tolist(), strict=True)
            where = " AND ".join(f"{name} BETWEEN {lo} AND {hi}" for name, lo, hi in bounds)
            given = f"FROM {first}" + (f" WHERE {where}" if where else "")
        else:
            points = cells.cells()
            self._connection.execute("DROP VIEW IF EXISTS asked")
            self._connection.register("asked", pa.table(list(points.T), names=mine))
            given = f"FROM {first} JOIN asked USING ({', '.join(mine)})"
        sql = _distinct(relation, direction, given)
        for number, (name, relation, direction) in enumerate(path[1:]):
            mine, _ = _sides(relation, direction)
            before = f"hop{number}({', '.join(mine)}) AS ({sql})"
            join = f"FROM {name} JOIN hop{number} USING ({', '.join(mine)})"
            sql = f"WITH {before} {_distinct(relation, direction, join)}"
        _, theirs = _sides(path[-1][1], path[-1][2])

        def run() -> Ints:
            found = self._connection.execute(sql).fetchnumpy()
            return np.stack([found[name] for name in theirs], axis=1).astype(np.int64)

        return run


def same_cells(found: Ints, cells: Cells) -> bool:
    """Whether DuckDB's rows are these cells."""
    return np.array_equal(sorted_unique(found, cells.shape), cells.cells())


def _sides(relation: CellRelation, direction: Direction) -> tuple[list[str], list[str]]:
    """The columns asked for, and those wanted."""
    out, into = columns_of(relation)
    return (out, into) if direction is Direction.backward else (into, out)


def _distinct(relation: CellRelation, direction: Direction, given: str) -> str:
    return f"SELECT DISTINCT {', '.join(_sides(relation, direction)[1])} {given}"
