"""The tables of edge values, which the tests of functions share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.functions.run import Edges

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def edges(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Edges]:
    yield Edges(spark, tmp_path_factory.mktemp("edges"), "Europe/Berlin")
    for table in ("edges", "spans"):
        spark.sql(f"DROP TABLE {table}")
