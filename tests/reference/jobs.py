"""Jobs made by hand from a graph, its plans and the reference's own results."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from predtrace.inference.plan import LineagePlan
from predtrace.jobs.model import (
    EngineSettings,
    Job,
    Source,
    StoredIntermediate,
    StoredResult,
)
from predtrace.jobs.results import stored_result
from predtrace.jobs.snapshot import snapshot_files
from predtrace.jobs.store import JobStore
from pushdown.graph import OperatorGraph
from symbolic.expr import Column
from symbolic.types import Boolean, DataType, Date, Decimal, Float, Integer, String, Timestamp
from tests.reference.plans import project
from tests.reference.tracer import ReferenceResult
from tests.reference.values import Row

SETTINGS = EngineSettings(engine_version="4", time_zone="UTC", ansi=True, case_sensitive=True)


def arrow_type(data_type: DataType) -> pa.DataType:
    """The Arrow type that Spark writes the type as."""
    match data_type:
        case Boolean():
            return pa.bool_()
        case Integer(bits):
            return {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[bits]
        case Float(bits):
            return pa.float32() if bits == 32 else pa.float64()
        case Decimal(precision, scale):
            return pa.decimal128(precision, scale)
        case String():
            return pa.string()
        case Date():
            return pa.date32()
        case Timestamp(zoned):
            return pa.timestamp("us", tz="UTC" if zoned else None)
        case _:
            raise ValueError(f"no Arrow type for {data_type}")


def write_table(path: Path, columns: Mapping[str, DataType], rows: Sequence[Row]) -> None:
    """Write the rows as one Parquet file."""
    arrays = [
        pa.array([row[place] for row in rows], arrow_type(data_type))
        for place, data_type in enumerate(columns.values())
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_arrays(arrays, names=list(columns)), path)


def store_result(
    folder: Path, name: str, columns: Sequence[Column], rows: Sequence[Row]
) -> StoredResult:
    """Store rows under the physical names of the columns."""
    file = folder / name / "part-0.parquet"
    write_table(file, {f"c{column.id}": column.type for column in columns}, rows)
    return stored_result(folder, name, columns)


def write_source(
    folder: Path, name: str, columns: Sequence[Column], rows: Sequence[Row], files: int = 1
) -> Source:
    """Write a source table, its rows spread over files in order, and describe it."""
    place = folder / f"{name}.parquet"
    types = {column.name: column.type for column in columns}
    if files == 1:
        write_table(place, types, rows)
    for number in range(files if files > 1 else 0):
        start, end = (len(rows) * part // files for part in (number, number + 1))
        write_table(place / f"part-{number}.parquet", types, rows[start:end])
    roots = (str(place),)
    return Source(
        name=name,
        format="parquet",
        roots=roots,
        files=snapshot_files(roots),
        columns=tuple(columns),
    )


def store_job(
    folder: Path,
    graph: OperatorGraph,
    tables: Mapping[str, Sequence[Row]],
    runs: Sequence[tuple[LineagePlan, ReferenceResult]],
    files: int = 1,
) -> tuple[Path, str]:
    """Save a job for the plans, each with a reference run that kept all outputs.

    Every source has so many `files`. Returns the store's path and the job's id.
    """
    scans = {scan.table: scan for scan in graph.scans()}
    sources = tuple(
        write_source(folder / "sources", name, scan.columns, tables[name], files)
        for name, scan in sorted(scans.items())
    )
    store = folder / "store"
    with JobStore(store).begin() as writer:
        stored = [
            StoredIntermediate(
                aggregates=plan.aggregates,
                binding=kept.binding,
                result=store_result(
                    writer.folder,
                    f"{plan.aggregates}-{kept.binding}",
                    kept.columns,
                    project(reference.outputs[kept.node], graph.output(kept.node), kept.columns),
                ),
            )
            for plan, reference in runs
            for kept in plan.intermediates
        ]
        output = store_result(writer.folder, "output", graph.output(), runs[0][1].rows)
        writer.commit(
            Job(
                id=writer.id,
                created=dt.datetime.now(dt.UTC).isoformat(),
                query="made by hand",
                keep="inline",
                graph=graph.operators(),
                root=graph.root,
                plans=tuple(plan for plan, _ in runs),
                sources=sources,
                settings=SETTINGS,
                intermediates=tuple(stored),
                output=output,
            )
        )
        return store, writer.id
