"""Answers about cells: for each source column, the cells of its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from predtrace.arrays.cells import Cells
from predtrace.errors import PredTraceError
from predtrace.text.printable import printable
from predtrace.vocabulary import PRECISE, SUPERSET

if TYPE_CHECKING:
    import pyarrow as pa

    from predtrace.lineage.rows import ScanRows

RowId = tuple[str, int]
"""A source row: its file (a local path) and its number in it, from 0."""
Position = tuple[int, ...]


class SourceCells:
    """The cells of one column of one scan.

    `rows` gives the cells by source row; None stands for all cells of all lineage rows of the scan.
    The value of a column that is not an array is the one cell ``()``.
    """

    def __init__(self, scan: ScanRows, column: str, rows: Mapping[RowId, Cells] | None) -> None:
        self.scan = scan
        self.column = column
        self.rows = rows

    @property
    def everything(self) -> bool:
        """Whether all cells of all lineage rows of the scan count; they are then not listed."""
        return self.rows is None

    def positions(self) -> dict[RowId, list[Position]]:
        """The positions of the cells by source row, in order.

        Raises PredTraceError if all cells of the rows count: they are not listed.
        """
        if self.rows is None:
            raise PredTraceError(
                f"all cells of {self.scan.table}.{self.column} count in all rows of "
                f"lineage.scan({self.scan.table!r}, {self.scan.occurrence}); read them there"
            )
        return {
            row: [tuple(cell) for cell in sorted(set(map(tuple, cells.cells().tolist())))]
            for row, cells in self.rows.items()
        }

    def to_arrow(self) -> pa.Table:
        """The cells as a table of `file`, `row` and `position`, NULL for all cells of a row."""
        import pyarrow as pa

        kinds = {"file": pa.string(), "row": pa.int64(), "position": pa.list_(pa.int64())}
        if self.rows is None:
            ids = self.scan.row_ids().select(["file", "row"])
            nothing = pa.nulls(ids.num_rows, kinds["position"])
            return ids.append_column("position", nothing).cast(pa.schema(kinds))
        found = [
            (file, row, list(position))
            for (file, row), positions in self.positions().items()
            for position in positions
        ]
        columns = zip(*found, strict=True) if found else ((), (), ())
        arrays = [pa.array(c, kind) for c, kind in zip(columns, kinds.values(), strict=True)]
        return pa.Table.from_arrays(arrays, schema=pa.schema(kinds))

    def __repr__(self) -> str:
        rows = "all" if self.rows is None else sum(map(Cells.count, self.rows.values()))
        name = f"{self.scan.table}[{self.scan.occurrence}].{self.column}"
        return f"<SourceCells of {printable(name)}: {rows}>"


class CellLineage:
    """The cells of source columns that cells of an output column were made of.

    `label` is ``precise`` or ``superset``; `reasons` say why it is a superset.
    """

    def __init__(self, column: str, sources: Sequence[SourceCells], reasons: Sequence[str]) -> None:
        self.column = column
        self.sources = tuple(sources)
        self.reasons = tuple(reasons)

    @property
    def label(self) -> str:
        """The label for all sources together."""
        return SUPERSET if self.reasons else PRECISE

    def source(self, table: str, column: str, occurrence: int | None = None) -> SourceCells:
        """The cells of one source column; `table` may be an alias, as in `Lineage.scan`.

        Raises PredTraceError if no scan's column of that name, or more than one, is in the answer.
        """
        named = [cells for cells in self.sources if cells.scan.table == table]
        named = named or [cells for cells in self.sources if cells.scan.alias == table]
        found = [
            cells
            for cells in named
            if cells.column == column and occurrence in (None, cells.scan.occurrence)
        ]
        if len(found) == 1:
            return found[0]
        problem = "several scans" if found else "no cells"
        raise PredTraceError(
            f"{problem} of {table}.{column} in the answer; it has {self._listed()}"
        )

    def _listed(self) -> str:
        names = (
            f"{cells.scan.table}[{cells.scan.occurrence}].{cells.column}" for cells in self.sources
        )
        return ", ".join(names) or "none"

    def __repr__(self) -> str:
        return printable(f"<CellLineage of {self.column}, {self.label}: {self._listed()}>")
