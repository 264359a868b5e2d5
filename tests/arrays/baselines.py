"""Sizes of a relation as other formats store it."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from predtrace.arrays.relation import CellRelation

DELTA = {"use_dictionary": False, "column_encoding": "DELTA_BINARY_PACKED"}


def raw(relation: CellRelation) -> int:
    """A .npy file of the pairs."""
    sink = io.BytesIO()
    np.save(sink, relation.pairs)
    return sink.tell()


def parquet(relation: CellRelation, **style: object) -> int:
    columns = [f"c{axis}" for axis in range(relation.pairs.shape[1])]
    sink = io.BytesIO()
    pq.write_table(pa.table(list(relation.pairs.T), columns), sink, **style)
    return sink.tell()


def sizes(relation: CellRelation) -> dict[str, int]:
    relation = relation.normalized()
    if not relation.pairs.shape[1]:
        return {"raw": raw(relation)}
    return {
        "raw": raw(relation),
        "Parquet": parquet(relation),
        "Parquet, plain": parquet(relation, compression="none"),
        "Parquet, gzip": parquet(relation, compression="gzip"),
        "Parquet, zstd": parquet(relation, compression="zstd"),
        "Parquet, delta": parquet(relation, compression="none", **DELTA),
        "Parquet, delta, zstd": parquet(relation, compression="zstd", **DELTA),
    }
