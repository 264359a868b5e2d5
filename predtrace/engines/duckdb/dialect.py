"""DuckDB's SQL."""

from predtrace.engines.duckdb.aggregates import DUCKDB_AGGREGATES
from predtrace.engines.duckdb.functions import DUCKDB
from predtrace.engines.duckdb.windows import DUCKDB_WINDOWS
from predtrace.engines.sql.dialect import Dialect
from predtrace.engines.sql.functions import spellings
from symbolic.functions import Semantics

DUCKDB_DIALECT = Dialect(
    name="duckdb",
    semantics=frozenset({Semantics.SPARK}),
    functions=spellings(DUCKDB),
    aggregates=spellings(DUCKDB_AGGREGATES),
    windows=spellings(DUCKDB_WINDOWS),
    exists_as_value=True,
    materializes=True,
    lateral_views=False,
)
