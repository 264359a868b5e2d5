"""Functions of users in Python that give NULL where they raise.

A function is asked for rows on which the pipeline may never have called it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from predtrace.environment.python_functions import Live


def total(live: Live, kind: int) -> Callable[..., Any]:
    """The function, called in the way `kind` (PySpark's number of the evaluation type)."""
    return _TOTAL[kind](live)


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
