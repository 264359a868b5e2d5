"""Functions of users in Python, evaluated by Spark under names of our own.

A question evaluates a function on rows that the pipeline may never have called it on. Where it
raises, its result is NULL there, as with every function in questions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from predtrace.environment.python_functions import Live, known, missing
from predtrace.errors import EngineError
from symbolic.expr import Call
from symbolic.functions import PythonFunction, python_function

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from predtrace.engines.sql.compiler import Args

_PREFIX = "predtrace_python_"


def python_call(call: Call, args: Args) -> exp.Expr:
    """The function under its name in question sessions."""
    function = python_function(call.function)
    assert function is not None
    named = (
        exp.Kwarg(this=exp.to_identifier(name, quoted=True), expression=arg) if name else arg
        for name, arg in zip(function.arguments, args, strict=True)
    )
    tree = exp.Anonymous(this=_name(function), expressions=list(named))
    tree.meta[_PREFIX] = function
    return tree


def _name(function: PythonFunction) -> str:
    return f"{_PREFIX}{function.kind}_{function.digest}"


def provide_python(session: SparkSession, query: exp.Expr, provided: set[str]) -> None:
    """Register the functions that a query calls in its session; other sessions do not see them.

    `provided` are the names that the session has. Raises EngineError for a function that this
    process does not have.
    """
    for function in _called(query):
        name = _name(function)
        if name not in provided:
            _register(session, name, function)
            provided.add(name)


def _called(query: exp.Expr) -> Iterator[PythonFunction]:
    for node in query.find_all(exp.Anonymous):
        found = node.meta.get(_PREFIX)
        if found is not None:
            yield found


def _register(session: SparkSession, name: str, function: PythonFunction) -> None:
    from pyspark.sql.udf import UserDefinedFunction

    live = known(function)
    if live is None:
        raise EngineError(missing(function.name))
    total = _TOTAL[function.kind](live)
    wrapped = UserDefinedFunction(total, live.returns, evalType=function.kind, name=name)
    session.udf.register(name, wrapped)


# The functions below are pickled by value: the processes that call them need no predtrace.


def _of_values(live: Live) -> Callable[..., Any]:
    function = live.function

    def total(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception:
            return None

    return total


def _of_series(live: Live) -> Callable[..., Any]:
    function = live.function

    def total(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception:
            import pandas as pd

            found: list[Any] = []
            example = None
            for row in range(len((*args, *kwargs.values())[0])):
                one = [arg.iloc[row : row + 1].reset_index(drop=True) for arg in args]
                named = {
                    key: arg.iloc[row : row + 1].reset_index(drop=True)
                    for key, arg in kwargs.items()
                }
                try:
                    result = function(*one, **named)
                    example = result
                    found.append(result.iloc[0])
                except Exception:
                    found.append(None)
            if isinstance(example, pd.DataFrame):
                blank = pd.Series([None] * len(example.columns), index=example.columns)
                return pd.DataFrame([blank if each is None else each for each in found])
            return pd.Series(found, dtype=object)

    return total


def _of_arrays(live: Live) -> Callable[..., Any]:
    function = live.function
    returns = live.returns

    def total(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception:
            import pyarrow as pa
            from pyspark.sql.pandas.types import to_arrow_type

            kind = to_arrow_type(returns)
            found: list[Any] = []
            for row in range(len((*args, *kwargs.values())[0])):
                try:
                    named = {key: arg.slice(row, 1) for key, arg in kwargs.items()}
                    result = function(*(arg.slice(row, 1) for arg in args), **named)
                    if isinstance(result, pa.ChunkedArray):
                        result = result.combine_chunks()
                    found.append(result.cast(kind))
                except Exception:
                    found.append(pa.nulls(1, kind))
            return pa.concat_arrays(found) if found else pa.nulls(0, kind)

    return total


def _iterating(whole: Callable[[Live], Callable[..., Any]]) -> Callable[[Live], Callable[..., Any]]:
    """The same of a function that is given an iterator over batches, batch by batch."""

    def made(live: Live) -> Callable[..., Any]:
        function = live.function

        def of_batch(*args: Any) -> Any:
            (result,) = function(iter([args[0] if len(args) == 1 else args]))
            return result

        total = whole(Live(of_batch, live.returns))

        def batches(given: Iterable[Any]) -> Iterator[Any]:
            for batch in given:
                yield total(*batch) if isinstance(batch, tuple) else total(batch)

        return batches

    return made


_TOTAL: dict[int, Callable[[Live], Callable[..., Any]]] = {
    100: _of_values,
    101: _of_values,
    200: _of_series,
    204: _iterating(_of_series),
    250: _of_arrays,
    251: _iterating(_of_arrays),
}
"""PySpark's evaluation type: the function that gives NULL where the user's function raises."""
