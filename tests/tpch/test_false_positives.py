"""All 22 queries on Spark, plain data: precise from stored results, few false positives without."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tpch.check import Checker, QueryCheck
from tpch.paper import FALSE_POSITIVES, WITH_FALSE_POSITIVES
from tpch.queries import NUMBERS

MODES = (("stored", ("duckdb",)), ("refined", ("duckdb",)))


@pytest.fixture(scope="module")
def checks(
    spark: Any, plain_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[int, QueryCheck]]:
    checker = Checker(spark, plain_folder, tmp_path_factory.mktemp("lineage"), modes=MODES)
    yield {number: checker.check(number) for number in NUMBERS}
    checker.close()


@pytest.mark.parametrize("number", NUMBERS)
def test_answers_hold_what_the_oracle_says(checks: dict[int, QueryCheck], number: int) -> None:
    check = checks[number]
    assert check.problems == ()
    stored = [answer for answer in check.answers if answer.mode == "stored"]
    assert {scan.label for answer in stored for scan in answer.scans} == {"precise"}


def _refined(check: QueryCheck) -> float:
    return max(answer.false_positives for answer in check.answers if answer.mode == "refined")


def test_false_positives_are_at_most_the_papers(checks: dict[int, QueryCheck]) -> None:
    rates = {number: _refined(check) for number, check in checks.items()}
    assert {number for number, rate in rates.items() if rate} <= set(WITH_FALSE_POSITIVES)
    assert sum(rates.values()) / len(rates) <= FALSE_POSITIVES
