"""Functions of users in Python, evaluated by Spark under names of our own.

A question evaluates a function on rows that the pipeline may never have called it on. Where it
raises, its result is NULL there, as with every function in questions. A function whose results the
job kept is not called: its results are looked up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from predtrace.engines.sql.python_functions import Called, called_in
from predtrace.environment.python_functions import known, missing
from predtrace.environment.total_functions import total
from predtrace.errors import EngineError
from predtrace.jobs.function_results import results_of
from symbolic.functions import PythonFunction

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OF_ARRAYS = 250
"""PySpark's evaluation type of functions of Arrow arrays."""


def provide_python(session: SparkSession, query: exp.Expr, provided: set[str]) -> None:
    """Register the functions that a query calls in its session; other sessions do not see them.

    `provided` are the names that the session has. Raises EngineError for a function that this
    process does not have.
    """
    for called in called_in(query):
        if called.name not in provided:
            _register(session, called)
            provided.add(called.name)


def _register(session: SparkSession, called: Called) -> None:
    from pyspark.sql.udf import UserDefinedFunction

    function, name = called.function, called.name
    if function.kept:
        returns = _type_of(function)
        lookup = results_of(function).lookup
        wrapped = UserDefinedFunction(_of_array(lookup), returns, evalType=_OF_ARRAYS, name=name)
    else:
        live = known(function)
        if live is None:
            raise EngineError(missing(function.name))
        wrapped = UserDefinedFunction(
            total(live, function.kind), live.returns, evalType=function.kind, name=name
        )
    session.udf.register(name, wrapped)


def _type_of(function: PythonFunction) -> Any:
    from pyspark.sql.types import _parse_datatype_json_string

    return _parse_datatype_json_string(function.returns)


def _of_array(lookup: Callable[..., Any]) -> Callable[..., Any]:
    """The same in one array, as Spark wants it."""

    def found(*args: Any) -> Any:
        return lookup(*args)

    return found
