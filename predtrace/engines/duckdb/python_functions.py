"""Functions of users in Python, whose results a job kept, as functions of DuckDB."""

from __future__ import annotations

import atexit
import threading
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from predtrace.engines.duckdb.exact_types import readable
from predtrace.engines.duckdb.process import database
from predtrace.engines.sql.functions import Exactness
from predtrace.engines.sql.literals import sql_type
from predtrace.engines.sql.python_functions import Called, called_in, python_call
from predtrace.jobs.function_results import are_kept, results_of
from predtrace.jobs.model import EngineSettings
from symbolic.expr import Call
from symbolic.functions import python_function
from symbolic.types import DataType, type_name

if TYPE_CHECKING:
    import duckdb

    from predtrace.engines.sql.compiler import Args

_LOCK = threading.Lock()
_provided: dict[duckdb.DuckDBPyConnection, tuple[duckdb.DuckDBPyConnection, set[str]]] = {}
"""The databases with functions: a connection that defines them, and their names."""


def _inexactness(call: Call, settings: EngineSettings) -> str | None:
    function = python_function(call.function)
    assert function is not None
    if not function.kept:
        return "it is the user's, in Python, and Spark calls it"
    for data_type in (*(arg.type for arg in call.args), call.type):
        if not readable(data_type):
            return f"a value is of type {type_name(data_type)}"
    return None


KEPT = Exactness("where the job kept the results", _inexactness)


def kept_call(call: Call, args: Args) -> exp.Expr:
    """The function under its name in questions, which the process's database then knows."""
    tree = python_call(call, args)
    for called in called_in(tree):
        if are_kept(called.function):
            _provide(called)
    return tree


def _provide(called: Called) -> None:
    with _LOCK:
        connection, names = _of_database(database())
        if called.name not in names:
            _define(connection, called)
            names.add(called.name)


def _of_database(
    current: duckdb.DuckDBPyConnection,
) -> tuple[duckdb.DuckDBPyConnection, set[str]]:
    if current not in _provided:
        if not _provided:
            atexit.register(_close)
        _provided[current] = (current.cursor(), set())
    return _provided[current]


def _close() -> None:
    """Let go of the functions: DuckDB complains of those that are left at the end."""
    for current, (connection, _) in _provided.items():
        connection.close()
        current.close()
    _provided.clear()


def _define(connection: duckdb.DuckDBPyConnection, called: Called) -> None:
    # Errors of the table are not to come as errors of DuckDB's.
    lookup = results_of(called.function).lookup
    takes = [_type_text(data_type) for data_type in called.takes]

    def found(*arrays: Any) -> Any:
        return lookup(*arrays)

    define: Any = connection.create_function
    gives = _type_text(called.gives)
    define(called.name, found, takes, gives, type="arrow", null_handling="special")


def _type_text(data_type: DataType) -> str:
    return sql_type(data_type, "duckdb").sql("duckdb")
