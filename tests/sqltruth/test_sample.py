"""A sample of random statements: every mode of answering against the truth from the text."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.sqltruth.batches import Batch, open_batch
from tests.sqltruth.checking import check_seed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
BATCHES = (21, 22)
"""Tables and settings; other zones and both ANSI modes."""
SEEDS = (*range(1050, 1058), *range(1101, 1108))
statuses: Counter[str] = Counter()


@pytest.fixture(scope="module")
def batches(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> list[Batch]:
    folder = tmp_path_factory.mktemp("sqltruth")
    return [open_batch(number, spark, folder) for number in BATCHES]


def test_batches_differ_in_their_settings(batches: list[Batch]) -> None:
    assert {batch.settings.ansi for batch in batches} == {True, False}
    assert len({batch.settings.zone for batch in batches}) > 1


@pytest.mark.parametrize("seed", SEEDS)
def test_answers_are_the_truth(batches: list[Batch], seed: int) -> None:
    (batch,) = (batch for batch in batches if batch.number == seed // 50)
    outcome = check_seed(seed, batch)
    statuses[outcome.status] += 1
    assert not outcome.findings, outcome.record()


def test_most_statements_were_asked_about() -> None:
    """Or the tests above say little."""
    if statuses.total() < len(SEEDS):
        pytest.skip("not all of them ran")
    assert statuses["asked"] >= 0.75 * statuses.total(), statuses
