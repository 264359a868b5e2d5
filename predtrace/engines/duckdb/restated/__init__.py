"""Functions of Spark restated in Python, which DuckDB calls where no SQL of its own is exact.

Each is a plain function of values. `register` makes it a function of a DuckDB database, by the
name in `RESTATED`; it gives NULL if an argument is NULL. A function that cannot tell what Spark
gives raises `Untold`, which fails the query.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from predtrace.engines.duckdb.restated import cases, parsing

if TYPE_CHECKING:
    import duckdb

_ARROW = {
    "VARCHAR": "string",
    "BIGINT": "int64",
    "INTEGER": "int32",
    "DOUBLE": "float64",
    "BOOLEAN": "bool",
}


class Restated(NamedTuple):
    """A function of values, and the SQL types of its arguments and result."""

    function: Callable[..., Any]
    arguments: tuple[str, ...]
    result: str


RESTATED: Mapping[str, Restated] = {
    "spark_lower": Restated(cases.lower, ("VARCHAR",), "VARCHAR"),
    "spark_upper": Restated(cases.upper, ("VARCHAR",), "VARCHAR"),
    "spark_initcap": Restated(cases.initcap, ("VARCHAR",), "VARCHAR"),
    "spark_whole": Restated(parsing.whole, ("VARCHAR", "INTEGER", "BOOLEAN"), "BIGINT"),
    "spark_double": Restated(parsing.double, ("VARCHAR",), "DOUBLE"),
    "spark_decimal": Restated(parsing.decimal, ("VARCHAR", "INTEGER", "INTEGER"), "VARCHAR"),
    "spark_boolean": Restated(parsing.boolean, ("VARCHAR",), "BOOLEAN"),
    "spark_days": Restated(parsing.days, ("VARCHAR",), "INTEGER"),
}
"""Name in DuckDB to what it restates."""


def register(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the functions known to all connections of the database."""
    from duckdb.func import FunctionNullHandling, PythonUDFType

    for name, (function, arguments, result) in RESTATED.items():
        connection.create_function(
            name,
            _of_columns(function, len(arguments), result),
            list(arguments),
            result,
            type=PythonUDFType.ARROW,
            null_handling=FunctionNullHandling.SPECIAL,
        )


def _of_columns(function: Callable[..., Any], arity: int, result: str) -> Callable[..., Any]:
    import pyarrow as pa

    arrow_type = pa.type_for_alias(_ARROW[result])

    def computed(*columns: Any) -> Any:
        rows = zip(*(column.to_pylist() for column in columns), strict=True)
        values = [None if None in row else function(*row) for row in rows]
        return pa.array(values, arrow_type)

    # DuckDB counts the parameters, and takes annotations for types.
    names = [
        inspect.Parameter(f"column{i}", inspect.Parameter.POSITIONAL_ONLY) for i in range(arity)
    ]
    computed.__signature__ = inspect.Signature(names)  # type: ignore[attr-defined]
    computed.__annotations__.clear()
    return computed
