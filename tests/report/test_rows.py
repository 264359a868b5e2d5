"""Rows as plain data and as text."""

from __future__ import annotations

import pyarrow as pa
from rich.console import Console

from predtrace.report.rows import rows_data, rows_table

BEYOND = [-719_163, 2_932_897, 0, None]
SHOWN = ["0000-12-31", "10000-01-01", "1970-01-01", None]


def test_dates_that_python_lacks() -> None:
    days = pa.array(BEYOND, pa.int32()).cast(pa.date32())
    nested = pa.array([[{"day": day}] for day in BEYOND], _list_of("day", pa.int32()))
    table = pa.table({"day": days, "nested": nested.cast(_list_of("day", pa.date32()))})
    assert rows_data(table)["rows"] == [[text, [{"day": text}]] for text in SHOWN]
    console = Console(width=80, record=True)
    console.print(rows_table(table, 80))
    assert "10000-01-01" in console.export_text()


def _list_of(name: str, data_type: pa.DataType) -> pa.DataType:
    return pa.list_(pa.struct([pa.field(name, data_type)]))
