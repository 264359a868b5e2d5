"""DuckDB's SQL."""

from predtrace.engines.duckdb.aggregates import DUCKDB_AGGREGATES
from predtrace.engines.duckdb.functions import DUCKDB
from predtrace.engines.sql.dialect import Dialect
from symbolic.functions import Semantics

DUCKDB_DIALECT = Dialect(
    name="duckdb",
    semantics=frozenset({Semantics.SPARK}),
    functions=DUCKDB,
    aggregates=DUCKDB_AGGREGATES,
    exists_as_value=True,
)
