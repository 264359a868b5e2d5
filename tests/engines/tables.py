"""Small Parquet sources, stored tables and questions made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from predtrace.engines.base import BindingSource, ScanRequest, StoredBinding, TargetBinding, Targets
from predtrace.engines.values import arrow_type, target_table
from predtrace.jobs.model import EngineSettings, Source
from predtrace.jobs.snapshot import snapshot_files
from symbolic.expr import Column, Expr, Param

SETTINGS = EngineSettings(
    engine_version="4.3.0", time_zone="Europe/Berlin", ansi=True, case_sensitive=False
)
Row = tuple[Any, ...]


def write(
    file: Path, columns: Sequence[Column], rows: Sequence[Row], physical: bool = False
) -> None:
    """Write rows as Parquet, two rows in a row group."""
    file.parent.mkdir(parents=True, exist_ok=True)
    arrays = [
        pa.array([row[index] for row in rows], arrow_type(column.type))
        for index, column in enumerate(columns)
    ]
    names = [f"c{column.id}" if physical else column.name for column in columns]
    pq.write_table(pa.table(arrays, names=names), file, row_group_size=2)


def source(name: str, root: Path, columns: Sequence[Column], **more: Any) -> Source:
    """A Parquet source as it is now."""
    return Source(
        name=name,
        format="parquet",
        roots=(str(root),),
        files=snapshot_files([str(root)]),
        columns=tuple(columns),
        **more,
    )


def targets(columns: Sequence[Column], rows: Sequence[tuple[int, Row]], numbered: bool) -> Targets:
    """Target rows, each with its number."""
    by_id = [(n, {c.id: v for c, v in zip(columns, row, strict=True)}) for n, row in rows]
    return Targets(target_table(columns, by_id), columns, numbered)


def stored(
    folder: Path,
    columns: Sequence[Column],
    rows: Sequence[Row],
    predicate: Expr,
    parent: BindingSource | None = None,
) -> StoredBinding:
    """A stored table with these rows, and how its rows are looked up."""
    write(folder / "part-0.parquet", columns, rows, physical=True)
    return StoredBinding(
        folder=str(folder),
        columns=tuple(columns),
        predicate=predicate,
        parent=parent or TargetBinding(),
    )


def request(
    of: Source, columns: Sequence[Column], predicate: Expr, binding: BindingSource | None = None
) -> ScanRequest:
    """A request for a scan; by default the target binds its params."""
    return ScanRequest(
        source=of, columns=tuple(columns), predicate=predicate, binding=binding or TargetBinding()
    )


def param(column: Column, binding: int = 0) -> Param:
    """The param that takes a column's value."""
    return Param(binding, column.id, column.name, column.type)


def pairs(row_ids: pa.Table) -> set[tuple[Any, ...]]:
    """Row ids as a set of (target,) file name and row; none may repeat."""
    rows: list[Mapping[str, Any]] = row_ids.to_pylist()
    found = [
        (*([row["target"]] if "target" in row else []), Path(row["file"]).name, row["row"])
        for row in rows
    ]
    assert len(found) == len(set(found))
    return set(found)
