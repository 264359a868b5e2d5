"""Results of the user's Python functions that a job kept: looked up instead of computed.

A table has a row for each list of arguments with which the run called the function. Arguments with
which it was never called have no result: their value is NULL.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from predtrace.errors import PredTraceError
from predtrace.jobs.model import Job, StoredResult
from predtrace.jobs.results import check_stored, stored_files
from symbolic.expr import Call
from symbolic.functions import PythonFunction, python_function
from symbolic.types import DataType, Float, Map, Opaque, parts

if TYPE_CHECKING:
    import pyarrow as pa

Lookup = Callable[..., "pa.Array"]
"""The results for arrays of arguments."""
MOST_RESULTS = 5_000_000
"""The most lists of arguments in a table: questions hold them in memory."""
RESULT = "result"
"""The column of the results; the arguments are in columns `argument_name`."""

_OPAQUE = (Map, Opaque)


def argument_name(place: int) -> str:
    """The column of an argument."""
    return f"a{place}"


def keepable(data_type: DataType) -> bool:
    """Whether values of the type are found again by their stored form.

    Floating-point numbers are stored as text, which tells -0.0 from 0.0; not inside other values.
    """
    if isinstance(data_type, Float):
        return True
    return not any(isinstance(part, (Float, *_OPAQUE)) for part in parts(data_type))


def name_of(result: StoredResult) -> str:
    """What stands for a table of results in a function's id: its content."""
    content = " ".join(file.sha256 for file in result.files)
    return hashlib.sha256(content.encode()).hexdigest()[:32]


@dataclass
class FunctionResults:
    """The table of one function's results, in a job's folder."""

    name: str
    folder: Path
    result: StoredResult

    @cached_property
    def lookup(self) -> Lookup:
        """Looks results up.

        Raises StoreError if the table is not as it was stored, PredTraceError if the function gave
        several results for the same arguments.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        check_stored(self.result, self.folder)
        files = stored_files(str(self.folder / self.result.folder), self.result.files)
        table = pa.concat_tables([pq.read_table(file) for file in files])
        *arguments, gives = [
            _as_they_were(table.column(number), column.type)
            for number, column in enumerate(self.result.columns)
        ]
        found = _lookup(arguments, gives)
        if found is None:
            raise PredTraceError(
                f"the Python function {self.name} gave several results for the same arguments; "
                "mark it asNondeterministic(), and run the pipeline again"
            )
        return found


class Typed(NamedTuple):
    """A function with the types of its arguments: it may give other results for 1.0 than for 1."""

    function: PythonFunction
    takes: tuple[DataType, ...]


def typed(call: Call) -> Typed | None:
    """The Python function of a call, with the types of its arguments; None for another call."""
    function = python_function(call.function)
    if function is None:
        return None
    return Typed(function, tuple(arg.type for arg in call.args))


_known: dict[str, FunctionResults] = {}


def remember(job: Job, folder: Path) -> None:
    """Know where the results are that a job kept."""
    for function in job.functions:
        for result in function.results:
            name = name_of(result)
            if name not in _known or _known[name].folder != folder:
                _known[name] = FunctionResults(function.name, folder, result)


def results_of(function: PythonFunction) -> FunctionResults:
    """The results of a function that an opened job kept."""
    return _known[function.kept]


def are_kept(function: PythonFunction) -> bool:
    """Whether an opened job kept the function's results."""
    return function.kept in _known


def _as_they_were(column: pa.ChunkedArray, data_type: DataType) -> pa.Array:
    """A stored column with its values as they were."""
    import pyarrow as pa

    array = pa.chunked_array(column.chunks, column.type).combine_chunks()
    array = array if isinstance(array, pa.Array) else pa.array([], column.type)
    if not isinstance(data_type, Float):
        return array
    kind = pa.float64() if data_type.bits == 64 else pa.float32()
    numbers = [None if text is None else float(text) for text in array.to_pylist()]
    return pa.array(numbers, pa.float64()).cast(kind)


# The functions below are pickled by value: the processes that call them need no predtrace.


def _lookup(arguments: Sequence[pa.Array], results: pa.Array) -> Lookup | None:
    """Looks up the results; None if some arguments have several."""
    import pyarrow as pa

    types = [array.type for array in arguments]

    def plain(value: Any) -> Any:
        if isinstance(value, float):
            return "nan" if value != value else value.hex()
        if isinstance(value, list):
            return tuple(plain(each) for each in value)
        if isinstance(value, dict):
            return tuple(plain(each) for each in value.values())
        return value

    def values(array: Any, kind: Any) -> Any:
        cast = array.cast(kind)
        if pa.types.is_timestamp(kind):
            return cast.cast(pa.int64()).to_pylist()
        if pa.types.is_date(kind):
            return cast.cast(pa.int32()).to_pylist()
        found = cast.to_pylist()
        if pa.types.is_floating(kind) or pa.types.is_nested(kind):
            return map(plain, found)
        return found

    keys = zip(*map(values, arguments, types), strict=True)
    places = {key: place for place, key in enumerate(keys)}
    if len(places) != len(results):
        return None

    def lookup(*arrays: Any) -> Any:
        rows = [places.get(key) for key in zip(*map(values, arrays, types), strict=True)]
        return results.take(pa.array(rows, pa.int64()))

    return lookup
