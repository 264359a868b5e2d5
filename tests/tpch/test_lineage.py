"""All 22 queries on Spark, twisted data: result, lineage and labels against the oracle."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.test_compaction import at_any_size
from tpch.check import COMPACTED, ENGINES, Checker, QueryCheck
from tpch.queries import NUMBERS

MODES = (
    ("stored", ENGINES),
    *((mode, ("duckdb",)) for mode in ("replayed", "refined", "indexed", COMPACTED)),
)


@pytest.fixture(scope="module")
def checker(
    spark: Any, twisted_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Checker]:
    # Brute force is in test_brute.py: the lineage it tries is the oracle's, hence also ours.
    store = tmp_path_factory.mktemp("lineage")
    checker = Checker(spark, twisted_folder, store, modes=MODES)
    yield checker
    checker.close()


@pytest.mark.parametrize("number", NUMBERS)
def test_lineage_is_precise_and_equals_the_oracle(checker: Checker, number: int) -> None:
    with at_any_size():
        check: QueryCheck = checker.check(number)
    assert check.problems == ()
    for answer in check.answers:
        labels = {scan.label for scan in answer.scans}
        assert labels == {"precise"} or answer.mode == "refined"
    asked = {(answer.mode, answer.engine) for answer in check.answers}
    assert asked == {(mode, engine) for mode, engines in MODES for engine in engines}
    assert (check.intermediates == 0) == (check.stored_bytes == 0)
