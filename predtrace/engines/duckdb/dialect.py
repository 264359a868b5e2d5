"""DuckDB's SQL."""

from collections.abc import Mapping

from predtrace.engines.duckdb.aggregates import DUCKDB_AGGREGATES
from predtrace.engines.duckdb.functions import spelled
from predtrace.engines.duckdb.windows import DUCKDB_WINDOWS
from predtrace.engines.sql.dialect import Dialect
from predtrace.engines.sql.functions import spellings
from symbolic.functions import Semantics

DUCKDB_DIALECTS: Mapping[bool, Dialect] = {
    ansi: Dialect(
        name="duckdb",
        semantics=frozenset({Semantics.SPARK}),
        functions=spelled(ansi),
        aggregates=spellings(DUCKDB_AGGREGATES),
        windows=spellings(DUCKDB_WINDOWS),
        exists_as_value=True,
        materializes=True,
        lateral_views=False,
    )
    for ansi in (True, False)
}
"""By the job's ANSI mode."""

DUCKDB_DIALECT = DUCKDB_DIALECTS[True]
"""For what no ANSI mode matters to."""
