"""Reduced intermediate results answer as before, and hold nothing that is not looked up."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, event, given, settings

from predtrace import JobHandle, open_job
from predtrace.errors import EngineError, StoreError
from predtrace.jobs.results import stored_result
from predtrace.jobs.store import replace_job
from predtrace.maintenance import compaction
from pushdown.graph import OperatorGraph
from pushdown.operators import (
    AggregateCall,
    Aggregation,
    Assignment,
    Filter,
    GroupBy,
    InnerJoin,
    Scan,
)
from symbolic.expr import Column, Literal, call
from symbolic.types import LONG, STRING
from tests.reference import trace_graph
from tests.reference.answers import check_answer
from tests.reference.jobs import store_job
from tests.strategies import Pipeline, count, pipelines
from tests.test_random_answers import runs_of


@contextmanager
def at_any_size(*, numbered: bool = True) -> Iterator[None]:
    """Reducing that takes small tables, too, with numbers of output rows where they may stand."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compaction, "_is_large", lambda result: True)
        patch.setattr(compaction, "_pays", lambda after, before: True)
        patch.setattr(compaction, "_NUMBER_BYTES", -1 if numbered else 1 << 40)
        yield


def split_output(job: JobHandle) -> None:
    """Put the output's rows into two files."""
    output = job.record.output
    assert output is not None
    folder = job.folder / output.folder
    (file,) = folder.glob("*.parquet")
    rows = pq.read_table(file)
    pq.write_table(rows[: len(rows) // 2], file.with_name("part-1.parquet"))
    pq.write_table(rows[len(rows) // 2 :], file.with_name("part-2.parquet"))
    file.unlink()
    split = stored_result(job.folder, output.folder, output.columns)
    replace_job(job.folder, msgspec.structs.replace(job.record, output=split))


def reduce_job(job: JobHandle) -> JobHandle:
    """The job as it is after compaction."""
    before = job.record
    after = compaction.compacted(before, job.folder)
    replace_job(job.folder, after)
    compaction.sweep(job.folder, before, after)
    return open_job(job.folder.parent, job.id)


def check_compacted(pipeline: Pipeline, *, numbered: bool) -> None:
    """All output rows of both readings, asked of the compacted job, as the reference says."""
    graph, tables = pipeline
    runs = runs_of(pipeline)
    with tempfile.TemporaryDirectory() as folder:
        job = open_job(*store_job(Path(folder), graph, tables, runs))
        split_output(job)
        with at_any_size(numbered=numbered):
            job = reduce_job(job)
        event(f"numbered: {any(i.result.numbers for i in job.record.intermediates)}")
        rows = runs[0][1].distinct_rows()
        for plan, reference in runs:
            for asked in ([*rows, rows[0]], rows[-1:]):
                answer = job.lineage(
                    asked, mode="stored", engine="duckdb", aggregates=plan.aggregates
                )
                check_answer(answer, reference, graph, rows if len(asked) > 1 else asked)


@pytest.mark.slow
@pytest.mark.parametrize("numbered", [True, False])
@given(pipeline=pipelines(operators=5))
@settings(max_examples=count(15))
def test_random_graphs(numbered: bool, pipeline: Pipeline) -> None:
    graph, tables = pipeline
    assume(graph.output() and graph.scans() and trace_graph(graph, tables).rows)
    try:
        check_compacted(pipeline, numbered=numbered)
    except EngineError as refusal:
        if "could not evaluate" in str(refusal):
            raise
        event(f"not on DuckDB: {str(refusal)[:50]}")
        assume(False)


CUSTOMER, NAME, BUYER, ITEM, PAID = (
    Column(place, name, STRING if name in ("name", "item") else LONG)
    for place, name in enumerate(("customer", "name", "buyer", "item", "paid"), start=1)
)
TOTAL = Column(9, "total", LONG)


def sales() -> Pipeline:
    """Who paid more than 100 in all, by name; two customers have the same name."""
    total = Aggregation(TOTAL, AggregateCall("sum", (PAID,), LONG))
    graph = OperatorGraph(
        [
            Scan(id=1, table="customers", occurrence=1, columns=(CUSTOMER, NAME)),
            Scan(id=2, table="sales", occurrence=1, columns=(BUYER, ITEM, PAID)),
            InnerJoin(id=3, left=1, right=2, condition=call("eq", CUSTOMER, BUYER)),
            GroupBy(id=4, input=3, keys=(Assignment(NAME, NAME),), aggregations=(total,)),
            Filter(id=5, input=4, condition=call("gt", TOTAL, Literal(100, LONG))),
        ],
        5,
    )
    customers = [(1, "ann"), (2, "bob"), (3, None), (4, "ann"), (5, "eve")]
    bought = [(1, "a", 60), (4, "b", 70), (2, "c", 10), (3, "d", 500), (3, "e", 1), (5, "f", 99)]
    return Pipeline(graph, {"customers": customers, "sales": bought})


def sold(folder: Path) -> tuple[JobHandle, Any]:
    """The job of `sales`, with the reference run."""
    pipeline = sales()
    runs = runs_of(pipeline)
    return open_job(*store_job(folder, *pipeline, runs)), runs[0][1]


def test_what_is_not_looked_up_is_dropped(tmp_path: Path) -> None:
    job, _ = sold(tmp_path)
    split_output(job)
    (before, *_) = [item.result for item in job.record.intermediates]
    with at_any_size(numbered=True):
        job = reduce_job(job)
    (after, *_) = [item.result for item in job.record.intermediates]
    assert (before.rows, after.rows) == (6, 3)
    assert not (job.folder / before.folder).exists()
    (file,) = (job.folder / after.folder).glob("*.parquet")
    stored = pq.read_table(file)
    assert after.numbers is not None
    assert NAME.id in {value.column for value in after.numbers.values}
    assert stored["output_row"].to_pylist() == sorted(stored["output_row"].to_pylist())
    assert f"c{NAME.id}" not in stored.column_names


def test_compacted_results_on_spark(spark: Any, tmp_path: Path) -> None:
    job, reference = sold(tmp_path)
    split_output(job)
    with at_any_size(numbered=True):
        job = reduce_job(job)
    graph = OperatorGraph(job.record.graph, job.record.root)
    rows = reference.distinct_rows()
    answer = job.lineage([*rows, rows[0]], mode="stored", engine="spark", spark=spark)
    check_answer(answer, reference, graph, rows)


def test_handles_see_what_another_one_built(tmp_path: Path) -> None:
    job, reference = sold(tmp_path)
    graph = OperatorGraph(job.record.graph, job.record.root)
    rows = reference.distinct_rows()
    early = open_job(job.folder.parent, job.id)
    pending = early.lineage(rows, mode="stored")
    with at_any_size():
        open_job(job.folder.parent, job.id).build_intermediates()
    check_answer(early.lineage(rows, mode="stored"), reference, graph, rows)
    early.build_index()
    check_answer(job.lineage(rows, mode="indexed"), reference, graph, rows)
    with pytest.raises(StoreError, match="open the job again"):
        [scan.count() for scan in pending.scans]


def lose_all(folder: Path) -> None:
    shutil.rmtree(folder)


def lose_files(folder: Path) -> None:
    for file in folder.glob("*.parquet"):
        file.unlink()


def lose_one_file(folder: Path) -> None:
    next(folder.glob("*.parquet")).unlink()


@pytest.mark.parametrize("lose", [lose_all, lose_files, lose_one_file])
@pytest.mark.parametrize("what", ["minimal", "output"])
def test_a_stored_result_that_is_gone_is_not_an_empty_one(
    lose: Callable[[Path], None], what: str, tmp_path: Path
) -> None:
    job, reference = sold(tmp_path)
    split_output(job)
    rows = reference.distinct_rows()
    before = job.lineage(rows, mode="stored")
    for folder in job.folder.glob(f"{what}*"):
        lose(folder)
    with pytest.raises(StoreError, match="is gone"):
        open_job(job.folder.parent, job.id).lineage(rows, mode="stored")
    if lose is not lose_one_file:
        with pytest.raises(StoreError, match="is gone"):
            [scan.count() for scan in before.scans]


def test_a_job_that_is_gone(tmp_path: Path) -> None:
    job, reference = sold(tmp_path)
    shutil.rmtree(job.folder)
    with pytest.raises(StoreError, match="cannot be read"):
        job.lineage(reference.distinct_rows())


def test_small_results_stay(tmp_path: Path) -> None:
    job, _ = sold(tmp_path)
    assert compaction.compacted(job.record, job.folder) == job.record


def test_a_result_that_duckdb_does_not_read_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, _ = sold(tmp_path)
    for item in job.record.intermediates:
        (file,) = (job.folder / item.result.folder).glob("*.parquet")
        table = pq.read_table(file)
        pq.write_table(table.rename_columns([f"other{name}" for name in table.column_names]), file)
    again = tuple(
        msgspec.structs.replace(
            item, result=stored_result(job.folder, item.result.folder, item.result.columns)
        )
        for item in job.record.intermediates
    )
    replace_job(job.folder, msgspec.structs.replace(job.record, intermediates=again))
    with at_any_size(numbered=False):
        assert compaction.compacted(job.record, job.folder) == job.record
    assert len(list(job.folder.glob("node-*"))) <= len(job.record.intermediates)
