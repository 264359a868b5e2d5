"""File relations at the leaves of a plan: their names and their files."""

from __future__ import annotations

import itertools
import json
import os
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
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
from predtrace.frontends.spark.leaves import Leaf
from predtrace.frontends.spark.tree import Node
from predtrace.jobs.formats import refusal
from predtrace.jobs.model import Source, SourceFile
from symbolic.expr import Column
from symbolic.types import DataType

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
    "LogicalRDD": "it reads rows made by Python, an RDD or a checkpoint, which have no stored "
    "source; write them to Parquet and read that back, or trace what was before its checkpoint",
    "LocalRelation": "it holds literal rows, which have no stored source; "
    "write them to Parquet and read that back",
    "Range": "it makes numbers, which have no stored source; "
    "write them to Parquet and read that back",
    "InMemoryRelation": "it is a cached result; trace the DataFrame it was made from",
    "HiveTableRelation": "it is a Hive serde table; "
    "use a table stored as Parquet, ORC, CSV or JSON through Spark",
    "StreamingRelation": "streaming sources are not traced; use a batch read",
    "StreamingRelationV2": "streaming sources are not traced; use a batch read",
}
"""Refused leaves, with the reason and the way out."""


@dataclass(frozen=True)
class FileRelation:
    """The files that a leaf reads, before their snapshot is taken."""

    name: str
    format: str
    roots: tuple[str, ...]
    options: tuple[tuple[str, str], ...]
    partition_columns: tuple[str, ...]


def read_relation(node: Node, leaf: Leaf) -> FileRelation:
    """The files that a ``LogicalRelation`` or version-2 relation reads.

    Raises UnsupportedOperatorError if it is not made of files of a known format.
    """
    if node.cls == "LogicalRelation":
        return _version_1(node, leaf)
    return _version_2(node, leaf)


def _version_1(node: Node, leaf: Leaf) -> FileRelation:
    relation = node.handle.relation()
    if class_name(relation) != "HadoopFsRelation":
        raise _refusal(node, f"a {class_name(relation)} is not made of files")
    partition_columns = _field_names(relation.partitionSchema())
    given = _canonical(relation.location().rootPaths())
    table = option(node.handle.catalogTable())
    name = _catalog_name(table) if table is not None else leaf.view or _path_name(given)
    return FileRelation(
        name=name,
        format=_format(node, class_name(relation.fileFormat())),
        roots=_roots(relation.location(), given, partition_columns),
        options=_options(relation.options()),
        partition_columns=partition_columns,
    )


def _version_2(node: Node, leaf: Leaf) -> FileRelation:
    table = node.handle.table()
    file_format = _format(node, class_name(table))
    partition_columns = _field_names(table.fileIndex().partitionSchema())
    given = _canonical(table.fileIndex().rootPaths())
    return FileRelation(
        name=leaf.view or _path_name(given),
        format=file_format,
        roots=_roots(table.fileIndex(), given, partition_columns),
        options=tuple(sorted((str(k), str(v)) for k, v in node.handle.options().items())),
        partition_columns=partition_columns,
    )


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


def _catalog_name(table: JavaObject) -> str:
    identifier = table.identifier()
    database = option(identifier.database())
    name = str(identifier.table())
    return name if database in (None, "default") else f"{database}.{name}"


def _path_name(roots: Sequence[str]) -> str:
    paths = [urlparse(root).path if "://" in root else root for root in roots]
    common = paths[0] if len(paths) == 1 else os.path.commonpath(paths)
    base = os.path.basename(common.rstrip("/"))
    return base.split(".", 1)[0] or base or common


def _options(scala_map: JavaObject) -> tuple[tuple[str, str], ...]:
    if scala_map.isEmpty():
        return ()
    pairs = [(str(pair._1()), str(pair._2())) for pair in items(scala_map.toSeq())]
    return tuple(sorted(pair for pair in pairs if pair[0] not in ("path", "paths")))


@dataclass(frozen=True)
class _Reading:
    """Files and the way they are read: the identity of a source."""

    relation: FileRelation
    columns: tuple[tuple[str, DataType], ...]


class SourceBook:
    """The sources of one pipeline; every read of files is entered here.

    Files that are read in several ways (with other options or another schema) are several sources,
    since their rows differ: ``x``, ``x (2)`` and so on, in plan order.
    """

    def __init__(self) -> None:
        self._reads: dict[int, tuple[_Reading, tuple[Column, ...]]] = {}
        self._sources: dict[str, tuple[_Reading, tuple[Column, ...]]] = {}

    def enter(self, scan: int, relation: FileRelation, columns: tuple[Column, ...]) -> None:
        """Enter the files that the scan of that id reads.

        Raises UnsupportedOperatorError for options that jobs do not support.
        """
        found = refusal(relation.format, dict(relation.options), relation.roots)
        if found is not None:
            raise UnsupportedOperatorError(
                f"source {relation.name} cannot be traced: {found}; read it without that"
            )
        declared = tuple((column.name, column.type) for column in columns)
        self._reads[scan] = (_Reading(relation, declared), columns)

    def names(self, scans: Iterable[int]) -> dict[int, str]:
        """The source of each scan; the scans are all scans, in plan order.

        Raises SourceError if sources made of different files have the same name.
        """
        taken = {reading.relation.name for reading, _ in self._reads.values()}
        found: dict[_Reading, str] = {}
        named: dict[int, str] = {}
        for scan in scans:
            reading, columns = self._reads[scan]
            if reading not in found:
                _refuse_namesakes(reading.relation, found)
                found[reading] = _free_name(reading.relation.name, taken, self._sources)
                self._sources[found[reading]] = (reading, columns)
            named[scan] = found[reading]
        return named

    def sources(self) -> tuple[Source, ...]:
        """The sources that were named, with their snapshots."""
        return tuple(
            Source(
                name=name,
                format=reading.relation.format,
                roots=reading.relation.roots,
                files=_snapshot(reading.relation),
                columns=tuple(
                    Column(index, column.name, column.type, column.nullable)
                    for index, column in enumerate(columns)
                ),
                options=dict(reading.relation.options),
                partition_columns=reading.relation.partition_columns,
            )
            for name, (reading, columns) in self._sources.items()
        )


def _refuse_namesakes(relation: FileRelation, readings: Iterable[_Reading]) -> None:
    for known in (reading.relation for reading in readings):
        if known.name == relation.name and known.roots != relation.roots:
            raise SourceError(
                f"two sources are called {relation.name!r}: {', '.join(known.roots)} and "
                f"{', '.join(relation.roots)}; give each a name of its own with "
                f"df.createOrReplaceTempView(name) and read spark.table(name)"
            )


def _free_name(name: str, wanted: Collection[str], used: Collection[str]) -> str:
    """A name that no source has or will have: the name itself, or with a number if it is taken."""
    if name not in used:
        return name
    numbered = (f"{name} ({number})" for number in itertools.count(2))
    return next(each for each in numbered if each not in used and each not in wanted)


def _snapshot(relation: FileRelation) -> tuple[SourceFile, ...]:
    from predtrace.jobs import snapshot

    take: Any = snapshot.snapshot_files
    found: tuple[SourceFile, ...] = take(relation.roots)
    return found
