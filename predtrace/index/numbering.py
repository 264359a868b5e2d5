"""One range of numbers for the rows of a source, file after file in the order of the snapshot.

The number of a row is its number in its file (``file_row_number`` in DuckDB,
``_metadata.row_index`` in Spark) plus the number of rows in the files before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from predtrace.engines.sql.query import FILE, ROW
from predtrace.errors import EngineError
from predtrace.jobs.model import Source
from predtrace.packed.boxes import Ints

if TYPE_CHECKING:
    import pyarrow as pa


class RowNumbers:
    """The numbers of a source's rows, from 0.

    Raises EngineError for formats whose rows have none (all but Parquet).
    """

    def __init__(self, source: Source) -> None:
        counts = [file.rows for file in source.files if file.rows is not None]
        if len(counts) < len(source.files):
            raise EngineError(
                f"source {source.name} is {source.format}, which has no row numbers; take the "
                "rows themselves (mode='stored'), or keep the source as Parquet"
            )
        self._source = source
        self._paths = [file.path for file in source.files]
        self._starts: Ints = np.cumsum([0, *counts], dtype=np.int64)

    def __len__(self) -> int:
        return int(self._starts[-1])

    def of(self, ids: pa.Table | pa.RecordBatch) -> Ints:
        """The numbers of rows given by ``file`` (a path) and ``row`` (from 0 in the file).

        Raises EngineError for a file that is not one of the source's.
        """
        rows: Ints = np.asarray(ids.column(ROW).to_numpy(), np.int64)
        if len(self._paths) < 2 or not len(rows):
            return rows
        return rows + self._starts[self._file_numbers(ids.column(FILE))]

    def _file_numbers(self, files: pa.Array | pa.ChunkedArray) -> Ints:
        import pyarrow as pa
        import pyarrow.compute as pc

        if isinstance(files, pa.ChunkedArray):
            files = files.unify_dictionaries().combine_chunks()
        if not pa.types.is_dictionary(files.type):
            files = files.dictionary_encode()
        known = pc.index_in(files.dictionary.cast(pa.string()), value_set=pa.array(self._paths))
        if known.null_count:
            strange = files.dictionary.filter(known.is_null())[0]
            raise EngineError(f"{strange} is not a file of source {self._source.name}")
        numbers: Ints = known.to_numpy().astype(np.int64)[files.indices.to_numpy()]
        return numbers

    def ids(self, numbers: Ints) -> pa.Table:
        """Rows as ``file`` (dictionary encoded) and ``row``, in the order of the numbers."""
        import pyarrow as pa

        if len(self._paths) < 2:
            files, rows = np.zeros(len(numbers), np.int32), numbers
        else:
            files = (np.searchsorted(self._starts, numbers, side="right") - 1).astype(np.int32)
            rows = numbers - self._starts[files]
        paths = pa.DictionaryArray.from_arrays(pa.array(files), pa.array(self._paths, pa.string()))
        return pa.table({FILE: paths, ROW: pa.array(rows)})
