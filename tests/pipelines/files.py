"""The source tables as files: Parquet, CSV, JSON, and folders by partition."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.pipelines.data import Row, Table


def write(folder: Path, made: Mapping[str, Table]) -> None:
    """The tables as ``name.parquet``, ``name.csv``, ``name.json`` or as a folder ``name``."""
    for name, table in made.items():
        _WRITERS.get(table.form, _write_folders)(folder, name, table)


def _arrow(table: Table, rows: list[Row], names: list[str]) -> Any:
    import pyarrow as pa

    types = {
        "int": pa.int32(),
        "long": pa.int64(),
        "double": pa.float64(),
        "text": pa.string(),
        "texts": pa.list_(pa.string()),
        "decimal": pa.decimal128(10, 2),
        "date": pa.date32(),
        "time": pa.timestamp("us", tz="UTC"),
        "bool": pa.bool_(),
    }
    all_names = list(table.columns)
    arrays = []
    for name in names:
        values = [row[all_names.index(name)] for row in rows]
        if table.columns[name] == "time":
            values = [v if v is None else v.replace(tzinfo=dt.UTC) for v in values]
        arrays.append(pa.array(values, types[table.columns[name]]))
    return pa.Table.from_arrays(arrays, names=names)


def _write_parquet(folder: Path, name: str, table: Table) -> None:
    import pyarrow.parquet as pq

    pq.write_table(_arrow(table, table.rows, list(table.columns)), folder / f"{name}.parquet")


def _write_folders(folder: Path, name: str, table: Table) -> None:
    import pyarrow.parquet as pq

    names = list(table.columns)
    keys = table.form.split()
    places = [names.index(key) for key in keys]
    groups: dict[Row, list[Row]] = {}
    for row in table.rows:
        groups.setdefault(tuple(row[place] for place in places), []).append(row)
    for values, rows in groups.items():
        pairs = zip(keys, values, strict=True)
        place = folder.joinpath(name, *(f"{key}={value}" for key, value in pairs))
        place.mkdir(parents=True)
        rest = [column for column in names if column not in keys]
        pq.write_table(_arrow(table, rows, rest), place / "part-0.parquet")


def _write_csv(folder: Path, name: str, table: Table) -> None:
    """Texts in quotes, with backslashes before quotes in them; NULL as nothing."""

    def shown(value: Any) -> str:
        if isinstance(value, str):
            return '"' + value.replace('"', '\\"') + '"'
        return "" if value is None else f"{value}"

    lines = [",".join(map(shown, row)) for row in (tuple(table.columns), *table.rows)]
    (folder / f"{name}.csv").write_text("\n".join([*lines, ""]), encoding="utf-8")


def _write_json(folder: Path, name: str, table: Table) -> None:
    with (folder / f"{name}.json").open("w", encoding="utf-8") as file:
        for row in table.rows:
            pairs = zip(table.columns, row, strict=True)
            file.write(json.dumps({k: v for k, v in pairs if v is not None}) + "\n")


_WRITERS = {"parquet": _write_parquet, "csv": _write_csv, "json": _write_json}
