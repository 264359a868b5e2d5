"""A Spark program that is attached for one test, over tables whose rows the tests know."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import predtrace
from predtrace.jobs.store import JobStore, JobSummary

SALES = [(1, "a", 5), (2, "b", 7), (3, "a", 9), (4, "c", 1), (5, "b", 2), (6, "a", 4), (7, "c", 8)]
"""The rows of the table of sales: id, shop, amount."""


@dataclass
class Program:
    """An attached program, its files below `folder`, and the jobs of its store."""

    spark: Any
    folder: Path
    attachment: predtrace.Attachment

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def sales(self) -> Any:
        return self.spark.read.parquet(self.path("sales"))

    def jobs(self) -> list[JobSummary]:
        """All entries of the store, once all that has ended is recorded."""
        assert self.attachment.wait(60)
        store = JobStore(self.attachment.store)
        return store.jobs() if store.path.exists() else []

    def only_job(self) -> predtrace.JobHandle:
        """The only job. Fails with its problem if there is one."""
        (summary,) = self.jobs()
        assert not summary.problem
        return self.job(summary)

    def job(self, summary: JobSummary) -> predtrace.JobHandle:
        return predtrace.open_job(self.attachment.store, summary.id, self.spark)


@pytest.fixture
def program(spark: Any, tmp_path: Path) -> Iterator[Program]:
    session = spark.newSession()
    frame = session.createDataFrame(SALES, "id int, shop string, amount int").coalesce(1)
    frame.write.parquet(str(tmp_path / "sales"))
    found = Program(session, tmp_path, predtrace.attach(session, tmp_path / "store"))
    yield found
    predtrace.detach(session)
    assert "stop" not in vars(session.sparkContext)


def ids(answer: Any, source: str, column: str = "id") -> list[int]:
    """The values of a column of the source rows, sorted."""
    return sorted(answer[source].to_arrow([column])[column].to_pylist())


def shop_ids(wanted: Callable[[tuple[int, str, int]], bool]) -> list[int]:
    """The ids of the sales that satisfy a condition: the truth."""
    return sorted(row[0] for row in SALES if wanted(row))
