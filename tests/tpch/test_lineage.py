"""All 22 queries on Spark, plain and twisted: result, lineage and labels against the oracle."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tpch.check import ENGINES, Checker, QueryCheck
from tpch.queries import NUMBERS


@pytest.fixture(scope="module")
def checker(
    spark: Any, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Checker]:
    # Brute force is in test_brute.py: the lineage it tries is the oracle's, hence also ours.
    modes = [("stored", ENGINES), ("replayed", ["duckdb"]), ("refined", ["duckdb"])]
    checker = Checker(spark, folder, tmp_path_factory.mktemp("lineage"), modes=modes)
    yield checker
    checker.close()


@pytest.mark.parametrize("number", NUMBERS)
def test_lineage_is_precise_and_equals_the_oracle(checker: Checker, number: int) -> None:
    check: QueryCheck = checker.check(number)
    assert check.problems == ()
    for answer in check.answers:
        labels = {scan.label for scan in answer.scans}
        assert labels == {"precise"} or answer.mode == "refined"
    asked = {(answer.mode, answer.engine) for answer in check.answers}
    assert asked == {
        ("stored", "duckdb"), ("stored", "spark"), ("replayed", "duckdb"), ("refined", "duckdb")
    }  # fmt: skip
    assert (check.intermediates == 0) == (check.stored_bytes == 0)
