"""Commands that write: the query below each, and the place of its output."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from py4j.protocol import Py4JError

from predtrace.errors import UnsupportedOperatorError
from predtrace.frontends.spark.catalyst import JavaObject, class_name, items, option
from predtrace.jobs.model import Written

IGNORE = "ignore"
"""The mode in which nothing is written where something is."""
IN_PLACE = ("ReplaceData", "WriteDelta", "MergeIntoTable", "UpdateTable", "DeleteFromTable")
"""Commands that change rows in place: MERGE, UPDATE and DELETE."""


class Write(NamedTuple):
    """What a command writes: the plan of its rows, and their place."""

    query: JavaObject
    written: Written


def write_of(plan: JavaObject) -> Write | None:
    """What an analyzed plan writes; None for a plan that writes no rows of a query.

    Views, CACHE and other commands have no query. The place of a command that is not in `_PLACES`
    is not known. Raises UnsupportedOperatorError for MERGE, UPDATE and DELETE.
    """
    cls = class_name(plan)
    if cls in IN_PLACE:
        raise UnsupportedOperatorError(
            f"rows that are changed in place (Catalyst: {cls}) are not traced: MERGE, UPDATE and "
            "DELETE; write the rows anew"
        )
    try:
        query = plan.query()
    except Py4JError:  # it has none
        return None
    return Write(query, Written(command=cls, **_PLACES.get(cls, _nowhere)(plan)))


Place = Mapping[str, Any]


def _nowhere(plan: JavaObject) -> Place:
    return {}


def _of_files(plan: JavaObject) -> Place:
    table = option(plan.catalogTable())
    return {
        "path": _local(plan.outputPath().toString()),
        "table": "" if table is None else str(table.identifier().unquotedString()),
        "format": str(plan.fileFormat().toString()).lower(),
        "mode": _mode(plan),
        "partition_columns": tuple(str(each.name()) for each in items(plan.partitionColumns())),
    }


def _of_table(table: JavaObject, mode: str) -> Place:
    location = option(table.storage().locationUri())
    return {
        "path": "" if location is None else _local(str(location.getPath())),
        "table": str(table.identifier().unquotedString()),
        "format": str(option(table.provider()) or ""),
        "mode": mode,
        "partition_columns": tuple(map(str, items(table.partitionColumnNames()))),
    }


def _of_source(plan: JavaObject) -> Place:
    path = option(plan.options().get("path"))
    return {
        "path": "" if path is None else _local(str(path)),
        "format": class_name(plan.dataSource()),
        "mode": _mode(plan),
    }


def _of_folder(plan: JavaObject) -> Place:
    location = option(plan.storage().locationUri())
    return {
        "path": "" if location is None else _local(str(location.getPath())),
        "format": str(plan.provider()),
        "mode": "overwrite" if plan.overwrite() else "append",
    }


def _version_2(mode: str) -> Callable[[JavaObject], Place]:
    return lambda plan: {"table": str(plan.table().name()), "mode": mode}


def _new_table(mode: str) -> Callable[[JavaObject], Place]:
    return lambda plan: {"table": str(plan.tableName().toString()), "mode": mode}


_PLACES: Mapping[str, Callable[[JavaObject], Place]] = {
    "InsertIntoHadoopFsRelationCommand": _of_files,
    "CreateDataSourceTableAsSelectCommand": lambda plan: _of_table(plan.table(), _mode(plan)),
    "SaveAsV1TableCommand": lambda plan: _of_table(plan.tableDesc(), _mode(plan)),
    "SaveIntoDataSourceCommand": _of_source,
    "InsertIntoDataSourceDirCommand": _of_folder,
    "AppendData": _version_2("append"),
    "OverwriteByExpression": _version_2("overwrite"),
    "OverwritePartitionsDynamic": _version_2("overwrite"),
    "CreateTableAsSelect": _new_table("errorifexists"),
    "ReplaceTableAsSelect": _new_table("overwrite"),
}
"""Catalyst's class of a command that writes: how the place of its output is read from it."""


def _mode(plan: JavaObject) -> str:
    return str(plan.mode().toString()).lower()


def _local(path: str) -> str:
    return path.removeprefix("file:")
