"""TPC-H data at scale 0.01, plain and twisted, and DuckDB databases of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tpch.database import open_database


@pytest.fixture(scope="session", params=["plain", "twisted"])
def folder(request: pytest.FixtureRequest, plain_folder: Path, twisted_folder: Path) -> Path:
    return plain_folder if request.param == "plain" else twisted_folder


@pytest.fixture(scope="session")
def database(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with open_database(folder) as connection:
        yield connection


@pytest.fixture(scope="session")
def twisted_database(twisted_folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with open_database(twisted_folder) as connection:
        yield connection
