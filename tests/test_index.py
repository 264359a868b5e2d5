"""The row-id index: its answers equal other modes' in both directions, and writes are atomic."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from predtrace import JobHandle, open_job
from predtrace.cli.app import app
from predtrace.errors import (
    ArrayFormatError,
    EngineError,
    PredTraceError,
    SourceError,
    StoreError,
    TargetError,
)
from predtrace.index.file import JobIndex
from predtrace.index.lookup import close_together
from predtrace.index.numbering import RowNumbers
from predtrace.index.outputs import Output
from predtrace.jobs.model import Source, SourceFile
from predtrace.jobs.snapshot import snapshot_files
from predtrace.jobs.store import index_file, replace_job
from pushdown.graph import OperatorGraph
from pushdown.operators import (
    AggregateCall,
    Aggregation,
    AntiJoin,
    Assignment,
    Filter,
    GroupBy,
    InnerJoin,
    Operator,
    RowTransform,
    Scan,
    Union_,
)
from symbolic.expr import TRUE, Column, Literal, call
from symbolic.types import DOUBLE, LONG, STRING
from tests.reference import ReferenceResult, trace_graph
from tests.reference.answers import check_answer
from tests.reference.jobs import store_job
from tests.strategies import Pipeline, compared, count, pipelines
from tests.test_random_answers import runs_of

Links = set[tuple[str, int, int]]
"""Pairs of an output row's number and a source row's number, per scan."""


def make_job(folder: Path, pipeline: Pipeline) -> tuple[JobHandle, list[ReferenceResult]]:
    """A job made by hand, with the reference runs for both readings of min and max."""
    runs = runs_of(pipeline)
    return open_job(*store_job(folder, *pipeline, runs)), [reference for _, reference in runs]


def links_of(job: JobHandle, reference: ReferenceResult) -> Links:
    """What the reference says: every output row with the source rows of every scan."""
    graph = OperatorGraph(job.record.graph, job.record.root)
    names = {scan.id: f"{scan.table}[{scan.occurrence}]" for scan in graph.scans()}
    return {
        (names[node], number, row)
        for number, output in enumerate(reference.rows)
        for node, rows in reference.lineage(output).items()
        for row in rows
    }


def reached(job: JobHandle, links: Links, aggregates: str) -> Links:
    """The same, asked forward: for every source row the output rows that it reaches."""
    graph = OperatorGraph(job.record.graph, job.record.root)
    found: Links = set()
    for scan in graph.scans():
        name = f"{scan.table}[{scan.occurrence}]"
        (source,) = (source for source in job.record.sources if source.name == scan.table)
        for row in range(source.files[0].rows or 0):
            answer = job.forward(name, rows=[row], aggregates=aggregates)
            found.update((name, number, row) for number in answer.row_numbers().tolist())
    return found


def check_index(pipeline: Pipeline) -> None:
    """Backward as the reference, forward its inverse, for both readings of min and max."""
    graph, _ = pipeline
    with tempfile.TemporaryDirectory() as folder:
        job, references = make_job(Path(folder), pipeline)
        rows = references[0].distinct_rows()
        for aggregates, reference in zip(("minimal", "whole"), references, strict=True):
            choices: dict[str, Any] = {"aggregates": aggregates, "engine": "duckdb"}
            job.build_index(**choices)
            answer = job.lineage([*rows, rows[0]], mode="indexed", **choices)
            check_answer(answer, reference, graph, rows)
            one = job.lineage(rows[-1], mode="indexed", **choices)
            for scan, several in zip(one.scans, answer.scans, strict=True):
                asked = several.row_ids()
                last = asked.filter(pa.compute.equal(asked["target"], len(rows) - 1))
                assert scan.row_ids()["row"].to_pylist() == last["row"].to_pylist()
                stored = job.lineage(rows[-1], mode="stored", **choices)
                assert scan.label == stored.scan(scan.table, scan.occurrence).label
            if answer.label == "precise":
                links = links_of(job, reference)
                assert reached(job, links, aggregates) == links
            compared(answer.label == "precise")


@given(pipeline=pipelines(operators=5))
@settings(max_examples=count(20))
def test_index_of_random_graphs(pipeline: Pipeline) -> None:
    graph, tables = pipeline
    assume(graph.output() and graph.scans() and trace_graph(graph, tables).rows)
    try:
        check_index(pipeline)
    except EngineError as refusal:
        if "could not evaluate" in str(refusal):
            raise
        event(f"not on DuckDB: {str(refusal)[:50]}")
        assume(False)


ID, BOSS, DEPT, PAY = (
    Column(place, name, STRING if name == "dept" else LONG)
    for place, name in enumerate(("id", "boss", "dept", "pay"), start=1)
)
STAFF = (ID, BOSS, DEPT, PAY)
SUM = Column(40, "total", LONG)
ROWS = [
    (1, None, "top", 100),
    (2, 1, "a", 50),
    (3, 1, "a", 40),
    (4, 2, None, 30),
    (5, 2, "b", 30),
    (5, 2, "b", 30),
    (6, 9, None, 20),
]


def staff(node: int, occurrence: int = 1) -> Scan:
    columns = tuple(msgspec.structs.replace(c, id=c.id + 10 * node) for c in STAFF)
    return Scan(id=node, table="staff", occurrence=occurrence, columns=columns, alias=f"s{node}")


def total(node: int, below: int, keys: tuple[Column, ...], pay: Column) -> GroupBy:
    aggregation = Aggregation(SUM, AggregateCall("sum", (pay,), LONG))
    pairs = tuple(Assignment(key, key) for key in keys)
    return GroupBy(id=node, input=below, keys=pairs, aggregations=(aggregation,))


def selected(node: int, below: int, columns: tuple[Column, ...]) -> RowTransform:
    return RowTransform(id=node, input=below, assignments=tuple(Assignment(c, c) for c in columns))


def self_join() -> list[Operator]:
    """What the employees of each department's bosses earn together."""
    e, b = staff(0), staff(1, 2)
    join = InnerJoin(id=2, left=0, right=1, condition=call("eq", e.columns[1], b.columns[0]))
    return [e, b, join, total(3, 2, (e.columns[2],), b.columns[3])]


def union() -> list[Operator]:
    """Departments twice, so that output rows repeat, and each comes from both scans."""
    e, b = staff(0), staff(1, 2)
    tops = selected(2, 0, (e.columns[2],)), selected(3, 1, (b.columns[2],))
    out = (Column(50, "dept", STRING),)
    branches = tuple(operator.assignments for operator in tops)
    columns = tuple((assignments[0].column,) for assignments in branches)
    return [e, b, *tops, Union_(id=4, inputs=(2, 3), branches=columns, columns=out)]


def without_staff() -> list[Operator]:
    e, b = staff(0), staff(1, 2)
    return [e, b, AntiJoin(id=2, left=0, right=1, condition=call("eq", e.columns[0], b.columns[1]))]


def nothing() -> list[Operator]:
    e = staff(0)
    never = call("gt", e.columns[3], Literal(1000, LONG))
    return [e, Filter(id=1, input=0, condition=never)]


def beside_a_total() -> list[Operator]:
    """Every employee beside the sum of all pay: each output row came from the whole table."""
    e, b = staff(0), staff(1, 2)
    whole = total(2, 1, (), b.columns[3])
    return [e, b, whole, InnerJoin(id=3, left=0, right=2, condition=TRUE)]


def pipeline_of(operators: list[Operator], rows: Any = ROWS) -> Pipeline:
    return Pipeline(OperatorGraph(operators, operators[-1].id), {"staff": rows})


@pytest.mark.parametrize("make", [self_join, union, without_staff, beside_a_total])
def test_index_of(make: Any) -> None:
    check_index(pipeline_of(make()))


def job_of(folder: Path, operators: list[Operator]) -> JobHandle:
    return make_job(folder, pipeline_of(operators))[0]


def ids(answer: Any) -> list[list[tuple[Any, ...]]]:
    """Per scan the row ids, sorted."""
    return [sorted(tuple(row.values()) for row in s.row_ids().to_pylist()) for s in answer.scans]


def test_an_empty_output(tmp_path: Path) -> None:
    job = job_of(tmp_path, nothing())
    made = job.build_index()
    assert (made.rows, made.covered, made.scans[0].links) == (0, 0, 0)
    answer = job.lineage({"id": 1}, mode="indexed")
    assert (answer.target_rows, answer.missing, answer.scans[0].count()) == (0, (0,), 0)
    assert answer.scans[0].to_arrow().num_rows == 0
    assert job.forward("staff", rows=range(len(ROWS))).count() == 0


def test_shared_rows_are_stored_once(tmp_path: Path) -> None:
    job = job_of(tmp_path, beside_a_total())
    job.build_index()
    shared = JobIndex(memoryview(index_file(job.folder, "minimal").read_bytes()), "test")[1].entry
    assert (shared.pairs, shared.links) == (len(ROWS), len(ROWS) ** 2)
    reached = job.forward("staff[2]", rows=[3])
    assert reached.row_numbers().tolist() == list(range(len(ROWS)))


def test_targets_of_all_kinds(tmp_path: Path) -> None:
    job = job_of(tmp_path, self_join())
    job.build_index()
    found = {dept: job.lineage({"dept": dept}, mode="indexed") for dept in ("a", "b", None)}
    assert [ids(answer) for answer in found.values()] == [
        ids(job.lineage({"dept": dept}, mode="stored")) for dept in found
    ]
    for target in ("total > 100", ["dept = 'b'", {"dept": "a"}], {"total": 100}, [{"dept": "zz"}]):
        ours, theirs = (job.lineage(target, mode=mode) for mode in ("indexed", "stored"))
        assert ids(ours) == ids(theirs)
        assert (ours.missing, ours.label, ours.target_rows) == (
            theirs.missing, theirs.label, theirs.target_rows
        )  # fmt: skip
        assert ours.targets.sort_by("dept") == theirs.targets.sort_by("dept")
    with pytest.raises(TargetError, match="no column zz"):
        job.lineage({"zz": 1}, mode="indexed")


def test_rows_are_fetched_by_number(tmp_path: Path) -> None:
    job = job_of(tmp_path, self_join())
    job.build_index()
    answer, stored = (job.lineage(["dept = 'b'", "dept = 'a'"], mode=m) for m in ("auto", "stored"))
    assert (answer.mode, answer.engine) == ("indexed", "index")
    assert "mode indexed: the job has a row-id index" in answer.explain()
    parts = ([*found.scans, found["staff"]] for found in (answer, stored))
    for one, other in zip(*parts, strict=True):
        keys = [(name, "ascending") for name in ("target", "id", "pay")]
        assert one.to_arrow().sort_by(keys) == other.to_arrow().sort_by(keys)
        assert one.count() == other.count() == sum(b.num_rows for b in one.to_batches())
        assert one.head(1, ["pay"]).column_names == ["target", "pay"]
    answer.scans[0].write_parquet(tmp_path / "out")
    assert pq.read_table(tmp_path / "out").num_rows == answer.scans[0].count()


@given(st.lists(st.integers(0, 40_000_000), max_size=60), st.integers(0, 30))
def test_the_first_rows_shown_are_near_each_other(numbers: list[int], limit: int) -> None:
    known = np.array(sorted(numbers), np.int64)
    places = close_together(known, limit)
    assert len(places) == min(limit, len(known))
    assert (np.diff(places) > 0).all()
    stretches = len(set((known[places] >> 17).tolist()))
    assert stretches <= len(set((known[:limit] >> 17).tolist()))


def test_the_first_rows_shown_of_a_large_answer() -> None:
    everything = np.arange(300_000)
    for limit in (20, 1 << 17, 200_000, 400_000):
        assert np.array_equal(close_together(everything, limit), everything[:limit])
    scattered = np.sort(
        np.concatenate([np.arange(0, 1 << 24, 1 << 17), [5 << 17 | 3, 5 << 17 | 9]])
    )
    assert (scattered[close_together(scattered, 4)] >> 17).tolist() == [0, 5, 5, 5]


def split_source(job: JobHandle) -> JobHandle:
    """The job with its table in three files, one of them empty."""
    (source,) = job.record.sources
    rows = pq.read_table(source.roots[0])
    folder = Path(source.roots[0]).with_name("parts")
    folder.mkdir()
    for name, part in (("b", rows[:3]), ("c", rows[:0]), ("a x%20", rows[3:])):
        pq.write_table(part, folder / f"{name}.parquet")
    files = snapshot_files([str(folder)])
    split = msgspec.structs.replace(source, roots=(str(folder),), files=files)
    replace_job(job.folder, msgspec.structs.replace(job.record, sources=(split,)))
    return open_job(job.folder.parent, job.id)


def test_several_files(tmp_path: Path) -> None:
    job = split_source(job_of(tmp_path, self_join()))
    job.build_index()
    for target in ({"dept": "a"}, "total > 0"):
        ours, theirs = (job.lineage(target, mode=mode) for mode in ("indexed", "stored"))
        assert ids(ours) == ids(theirs)
        keys = [(name, "ascending") for name in ("id", "pay")]
        assert ours["staff"].to_arrow().sort_by(keys) == theirs["staff"].to_arrow().sort_by(keys)
    for number in range(job.output_arrow().num_rows):
        target = job.output_arrow().slice(number, 1).to_pylist()[0]
        rows = job.lineage(target, mode="indexed").scan("s1").row_ids()
        assert number in job.forward("s1", rows=rows).row_numbers()
    with pytest.raises(TargetError, match="3 files; give rows as a table of file and row"):
        job.forward("s1", rows=[0])
    strange = pa.table({"file": ["/elsewhere"], "row": [0]})
    with pytest.raises(TargetError, match="/elsewhere is not a file of source staff"):
        job.forward("s1", rows=strange)


def test_forward(tmp_path: Path) -> None:
    job = job_of(tmp_path, self_join())
    with pytest.raises(PredTraceError, match="has no row-id index, which forward questions need"):
        job.forward("staff", rows=[0])
    job.build_index()
    reached = job.forward("s1", where="id = 2")
    depts = set(reached.to_arrow().column("dept").to_pylist())
    assert (depts, reached.label, reached.complete) == ({"b", None}, "precise", True)
    assert len(job.forward("staff", where="pay > 1000")) == 0
    assert job.forward("staff", rows=[0]).scans == ("staff[1]", "staff[2]")
    with pytest.raises(TargetError, match="source staff has no column nam; it has id"):
        job.forward("staff", where="nam = 1")
    for wrong, message in (
        ([7], "rows 0 to 6"),
        ([-1], "rows 0 to 6"),
        (["x"], "by their numbers"),
    ):
        with pytest.raises(TargetError, match=message):
            job.forward("staff", rows=wrong)
    with pytest.raises(TargetError, match=r"either where=… or rows=…"):
        job.forward("staff")
    with pytest.raises(PredTraceError, match=r"no scan of x; there are staff\[1\], staff\[2\]"):
        job.forward("x", rows=[0])


def test_some_output_rows(tmp_path: Path) -> None:
    job = job_of(tmp_path, self_join())
    made = job.build_index(targets={"dept": "a"})
    assert (made.rows, made.covered) == (3, 1)
    assert ids(job.lineage({"dept": "a"}, mode="indexed")) == ids(
        job.lineage({"dept": "a"}, mode="stored")
    )
    with pytest.raises(PredTraceError, match="leaves out a target row"):
        job.lineage({"dept": "b"}, mode="indexed")
    other = job.lineage({"dept": "b"})
    assert other.mode == "stored"
    assert any("leaves out a target row" in note for note in other.notes)
    assert not job.forward("s1", rows=[1]).complete
    assert job.build_index(targets="dept = 'a'").seconds == made.seconds
    assert job.build_index().covered == 3


def test_some_scans(tmp_path: Path) -> None:
    job = job_of(tmp_path, self_join())
    assert [scan.scan for scan in job.build_index(scans=["s1"]).scans] == ["staff[2]"]
    strict = job.lineage({"dept": "a"}, mode="indexed")
    assert strict.scan("s1").count() == 1
    with pytest.raises(PredTraceError, match="leaves out the scan of staff"):
        strict.scan("s0").count()
    mixed, stored = job.lineage({"dept": "a"}), job.lineage({"dept": "a"}, mode="stored")
    assert ids(mixed) == ids(stored)
    assert mixed.scan("s0").to_arrow() == stored.scan("s0").to_arrow()
    assert any("answered without it: staff[1]" in note for note in mixed.notes)
    with pytest.raises(PredTraceError, match=r"leaves out staff\[1\]"):
        job.forward("staff", rows=[0])
    with pytest.raises(PredTraceError, match="no scan of x"):
        job.build_index(scans=["x"])


def test_an_index_that_is_there_is_said_to_be(tmp_path: Path) -> None:
    job = job_of(tmp_path, self_join())
    file = index_file(job.folder, "minimal")
    arguments = ["index", job.id, "--store", str(job.folder.parent)]

    def told(*more: str) -> str:
        result = CliRunner().invoke(app, [*arguments, *more])
        assert result.exit_code == 0, result.stderr
        return result.stdout

    assert "existed already" not in told()
    for more in ((), ("--limit", "100000"), ("--where", "dept = 'a'"), ("--scan", "s1")):
        before = file.stat().st_ino
        text = told(*more)
        assert "The index existed already; --rebuild replaces it." in text
        assert "Index of 3 output rows of job" in text
        assert file.stat().st_ino == before
    assert json.loads(told("--format", "json"))["there"]
    assert "existed already" not in told("--rebuild")
    assert file.stat().st_ino != before
    assert not job.build_index(rebuild=True).there
    assert job.build_index().there


def test_sources_without_row_numbers_are_refused_with_what_to_type(tmp_path: Path) -> None:
    job = job_of(tmp_path, self_join())
    (source,) = job.record.sources
    e, *rest = (
        msgspec.structs.replace(o, table="my texts") if o.id == 0 else o for o in self_join()
    )
    texts = msgspec.structs.replace(source, name="my texts", format="csv")
    for sources, operators, said in (
        (
            (source, texts),
            [e, *rest],
            r"\(scans=\['staff'\], --scan staff\), or keep it as Parquet",
        ),
        ((msgspec.structs.replace(source, format="csv"),), self_join(), "to index; keep it as Pa"),
    ):
        changed = msgspec.structs.replace(job.record, sources=sources, graph=tuple(operators))
        replace_job(job.folder, changed)
        with pytest.raises(EngineError, match=said):
            open_job(job.folder.parent, job.id).build_index()


def test_sources_that_changed(tmp_path: Path) -> None:
    job = job_of(tmp_path, self_join())
    job.build_index()
    source = Path(job.record.sources[0].roots[0])
    expected = ids(job.lineage({"dept": "a"}, mode="stored"))
    os.utime(source, ns=(0, 0))
    answer = job.lineage({"dept": "a"})
    assert ids(answer) == expected
    with pytest.raises(SourceError, match="changed since the job ran"):
        answer.scans[0].to_arrow()
    assert job.forward("s1", rows=[1]).count() == 2
    with pytest.raises(SourceError, match="changed since the job ran"):
        job.forward("s1", where="id = 1")
    index_file(job.folder, "minimal").unlink()
    with pytest.raises(SourceError, match="changed since the job ran"):
        job.build_index()
    assert not index_file(job.folder, "minimal").exists()


def test_size_limit(tmp_path: Path) -> None:
    job = job_of(tmp_path, self_join())
    with pytest.raises(StoreError, match=r"more than 10 bytes \(reached at scan staff\[\d\]\)"):
        job.build_index(limit=10)
    assert not list(job.folder.glob("index-*"))
    job.build_index(limit=1000)


def test_without_output_or_row_numbers(tmp_path: Path) -> None:
    job = job_of(tmp_path, self_join())
    replace_job(job.folder, msgspec.structs.replace(job.record, output=None))
    with pytest.raises(PredTraceError, match="did not keep its output"):
        open_job(job.folder.parent, job.id).build_index()
    text = SourceFile(path="/a.csv", size=1, modified=1)
    with pytest.raises(EngineError, match="t is csv, which has no row numbers"):
        RowNumbers(Source(name="t", format="csv", roots=(), files=(text,), columns=()))


def test_damage_is_noticed(tmp_path: Path) -> None:
    job = job_of(tmp_path, self_join())
    job.build_index()
    path = index_file(job.folder, "minimal")
    good = path.read_bytes()

    def read(data: bytes) -> list[tuple[list[int], list[int]]]:
        index = JobIndex(memoryview(data), "test")
        rows = range(3)
        return [
            (index[node].rows_of(pa.array(rows).to_numpy()).tolist(),
             index[node].outputs_of(pa.array(range(len(ROWS))).to_numpy()).tolist())
            for node in (0, 1)
        ]  # fmt: skip

    expected, noticed = read(good), 0
    for place, bit in itertools.product(range(len(good)), (1, 128)):
        changed = bytearray(good)
        changed[place] ^= bit
        try:
            found = read(bytes(changed))
        except ArrayFormatError:
            noticed += 1
            continue
        assert found == expected
    assert noticed > len(good), "half of the damages, at least"
    for length in range(len(good)):
        with pytest.raises(ArrayFormatError):
            read(good[:length])
    expected_ids = ids(job.lineage({"dept": "a"}, mode="stored"))
    path.write_bytes(good[:40])
    with pytest.raises(ArrayFormatError, match="predtrace index"):
        job.lineage({"dept": "a"}, mode="indexed")
    fallen_back = job.lineage({"dept": "a"})
    assert (fallen_back.mode, ids(fallen_back)) == ("stored", expected_ids)
    assert any("index was not used" in note for note in fallen_back.notes)
    job.build_index()
    assert ids(job.lineage({"dept": "a"}, mode="indexed")) == expected_ids


_KILLED = """
import os, signal, sys
import predtrace
from predtrace.durable import writing as unfinished
unfinished.os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)
predtrace.open_job(sys.argv[1], sys.argv[2]).build_index()
"""


def test_a_killed_build_changes_nothing(tmp_path: Path) -> None:
    job = job_of(tmp_path, self_join())
    job.build_index(scans=["s1"])
    before = index_file(job.folder, "minimal").read_bytes()
    command = [sys.executable, "-c", _KILLED, str(job.folder.parent), job.id]
    assert subprocess.run(command, check=False).returncode == -9
    assert index_file(job.folder, "minimal").read_bytes() == before
    assert list(job.folder.glob("incomplete-*"))
    job.build_index()
    assert not list(job.folder.glob("incomplete-*"))
    assert ids(job.lineage({"dept": "a"}, mode="indexed")) == ids(
        job.lineage({"dept": "a"}, mode="stored")
    )


values = st.tuples(
    st.sampled_from([None, "", "a", "b"]),
    st.sampled_from([None, 0.0, -0.0, 1.5, float("nan")]),
    st.sampled_from([None, [], [None], [0.0], [float("nan")], [1.5, None]]),
)


@given(st.lists(values, max_size=12), st.lists(values, max_size=6), st.booleans())
@settings(max_examples=count(60))
def test_values_are_found_as_targets_are_compared(
    rows: list[Any], wanted: list[Any], many: bool
) -> None:
    kinds = (pa.string(), pa.float64(), pa.list_(pa.float64()))
    columns = tuple(Column(place, "x", DOUBLE) for place in range(3))

    def table(of: list[Any]) -> pa.Table:
        arrays = {f"c{n}": pa.array([row[n] for row in of], kind) for n, kind in enumerate(kinds)}
        return pa.table(arrays)

    def plain(row: Any) -> str:
        return repr(row).replace("-0.0", "0.0")

    output = Output(table(rows), columns)
    wanted = wanted * 20 if many else wanted
    places, found = output.find(table(wanted))
    assert list(zip(places.tolist(), found.tolist(), strict=True)) == [
        (place, number)
        for place, target in enumerate(wanted)
        for number, row in enumerate(rows)
        if plain(row) == plain(target)
    ]
    groups, firsts = output.groups([0, 1, 2])
    kinds_seen = list(dict.fromkeys(map(plain, rows)))
    assert groups.tolist() == [kinds_seen.index(plain(row)) for row in rows]
    assert [plain(rows[first]) for first in firsts.tolist()] == kinds_seen


def test_built_without_stored_results(tmp_path: Path) -> None:
    pipeline = pipeline_of(self_join())
    job, (reference, _) = make_job(tmp_path, pipeline)
    replace_job(job.folder, msgspec.structs.replace(job.record, intermediates=()))
    job = open_job(job.folder.parent, job.id)
    job.build_index()
    rows = reference.distinct_rows()
    answer = job.lineage([*rows, rows[0]], mode="indexed")
    check_answer(answer, reference, pipeline.graph, rows)


@pytest.mark.parametrize("files", [1, 3])
def test_built_by_spark(spark: Any, tmp_path: Path, files: int) -> None:
    job = job_of(tmp_path, self_join())
    job = split_source(job) if files > 1 else job
    job.build_index(engine="spark", spark=spark)
    for target in ({"dept": "a"}, "total > 0", [{"dept": None}, {"dept": "b"}]):
        ours, theirs = (job.lineage(target, mode=mode) for mode in ("indexed", "stored"))
        assert ids(ours) == ids(theirs)
    one, other = (job.lineage({"dept": "a"}, mode=m).scan("s0") for m in ("indexed", "stored"))
    assert one.to_spark(spark).count() == other.count()
    asked = [["dept = 'b'", "dept = 'a'"], "dept = 'b'"]
    for target in asked:
        fetched = job.lineage(target, mode="indexed", engine="spark", spark=spark)
        for scan, rows in zip(fetched.scans, job.lineage(target, mode="stored").scans, strict=True):
            keys = [(name, "ascending") for name in ("id", "pay")]
            assert (
                scan.to_arrow().sort_by(keys).to_pylist()
                == rows.to_arrow().sort_by(keys).to_pylist()
            )
        assert fetched["staff"].head(1).num_rows == 1
    found = [job.forward("s1", where="id = 2", engine=e, spark=spark) for e in ("spark", "duckdb")]
    assert found[0].row_numbers().tolist() == found[1].row_numbers().tolist()
