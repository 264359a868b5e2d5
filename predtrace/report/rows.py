"""Tables of rows that fit the width of the screen, and rows as plain data."""

from __future__ import annotations

import base64
import datetime
import math
from typing import TYPE_CHECKING, Any

from predtrace.text.printable import printable

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Group

CELL_WIDTH = 32
_GAP = 2


def rows_data(table: pa.Table) -> dict[str, Any]:
    """An Arrow table as plain data for JSON: column names (repeated ones too) and rows."""
    columns = [[json_value(value) for value in _values(column)] for column in table.columns]
    rows = [list(row) for row in zip(*columns, strict=True)] if columns else []
    return {"columns": list(table.column_names), "rows": rows}


def _values(column: pa.ChunkedArray) -> list[Any]:
    """Python values; text for dates and times outside the years 1 to 9999."""
    try:
        values: list[Any] = column.to_pylist()
    except OverflowError:
        return [_value(scalar) for scalar in column]
    return values


def _value(scalar: pa.Scalar) -> Any:
    import pyarrow as pa

    try:
        return scalar.as_py()
    except OverflowError:
        if pa.types.is_temporal(scalar.type):
            return scalar.cast(pa.string()).as_py()
        if pa.types.is_struct(scalar.type):
            return {name: _value(part) for name, part in scalar.items()}
        return [_value(part) for part in scalar]


def json_value(value: Any) -> Any:
    """A value for JSON: exact decimals, times and non-finite floats become text."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return [json_value(item) for item in value]
    if isinstance(value, dict):
        return {str(key): json_value(item) for key, item in value.items()}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return cell(value)


def cell(value: Any) -> str:
    """A value as text in a table."""
    if value is None:
        return "NULL"
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, bytes):
        return "0x" + value.hex()
    # A cell is one line.
    return printable(" ".join(str(value).split("\n")))


def rows_table(table: pa.Table, width: int) -> Group:
    """The rows as a table of at most `width` characters; columns that do not fit are named."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    names = [printable(name) for name in table.column_names]
    texts = [[cell(value) for value in _values(column)] for column in table.columns]
    widths = [
        min(CELL_WIDTH, max(map(len, [name, *column])))
        for name, column in zip(names, texts, strict=True)
    ]
    shown = _fitting(widths, width)
    grid = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for name, column_width, column in list(zip(names, widths, texts, strict=True))[:shown]:
        right = bool(column) and all(_numeric(text) for text in column)
        grid.add_column(
            Text(name),
            no_wrap=True,
            overflow="ellipsis",
            max_width=column_width,
            justify="right" if right else "left",
        )
    for row in zip(*texts[:shown], strict=True):
        grid.add_row(*(Text(text) for text in row))
    hidden = names[shown:]
    if not hidden:
        return Group(grid)
    return Group(grid, Text(f"and the columns {', '.join(hidden)}", style="dim"))


def _fitting(widths: list[int], width: int) -> int:
    """The number of columns that fit; at least one."""
    used = 0
    for count, column in enumerate(widths):
        used += column + _GAP
        if used > width and count:
            return count
    return len(widths)


def _numeric(text: str) -> bool:
    return text == "NULL" or text.lstrip("-").replace(".", "", 1).isdigit()
