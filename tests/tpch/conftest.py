"""TPC-H data at scale 0.01, plain and twisted, made once and kept in the ignored data folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tpch.data import default_folder, generate
from tpch.database import open_database
from tpch.twist import twist

ROOT = Path(__file__).parents[2]
SCALE = 0.01


@pytest.fixture(scope="session")
def plain_folder() -> Path:
    return generate(SCALE, ROOT / default_folder(SCALE))


@pytest.fixture(scope="session")
def twisted_folder(plain_folder: Path) -> Path:
    return twist(plain_folder, ROOT / default_folder(SCALE, twisted=True))


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
