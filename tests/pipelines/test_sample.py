"""A sample of the pipelines; `python -m tests.pipelines` asks about all of them in every mode."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.pipelines.check import FINDINGS, UNCOUNTED, Place, check
from tests.pipelines.data import SEED, tables
from tests.pipelines.kit import Frame, Tables
from tests.pipelines.program import Program, corpus

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SAMPLE = 12
_QUESTIONS = (("auto", "auto"), ("replayed", "auto"))
_MOST_REFUSED = 6
PROGRAMS = corpus()
SAMPLE = sorted(random.Random("pipelines").sample(sorted(PROGRAMS), _SAMPLE))
seen: Counter[str] = Counter()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place.made(tmp_path_factory.mktemp("pipelines"))


def test_the_corpus_is_large_and_its_tables_are_what_they_were() -> None:
    assert len(PROGRAMS) >= 150
    assert tables() == tables()
    settings = Counter(program.settings(SEED) for program in PROGRAMS.values())
    assert len({one.zone for one in settings}) == 4
    assert {one.ansi for one in settings} == {one.whole for one in settings} == {True, False}


@pytest.mark.parametrize("name", SAMPLE)
def test_answers_are_the_truth(spark: SparkSession, place: Place, name: str) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "1")
    for verdict in check(PROGRAMS[name], session, place, _QUESTIONS):
        assert verdict.verdict not in (*FINDINGS, *UNCOUNTED), verdict
        if verdict.mode in ("-", "auto"):
            seen[verdict.verdict] += 1


def test_most_of_them_were_answered() -> None:
    """Or the tests above say little."""
    if seen.total() < _SAMPLE:
        pytest.skip("not all of them ran")
    assert seen["refused"] <= _MOST_REFUSED, seen


@pytest.mark.parametrize("change", ["missing", "extra", "other values"])
def test_what_is_wrong_is_seen(spark: SparkSession, place: Place, change: str) -> None:
    """The comparison itself: a truth with other source rows, or other values, fails."""

    def wrong_truth(t: Tables) -> Frame:
        frame = PROGRAMS["duplicate_report"].truth(t)
        for row in frame.rows:
            if change == "missing":
                row.sources |= {("orders", 1, 0)}
            elif change == "extra":
                row.sources = frozenset(sorted(row.sources)[1:])
            else:
                row.values = {**row.values, "n": row.n + 1}
        return frame

    wrong = Program(PROGRAMS["duplicate_report"].spark, wrong_truth)
    (verdict,) = check(wrong, spark, place, (("auto", "auto"),))
    expected = "evaluator differs" if change == "other values" else change
    assert verdict.verdict == expected, verdict
