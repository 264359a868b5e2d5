"""DuckDB's SQL."""

from predtrace.engines.duckdb.aggregates import DUCKDB_AGGREGATES
from predtrace.engines.duckdb.functions import DUCKDB
from predtrace.engines.sql.dialect import Dialect

DUCKDB_DIALECT = Dialect(
    name="duckdb", functions=DUCKDB, aggregates=DUCKDB_AGGREGATES, exists_as_value=True
)
