"""Queries in files, over the tables of a folder."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from predtrace.environment.sessions import first_line
from predtrace.errors import PredTraceError, SourceError
from predtrace.frontends.spark.statements import query_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_READ_OPTIONS: Mapping[str, Mapping[str, str]] = {
    "parquet": {},
    "orc": {},
    "json": {},
    "csv": {"header": "true", "inferSchema": "true"},
}
_COMMENTS = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)


def register_tables(spark: SparkSession, folder: Path, query: str) -> list[str]:
    """Make temporary views of the tables in a folder that a query may mean; returns their names.

    ``<name>.parquet`` (.csv, .json, .orc), a file or a folder, becomes the view `name` if the name
    occurs in the query; other views would only cost time and cause errors. CSV files have a header,
    and their types are inferred. Raises SourceError if there is no table, if two have one name, or
    if Spark cannot read one.
    """
    found = tables_in(folder)
    wanted = {name: path for name, path in found.items() if name.casefold() in query.casefold()}
    for name, path in wanted.items():
        frame = _attempt(f"{path} cannot be read", _read, spark, path)
        # The name is an identifier, never part of SQL text.
        _attempt(f"{name} cannot be a table's name", frame.createOrReplaceTempView, _quoted(name))
    return list(wanted)


def tables_in(folder: Path) -> dict[str, Path]:
    """The tables in a folder, by name. Raises SourceError if there is none, or if two share a
    name."""
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        if path.name[0] in "._" or path.suffix[1:] not in _READ_OPTIONS:
            continue
        if path.stem in found:
            raise SourceError(
                f"{found[path.stem]} and {path} would both be the table {path.stem}; "
                "move one of them elsewhere"
            )
        found[path.stem] = path
    if not found:
        raise SourceError(
            f"{folder} holds no tables: files or folders named "
            f"<table>.{', .'.join(_READ_OPTIONS)} are expected"
        )
    return found


def read_query(path: Path) -> str:
    """The text of a file with one query. Raises PredTraceError if it is empty or not text."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PredTraceError(f"{path} cannot be read as text ({error})") from error
    _statement(text, str(path))
    return text


def _statement(text: str, where: str) -> str:
    """A query without the semicolon after it. Raises PredTraceError if nothing is left."""
    statement = text.strip().rstrip(";").strip()
    # A quoted text that looks like a comment stands beside text that is not a comment.
    if not _COMMENTS.sub("", statement).strip("; \t\r\n"):
        raise PredTraceError(f"{where} holds no query; write one SELECT into it")
    return statement


def query(spark: SparkSession, text: str, where: str) -> DataFrame:
    """The DataFrame of one SQL query. `where` names its file in errors."""
    statement = _statement(text, where)
    problem = f"{where} is not a query that Spark accepts"
    frame: DataFrame = _attempt(problem, query_frame, spark, statement)
    return frame


def _read(spark: SparkSession, path: Path) -> DataFrame:
    kind = path.suffix[1:]
    frame: DataFrame = spark.read.options(**_READ_OPTIONS[kind]).format(kind).load(str(path))
    return frame


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _attempt(problem: str, action: Any, *args: Any) -> Any:
    with spark_errors(problem):
        return action(*args)


@contextmanager
def spark_errors(problem: str) -> Iterator[None]:
    """Turn Spark's errors inside the block into a PredTraceError of one line."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        raise PredTraceError(f"{problem}: {first_line(error)}") from error
