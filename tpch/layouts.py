"""The same TPC-H rows as other Parquet: sorted or not, in one file or many, with bloom filters.

The layout of the sources decides what a question for few rows need not read. A layout is a data
folder like any other (see `tpch.data`), so everything runs on it in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import duckdb

from tpch.data import TABLES, build_folder, read_marker, table_path
from tpch.errors import TpchError

ROW_GROUP = 122_880
"""Rows of a row group, in every layout."""
_FILES = 16
_LARGE = ("part", "partsupp", "customer", "orders", "lineitem")
_VERSION = 1
"""Raise this when the contents of a layout change."""
# A mix of the row's number: neighbours come apart, and every run gives the same order.
_MIXED = "(file_row_number + 1) * 2654435761 % 4294967296"


class Layout(NamedTuple):
    """How tables are written. Rows come in the order of their keys unless they are `mixed`.

    `files` is the number of files of a large table. `filters` says that every column has bloom
    filters. `partitions` are the columns of a table that are in its folders' names.
    """

    meaning: str
    mixed: bool = False
    files: int = 1
    filters: bool = False
    partitions: Mapping[str, Sequence[str]] = MappingProxyType({})


LAYOUTS: Mapping[str, Layout] = {
    "sorted": Layout("rows in the order of their keys, one file a table"),
    "files": Layout(f"the same, large tables in {_FILES} files", files=_FILES),
    "partitioned": Layout(
        "the same, partitioned by columns that queries group by or filter",
        partitions={
            "lineitem": ["l_returnflag", "l_linestatus"],
            "orders": ["o_orderpriority"],
            "customer": ["c_mktsegment"],
        },
    ),
    "mixed": Layout("rows in no order: statistics tell nothing", mixed=True),
    "filters": Layout("the same, with bloom filters", mixed=True, filters=True),
}


def write_layout(folder: Path, name: str, out: Path | None = None) -> Path:
    """Write the data of `folder` in a layout, unless that is there already; its folder.

    Raises TpchError for a layout that there is not.
    """
    if name not in LAYOUTS:
        raise TpchError(f"there is no layout {name}; choose from {', '.join(LAYOUTS)}")
    marker = {**(read_marker(folder) or {}), "layout": name, "version": _VERSION}

    def fill(temporary: Path) -> None:
        with duckdb.connect() as database:
            database.execute("SET enable_progress_bar = false")
            for table in TABLES:
                _write(database, LAYOUTS[name], folder, table, temporary)

    return build_folder(out or folder.with_name(f"{folder.name}-{name}"), marker, fill)


def _write(
    database: duckdb.DuckDBPyConnection, layout: Layout, folder: Path, table: str, out: Path
) -> None:
    source = database.from_parquet(str(table_path(folder, table)), file_row_number=True)
    order = _MIXED if layout.mixed else "file_row_number"
    path = out / f"{table}.parquet"
    options = ["FORMAT parquet", f"ROW_GROUP_SIZE {ROW_GROUP}"]
    if layout.filters:
        # DuckDB writes filters for what has a dictionary; so may columns of different values.
        options.append(f"DICTIONARY_SIZE_LIMIT {ROW_GROUP}")
    if table in layout.partitions:
        options.append(f"PARTITION_BY ({', '.join(layout.partitions[table])})")
    files = layout.files if table in _LARGE else 1
    if files > 1:
        path.mkdir()
    ((count,),) = source.aggregate("count(*)").fetchall()
    for number in range(files):
        first, end = number * count // files, (number + 1) * count // files
        part = source.filter(f"file_row_number >= {first} AND file_row_number < {end}")
        part.order(order).project("* EXCLUDE (file_row_number)").create_view("part_rows")
        target = path / f"part-{number:02}.parquet" if files > 1 else path
        database.execute(f"COPY part_rows TO $path ({', '.join(options)})", {"path": str(target)})
        database.execute("DROP VIEW part_rows")
