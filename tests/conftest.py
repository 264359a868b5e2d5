"""What all tests share: one Spark session, generated data, and marks that follow from them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

# Registers the profiles of random tests before any of these is made.
from tests.strategies.compared import enough_compared

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


ROOT = Path(__file__).parents[1]
SCALE = 0.01
_MARKS = {"spark": "spark", "plain_folder": "benchdata", "twisted_folder": "benchdata"}
"""What a test is marked as that uses a fixture, itself or through other fixtures."""
_COSTS = {"spark": 4, "benchdata": 2, "slow": 1}
_GATEWAY = "PYSPARK_GATEWAY_PORT"
"""Where PySpark, here or in a process started from here, finds a JVM instead of starting one."""


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A small local session with Spark's default meaning (ANSI)."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    log4j = ROOT / "predtrace" / "environment" / "log4j2.properties"
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "3g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        # Many small queries: compiling them for speed costs more than running them. Room for what
        # is compiled and loaded; it is collected again and again otherwise.
        "spark.driver.extraJavaOptions": (
            f'"-Dlog4j2.configurationFile={log4j}" -XX:TieredStopAtLevel=1 -XX:+UseSerialGC'
            " -XX:ReservedCodeCacheSize=256m -XX:MetaspaceSize=256m -Xms1g -Xmn512m"
        ),
        "spark.sql.codegen.wholeStage": "false",
        # Every hash table begins with a page, of up to 64 MB otherwise, which is filled with zeros.
        "spark.buffer.pageSize": "1m",
        "spark.sql.adaptive.enabled": "false",
    }
    builder = SparkSession.builder.master("local[2]").appName("predtrace-tests")
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def plain_folder() -> Path:
    """TPC-H tables at scale 0.01, made once and kept in the ignored data folder."""
    from tpch.data import default_folder, generate

    return generate(SCALE, ROOT / default_folder(SCALE))


@pytest.fixture(scope="session")
def twisted_folder(plain_folder: Path) -> Path:
    """The same tables with duplicates, NULLs and other hard cases in them."""
    from tpch.data import default_folder
    from tpch.twist import twist

    return twist(plain_folder, ROOT / default_folder(SCALE, twisted=True))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by the fixtures that they use, so that nobody has to remember it.

    Files run in the order of their costs: with several workers none is left with a long file.
    """
    costs: dict[Path, int] = {}
    for item in items:
        for fixture in _MARKS.keys() & set(getattr(item, "fixturenames", ())):
            item.add_marker(_MARKS[fixture])
        marks = {mark.name for mark in item.iter_markers()}
        cost = sum(cost for mark, cost in _COSTS.items() if mark in marks)
        costs[item.path] = max(cost, costs.get(item.path, 0))
    items.sort(key=lambda item: -costs[item.path])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let no JVM be started, by the test or by a process of its own, unless it is marked."""
    if item.get_closest_marker("spark"):
        os.environ.pop(_GATEWAY, None)
    else:
        os.environ[_GATEWAY] = f"{item.nodeid} starts a JVM: mark it spark"


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    """Let no test with random examples pass that compared few of them."""
    if not hasattr(pyfuncitem.obj, "hypothesis"):
        return (yield)
    with enough_compared(pyfuncitem.obj):
        return (yield)
