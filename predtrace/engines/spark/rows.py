"""Selected source rows on Spark."""

from __future__ import annotations

import urllib.parse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from sqlglot import exp

from predtrace.engines.base import prepare_folder
from predtrace.engines.spark.source import address, spark_errors
from predtrace.engines.sql import trees
from predtrace.engines.sql.query import FILE
from predtrace.engines.sql.rows import FetchQuery, RowsQuery
from predtrace.engines.values import require_row_numbers, with_file_dictionary
from predtrace.jobs.model import Source

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


class Evaluating(Protocol):
    """The part of an evaluation that computes queries."""

    def dataframe(self, query: exp.Query) -> DataFrame:
        """The result of a query, computed when read."""


class SparkRows:
    """Selected source rows (see `base.Rows`)."""

    def __init__(
        self, evaluation: Evaluating, source: Source, query: RowsQuery | FetchQuery
    ) -> None:
        self._evaluation = evaluation
        self._source = source
        self._query = query

    def dataframe(self, columns: Sequence[str] | None = None) -> DataFrame:
        """The rows as a DataFrame, computed when read."""
        return self._evaluation.dataframe(self._query.rows(columns))

    def count(self) -> int:
        """The number of rows."""
        frame = self._evaluation.dataframe(self._query.count())
        with spark_errors():
            return int(frame.collect()[0][0])

    def head(self, limit: int, columns: Sequence[str] | None = None) -> pa.Table:
        """Any `limit` of the rows."""
        return _arrow(self.dataframe(columns).limit(limit))

    def to_arrow(self, columns: Sequence[str] | None = None) -> pa.Table:
        """All rows, collected to the driver."""
        return _arrow(self.dataframe(columns))

    def to_batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """All rows as a stream of batches; the driver holds one partition at a time."""
        import pyarrow as pa

        def packed(batches: Iterator[Any]) -> Iterator[Any]:
            # Runs on the workers; it is nested so that workers do not need this package.
            import pyarrow

            for batch in batches:
                sink = pyarrow.BufferOutputStream()
                with pyarrow.ipc.new_stream(sink, batch.schema) as writer:
                    writer.write_batch(batch)
                yield pyarrow.record_batch([[sink.getvalue().to_pybytes()]], ["batch"])

        with spark_errors():
            for row in self.dataframe(columns).mapInArrow(packed, "batch binary").toLocalIterator():
                yield from pa.ipc.open_stream(row["batch"])

    def row_ids(self) -> pa.Table:
        """The `file` (dictionary encoded) and `row` of each row."""
        require_row_numbers(self._source)
        found = with_file_dictionary(_arrow(self._evaluation.dataframe(self._query.row_ids())))
        return _with_local_paths(found)

    def row_id_batches(self) -> Iterator[pa.RecordBatch]:
        """The row ids as batches; the driver holds all of them."""
        yield from self.row_ids().to_batches()

    def write_parquet(self, folder: Path) -> None:
        """Write the rows as Parquet files into `folder`."""
        prepare_folder(folder)
        with spark_errors():
            self.dataframe().write.mode("append").parquet(address(str(folder)))

    def sql(self) -> str:
        """The query that selects the rows."""
        return trees.readable(self._query.rows(None), "spark")


def _arrow(frame: DataFrame) -> pa.Table:
    with spark_errors():
        return frame.toArrow()


def _with_local_paths(row_ids: pa.Table) -> pa.Table:
    """Spark's percent-encoded addresses as plain paths."""
    import pyarrow as pa

    index = row_ids.schema.get_field_index(FILE)
    if not row_ids.num_rows:
        return row_ids
    encoded = row_ids.column(index).unify_dictionaries().combine_chunks()
    plain = pa.array([local_path(value) for value in encoded.dictionary.to_pylist()], pa.string())
    decoded = pa.DictionaryArray.from_arrays(encoded.indices, plain)
    return row_ids.set_column(index, FILE, decoded)


def local_path(address: str) -> str:
    """A file's address without its scheme, if local, and without percent-encoding."""
    scheme, separator, rest = address.partition(":")
    if separator and scheme == "file":
        return "/" + urllib.parse.unquote(rest).lstrip("/")
    return urllib.parse.unquote(address)
