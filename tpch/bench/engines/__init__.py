"""The engines that run the systems' queries: DuckDB in this process, or a Spark session."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from tpch.bench.engines.base import Engine
from tpch.bench.engines.duckdb import duckdb_over
from tpch.bench.engines.spark import spark_over
from tpch.errors import TpchError

OPENERS: dict[str, Callable[[Path, str], AbstractContextManager[Engine]]] = {
    "duckdb": duckdb_over,
    "spark": spark_over,
}
"""Engine: the function that opens it over a data folder, with Spark's master."""


def open_engine(name: str, folder: Path, master: str) -> AbstractContextManager[Engine]:
    """The engine over a data folder's tables. Raises TpchError for an unknown name."""
    if name not in OPENERS:
        raise TpchError(f"there is no engine {name}; choose from {', '.join(OPENERS)}")
    return OPENERS[name](folder, master)
