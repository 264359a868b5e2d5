"""Reads a stored output back as the pipeline would have given it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pushdown.graph import OperatorGraph
from pushdown.operators import Sort
from symbolic import types as t
from symbolic.expr import Column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def stored_name(column: int) -> str:
    """The name of a column in stored files."""
    return f"c{column}"


def stored_path(folder: Path) -> str:
    """The address of a local folder for Spark, independent of the default file system."""
    return f"file://{folder.resolve()}"


def read_stored(spark: SparkSession, folder: Path, schema: Any = None) -> DataFrame:
    """The stored files of a folder, columns under their stored names.

    Without a `schema` (in Spark's JSON form) a Spark job infers it from a file.
    """
    # Without globbing: a folder may be called a[1] or a*b.
    reader = spark.read.option("__globPaths__", "false")
    if schema is not None:
        from pyspark.sql.types import StructType

        reader = reader.schema(StructType.fromJson(schema))
    return reader.parquet(stored_path(folder))


def read_output(
    spark: SparkSession,
    folder: Path,
    columns: Sequence[Column],
    names: Sequence[str],
    ordered: bool,
    schema: Any = None,
) -> DataFrame:
    """The output stored in `folder`, with its names (also repeated ones), types and order.

    `ordered` restores the order in which the rows were written, from file names and row numbers.
    `schema` is the schema of the files, as in `read_stored`.
    """
    from pyspark.sql import functions as f

    stored = read_stored(spark, folder, schema)
    if ordered:
        stored = stored.orderBy("_metadata.file_name", "_metadata.row_index")
    # Parquet has no void type: such columns are all NULL.
    selected = [
        f.lit(None) if isinstance(column.type, t.Null) else stored[stored_name(column.id)]
        for column in columns
    ]
    return stored.select(*selected).toDF(*names)


def is_ordered(graph: OperatorGraph) -> bool:
    """Whether a Sort gives the order of the graph's output."""
    node = graph.root
    while True:
        operator = graph[node]
        if isinstance(operator, Sort):
            return True
        if not operator.keeps_order:
            return False
        (node,) = graph.inputs(node)
