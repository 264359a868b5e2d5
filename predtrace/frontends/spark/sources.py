"""Relations of files at the leaves of a plan: their names and their files."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from urllib.parse import unquote, urlparse

from predtrace.errors import SourceError, UnsupportedOperatorError
from predtrace.frontends.spark.catalyst import (
    JavaObject,
    class_name,
    items,
    option,
    place,
    read_strings,
)
from predtrace.frontends.spark.files_read import FilesRead
from predtrace.frontends.spark.leaves import Leaf
from predtrace.frontends.spark.source_book import Relation
from predtrace.frontends.spark.tree import Node
from predtrace.jobs.declared import declared_facts
from predtrace.jobs.model import SourceFile

FILE_FORMATS = {
    "ParquetFileFormat": "parquet",
    "CSVFileFormat": "csv",
    "JsonFileFormat": "json",
    "OrcFileFormat": "orc",
    "ParquetTable": "parquet",
    "CSVTable": "csv",
    "JsonTable": "json",
    "OrcTable": "orc",
}
"""Class of a file format (data source version 1) or table (version 2): the format's name."""

REFUSED_LEAVES = {
    "InMemoryRelation": "it is a cached result; trace the DataFrame it was made from",
    "HiveTableRelation": "it is a Hive serde table; "
    "use a table stored as Parquet, ORC, CSV or JSON through Spark",
    "StreamingRelation": "streaming sources are not traced; use a batch read",
    "StreamingRelationV2": "streaming sources are not traced; use a batch read",
}
"""Refused leaves, with the reason and the way out."""


def read_relation(node: Node, leaf: Leaf, read: FilesRead | None = None) -> Relation:
    """The files that a ``LogicalRelation`` or version-2 relation reads.

    With `read` these are the files that an executed scan read, else those that there are. Raises
    UnsupportedOperatorError if it is not made of files of a known format, SourceError if its files
    changed.
    """
    version = _version_1 if node.cls == "LogicalRelation" else _version_2
    relation, index = version(node, leaf)
    chosen = None if read is None else read.paths(relation.roots)
    several = len(relation.roots) > 1 and relation.partition_columns
    if chosen is None or several:
        roots = _roots(index, relation.roots, relation.partition_columns)
        return replace(relation, roots=roots)
    return _of_files(relation, chosen)


def _of_files(relation: Relation, files: tuple[str, ...]) -> Relation:
    """The relation of just these files; partition columns come from folders below its root."""
    names = {name.lower() for name, _ in relation.options}
    if files and relation.partition_columns and "basepath" not in names:
        options = (*relation.options, ("basePath", relation.roots[0]))
        return replace(relation, roots=files, options=tuple(sorted(options)))
    return replace(relation, roots=files)


def _version_1(node: Node, leaf: Leaf) -> tuple[Relation, JavaObject]:
    """What a relation was asked to read, and Spark's list of its files."""
    relation = node.handle.relation()
    if class_name(relation) != "HadoopFsRelation":
        raise _refusal(node, f"a {class_name(relation)} is not made of files")
    partition_columns = _field_names(relation.partitionSchema())
    given = _canonical(relation.location().rootPaths())
    table = option(node.handle.catalogTable())
    named = _catalog_names(table) if table is not None else _view_names(leaf)
    found = Relation(
        names=(*named, *_path_names(given)),
        format=_format(node, class_name(relation.fileFormat())),
        roots=given,
        options=_options(relation.options()),
        partition_columns=partition_columns,
        declared=declared_facts(str(relation.schema().json())),
    )
    return found, relation.location()


def _version_2(node: Node, leaf: Leaf) -> tuple[Relation, JavaObject]:
    table = node.handle.table()
    file_format = _format(node, class_name(table))
    partition_columns = _field_names(table.fileIndex().partitionSchema())
    given = _canonical(table.fileIndex().rootPaths())
    found = Relation(
        names=(*_view_names(leaf), *_path_names(given)),
        format=file_format,
        roots=given,
        options=tuple(sorted((str(k), str(v)) for k, v in node.handle.options().items())),
        partition_columns=partition_columns,
        declared=declared_facts(str(table.schema().json())),
    )
    return found, table.fileIndex()


def _format(node: Node, cls: str) -> str:
    if cls not in FILE_FORMATS:
        known = ", ".join(sorted(set(FILE_FORMATS.values())))
        raise _refusal(node, f"{cls} is none of the formats {known}")
    return FILE_FORMATS[cls]


def _refusal(node: Node, why: str) -> UnsupportedOperatorError:
    return UnsupportedOperatorError(
        f"Catalyst operator {node.cls} cannot be traced: {why}; "
        f"write the data to Parquet and read that{place(node.handle)}"
    )


def _roots(
    index: JavaObject, roots: tuple[str, ...], partition_columns: Sequence[str]
) -> tuple[str, ...]:
    """The paths that contain all files that Spark reads, and no other files.

    These are the `roots` that Spark was given, unless it skips files under them (by a pattern, by
    age, or in a subfolder that is not a partition) or reads hidden files. Then they are the files
    themselves. Raises SourceError if no such paths exist, or if a file is read twice: its rows
    could not be distinguished.
    """
    if any("://" in root for root in roots):
        return roots
    read = [unquote(urlparse(file).path) for file in read_strings(index.inputFiles())]
    twice = next((file for file, times in Counter(read).items() if times > 1), None)
    if twice is not None:
        raise SourceError(
            f"{twice} is read twice by one source; read it once, or as two sources and their union"
        )
    gone = next((file for file in read if not os.path.exists(file)), None)
    if gone is not None:
        raise SourceError(
            f"{gone} is gone since Spark listed the source's files; read the source again"
        )
    listed = {file.path for file in _files(roots)}
    different = sorted(listed ^ set(read))
    if not different:
        return roots
    if partition_columns or not read:
        verb = "does not read" if different[0] in listed else "reads"
        raise SourceError(
            f"Spark {verb} {different[0]}, which lies under {', '.join(roots)}; move it elsewhere, "
            "or read without pathGlobFilter, modifiedBefore, modifiedAfter and a pattern of its "
            "own for hidden names"
        )
    return tuple(sorted(read))


def _files(roots: Sequence[str]) -> Iterable[SourceFile]:
    from predtrace.jobs import snapshot

    return snapshot.listed_files(roots)


def _canonical(paths: JavaObject) -> tuple[str, ...]:
    """A Scala Seq of Hadoop paths without percent-encoding; local ones without a scheme."""
    # Hadoop's own text of a path is not encoded. Like every path it has no character 0.
    texts = str(paths.mkString("\0")).split("\0") if paths.nonEmpty() else []
    return tuple(text.removeprefix("file:") for text in texts)


def _field_names(schema: JavaObject) -> tuple[str, ...]:
    return tuple(field["name"] for field in json.loads(schema.json())["fields"])


def _catalog_names(table: JavaObject) -> tuple[str, ...]:
    """The names of a catalog's table, from short to long."""
    identifier = table.identifier()
    database, name = option(identifier.database()), str(identifier.table())
    if database is None:
        return (name,)
    full = f"{database}.{name}"
    return (name, full) if database == "default" else (full,)


def _view_names(leaf: Leaf) -> tuple[str, ...]:
    return () if leaf.view is None else (leaf.view,)


def _path_names(roots: Sequence[str]) -> tuple[str, ...]:
    """The names of files by their path, from short to long: ``t``, ``old/t``, ``data/old/t``."""
    paths = [urlparse(root).path if "://" in root else root for root in roots]
    common = paths[0] if len(paths) == 1 else os.path.commonpath(paths)
    *above, base = [part for part in common.split("/") if part] or [common]
    short = base.split(".", 1)[0] or base
    return tuple("/".join((*above[start:], short)) for start in range(len(above), -1, -1))


def _options(scala_map: JavaObject) -> tuple[tuple[str, str], ...]:
    if scala_map.isEmpty():
        return ()
    pairs = [(str(pair._1()), str(pair._2())) for pair in items(scala_map.toSeq())]
    return tuple(sorted(pair for pair in pairs if pair[0] not in ("path", "paths")))
