"""The process's in-memory DuckDB: one database, its connections, and facts about files."""

from __future__ import annotations

import atexit
import functools
import os
import re
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from predtrace.engines.duckdb.restated import register
from predtrace.engines.duckdb.source import files_reader
from predtrace.errors import EngineError, SourceError, StoreError

if TYPE_CHECKING:
    import duckdb

_WAY_OUT = "use engine='spark'"
_DISK_FULL = re.compile("no space left|disk (is )?full|disk quota", re.IGNORECASE)
_DAMAGED = re.compile(
    "magic bytes|parquet footer|not a parquet|corrupt|decompress|thrift|deserialize|"
    "failed to read file|too small to be|don't know what type",
    re.IGNORECASE,
)
"""The words of DuckDB's errors about damaged files, which have no class of their own."""


_CAREFUL: Mapping[str, Any] = {"disabled_optimizers": "statistics_propagation"}
"""Settings under which DuckDB 2.0 does not fail with errors of its joins of dictionaries."""
_failed = threading.Event()
_IDLE: dict[str, list[duckdb.DuckDBPyConnection]] = {}
_FILE_TYPES: dict[tuple[str, ...], str] = {}
_LOCK = threading.Lock()


@functools.cache
def database() -> duckdb.DuckDBPyConnection:
    """The process's in-memory database: opening one costs more than many questions."""
    import duckdb

    config: Mapping[str, Any] = {
        # Large bound tables may spill; the default folder would be the working directory.
        "temp_directory": os.path.join(tempfile.gettempdir(), f"predtrace-duckdb-{os.getpid()}"),
        "autoinstall_known_extensions": False,
        # Names refer to tables, never to variables of this program.
        "python_enable_replacements": False,
        **(_CAREFUL if _failed.is_set() else {}),
    }
    connection = duckdb.connect(":memory:", config=dict(config))
    register(connection)
    # The functions would outlive the interpreter.
    atexit.register(connection.close)
    return connection


def replace_database() -> None:
    """Open a new database for the questions to come, with more careful settings.

    After an internal error DuckDB refuses everything that is asked of the database.
    """
    _failed.set()
    with _LOCK:
        database.cache_clear()
        _IDLE.clear()
        _FILE_TYPES.clear()


@contextmanager
def duckdb_errors() -> Iterator[None]:
    """Turn DuckDB's errors into predtrace's; the way out depends on what went wrong.

    Another engine helps if DuckDB cannot compute something. It does not help if a file cannot be
    read, or if the disk is full.
    """
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        first = str(error).strip().splitlines()[0]
        if isinstance(error, duckdb.InternalException | duckdb.FatalException):
            replace_database()
            raise EngineError(
                f"DuckDB failed by a defect of its own ({first}); ask again, which opens a new "
                f"database with more careful settings, or {_WAY_OUT}"
            ) from error
        if isinstance(error, duckdb.OutOfMemoryException):
            raise EngineError(
                f"DuckDB ran out of memory ({first}); free some, or ask for fewer rows or columns"
            ) from error
        if _DISK_FULL.search(first):
            raise StoreError(f"the disk is full ({first}); free space, and ask again") from error
        if isinstance(error, duckdb.IOException) or _DAMAGED.search(first):
            raise SourceError(
                f"a file cannot be read, it may be damaged ({first}); restore it, or run the "
                "pipeline again over present files"
            ) from error
        raise EngineError(f"DuckDB could not evaluate this: {first}; {_WAY_OUT}") from error


@contextmanager
def new_cursor() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to the process's database."""
    with duckdb_errors(), database().cursor() as cursor:
        yield cursor


@contextmanager
def zoned_cursor(zone: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with this time zone, for exclusive use."""
    with duckdb_errors():
        idle = _IDLE.setdefault(zone, [])
        try:
            cursor = idle.pop()
        except IndexError:
            cursor = database().cursor()
            cursor.execute("SET TimeZone = $zone", {"zone": zone}).fetchall()
        yield cursor
        # After an error the connection is discarded.
        idle.append(cursor)


def file_type(files: tuple[str, ...]) -> str:
    """An ENUM of these files' names, made once in the process."""
    with _LOCK:
        if files and files not in _FILE_TYPES:
            name = f"main.files{len(_FILE_TYPES)}"
            names = ", ".join(exp.Literal.string(file).sql("duckdb") for file in files)
            with new_cursor() as cursor:
                cursor.execute(f"CREATE TYPE {name} AS ENUM ({names})").fetchall()
            _FILE_TYPES[files] = name
        return _FILE_TYPES.get(files, "VARCHAR")


def column_types(files: tuple[str, ...], *, partitioned: bool) -> Mapping[str, str]:
    """The column types that DuckDB finds in files, looked up once for each version of them."""
    return _column_types(files, tuple(map(_state, files)), partitioned)


def _state(file: str) -> tuple[int, int]:
    """A state that changes when the file changes; DuckDB reports missing files itself."""
    try:
        status = os.stat(file)
    except OSError:
        return (-1, -1)
    return status.st_size, status.st_mtime_ns


@functools.lru_cache(maxsize=256)
def _column_types(
    files: tuple[str, ...], states: tuple[tuple[int, int], ...], partitioned: bool
) -> Mapping[str, str]:
    """The column types that DuckDB finds in files; `states` tell their versions apart."""
    query = exp.select("*").from_(files_reader(files, partitioned=partitioned))
    with new_cursor() as cursor:
        described = cursor.execute(f"DESCRIBE {query.sql('duckdb')}").fetchall()
    return MappingProxyType({row[0]: row[1] for row in described})


def drop_schema(connection: duckdb.DuckDBPyConnection, schema: str) -> None:
    """Drop a question's tables when nothing refers to the question any more."""
    import duckdb

    # At the end of the process the database may be closed first.
    with suppress(duckdb.Error), connection.cursor() as cursor:
        cursor.execute(f"DROP SCHEMA {schema} CASCADE")
