"""Sources that were rewritten behind a job's back, and answers that cannot be empty."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from predtrace import JobHandle
from predtrace.durable.checksums import fingerprint
from predtrace.errors import SourceError
from predtrace.inference import infer
from predtrace.jobs.model import Source, SourceFile
from predtrace.jobs.snapshot import check_snapshot, snapshot_files, with_fingerprints
from predtrace.jobs.store import replace_job
from predtrace.vocabulary import FULL, QUICK
from pushdown.graph import OperatorGraph
from pushdown.operators import AntiJoin, OuterJoin
from symbolic.expr import call
from tests.jobs.examples import source
from tests.test_lineage import BOSS, BOSSES, graph, make_job
from tests.trust.jobs import ROWS_OF_TARGET, TARGET, make_store, opened, rows_of

MODES = ("stored", "replayed", "refined", "naive", "auto")


def rewrite(path: Path, data: bytes) -> None:
    """Other bytes of the same length, under the same times."""
    status = path.stat()
    assert len(data) == status.st_size
    assert data != path.read_bytes()
    path.write_bytes(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def taken(path: Path) -> Source:
    return msgspec.structs.replace(
        source("orders"), roots=(str(path),), files=snapshot_files([str(path)])
    )


def text(size: int) -> bytes:
    return random.Random(1).randbytes(size)


def table(rows: int, last: int) -> pa.Table:
    return pa.table({"a": pa.array([*range(rows), last], pa.int64())})


@pytest.mark.parametrize("size", [10, 5000, 262_144, 262_145, 3_000_000])
@pytest.mark.parametrize("place", ["first", "last"])
def test_both_ends_of_any_file_are_compared(size: int, place: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(text(size))
    before = taken(path)
    check_snapshot(before)
    data = bytearray(text(size))
    data[0 if place == "first" else -1] ^= 1
    rewrite(path, bytes(data))
    with pytest.raises(
        SourceError, match=r"orders changed .*a\.csv has other content with the same"
    ):
        check_snapshot(before)


def test_every_byte_of_a_small_file_is_compared(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    whole = text(100_000)
    path.write_bytes(whole)
    before = taken(path)
    chosen = random.Random(2)
    for _ in range(30):
        data = bytearray(whole)
        data[chosen.randrange(len(whole))] ^= 1 << chosen.randrange(8)
        rewrite(path, bytes(data))
        with pytest.raises(SourceError, match="other content"):
            check_snapshot(before)
        rewrite(path, whole)
        check_snapshot(before)


def test_a_full_fingerprint_has_every_byte_of_a_large_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    whole = text(2_000_000)
    path.write_bytes(whole)
    before = with_fingerprints(taken(path), FULL)
    check_snapshot(before)
    chosen = random.Random(3)
    for _ in range(10):
        data = bytearray(whole)
        data[chosen.randrange(len(whole))] ^= 1 << chosen.randrange(8)
        rewrite(path, bytes(data))
        with pytest.raises(SourceError, match="other content"):
            check_snapshot(before)
        rewrite(path, whole)


def test_a_parquet_file_is_known_by_its_footer(tmp_path: Path) -> None:
    """Two files that differ in one value have other statistics, far from the sample's blocks."""
    path, other = tmp_path / "a.parquet", tmp_path / "b.parquet"
    for place, last in ((path, 10**6), (other, 10**6 + 1)):
        pq.write_table(table(300_000, last), place, compression="none", use_dictionary=False)
    before = taken(path)
    rewrite(path, other.read_bytes())
    with pytest.raises(SourceError, match="other content"):
        check_snapshot(before)


def test_a_long_footer_is_read_whole(tmp_path: Path) -> None:
    """The statistics of the first columns lie far before the end of the file."""
    path, other = tmp_path / "a.parquet", tmp_path / "b.parquet"
    for place, last in ((path, 5), (other, 6)):
        columns = {f"column {n}": pa.array([0, 9], pa.int64()) for n in range(3000)}
        columns["column 7"] = pa.array([0, last], pa.int64())
        pq.write_table(pa.table(columns), place, compression="none", use_dictionary=False)
    data = path.read_bytes()
    assert int.from_bytes(data[-8:-4], "little") > 1 << 18
    before = taken(path)
    rewrite(path, other.read_bytes())
    with pytest.raises(SourceError, match="other content"):
        check_snapshot(before)


def test_a_fingerprint_says_its_kind_and_is_remembered_only_of_settled_files(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    assert fingerprint(str(path), QUICK).startswith("quick:")
    assert fingerprint(str(path), FULL).startswith("full:")
    old = fingerprint(str(path), FULL)
    # Within one tick of a clock neither size nor times may tell.
    rewrite(path, b"abd")
    assert fingerprint(str(path), FULL) != old


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SourceError, match=r"pipe is neither a file nor a folder"):
        snapshot_files([str(tmp_path / "pipe")])
    before = msgspec.structs.replace(
        source("orders"),
        roots=("/dev/zero",),
        files=(SourceFile(path="/dev/zero", size=0, modified=0),),
    )
    with pytest.raises(SourceError, match="neither a file nor a folder"):
        check_snapshot(before)


# -- questions


def edit_rows(job: JobHandle, change: Callable[[pa.Table], pa.Table]) -> None:
    """Rewrite the source of the job in place, under the size and times of before."""
    (path,) = (Path(file.path) for file in job.record.sources[0].files)
    status = path.stat()
    pq.write_table(change(pq.read_table(path)), path)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    forget_size = msgspec.structs.replace(job.record.sources[0].files[0], size=path.stat().st_size)
    sources = (msgspec.structs.replace(job.record.sources[0], files=(forget_size,)),)
    replace_job(job.folder, msgspec.structs.replace(job.record, sources=sources))


def without_fingerprints(job: JobHandle) -> None:
    """The job as earlier versions saved it."""
    files = tuple(
        msgspec.structs.replace(file, fingerprint="") for file in job.record.sources[0].files
    )
    sources = (msgspec.structs.replace(job.record.sources[0], files=files),)
    replace_job(job.folder, msgspec.structs.replace(job.record, sources=sources))


def other_bosses(rows: pa.Table) -> pa.Table:
    """Nobody has the boss of the target's rows any more."""
    place = rows.column_names.index("boss")
    values = [None if value is None else value + 100 for value in rows["boss"].to_pylist()]
    return rows.set_column(place, rows.field("boss"), pa.array(values, rows["boss"].type))


@pytest.mark.parametrize("mode", MODES)
def test_a_rewritten_source_is_refused_in_every_mode(mode: str, tmp_path: Path) -> None:
    job = opened(make_store(tmp_path))
    edit_rows(job, other_bosses)
    with pytest.raises(SourceError, match=r"staff changed since the job ran: .*other content"):
        job.lineage(TARGET, mode=mode)


def test_rows_by_an_index_are_not_fetched_from_a_rewritten_source(tmp_path: Path) -> None:
    job = opened(make_store(tmp_path))
    job.build_index()
    edit_rows(job, other_bosses)
    answer = job.lineage(TARGET, mode="indexed")
    with pytest.raises(SourceError, match="other content"):
        answer.scans[0].to_arrow()


READS: dict[str, Callable[..., object]] = {
    "count": lambda rows, _: rows.count(),
    "to_arrow": lambda rows, _: rows.to_arrow(),
    "one column": lambda rows, _: rows.to_arrow(["id"]),
    "to_pandas": lambda rows, _: rows.to_pandas(),
    "row_ids": lambda rows, _: rows.row_ids(),
    "to_batches": lambda rows, _: list(rows.to_batches()),
    "head": lambda rows, _: rows.head(3),
    "write_parquet": lambda rows, out: rows.write_parquet(out),
}


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("mode", ["stored", "replayed", "refined", "auto"])
def test_an_answer_that_must_have_rows_is_not_empty(mode: str, read: str, tmp_path: Path) -> None:
    job = opened(make_store(tmp_path))
    edit_rows(job, other_bosses)
    without_fingerprints(job)
    for target in (TARGET, [TARGET]):
        answer = job.lineage(target, mode=mode)
        assert any("without fingerprints" in note for note in answer.notes)
        with pytest.raises(SourceError, match="every output row comes from some row of staff"):
            READS[read](answer.scan("e"), tmp_path / "out")
        if mode == "stored":
            with pytest.raises(SourceError, match="every output row comes from"):
                [READS[read](scan, tmp_path / "out") for scan in answer.scans]


def test_one_target_of_several_that_has_no_rows_is_noticed(tmp_path: Path) -> None:
    job = opened(make_store(tmp_path))

    def without_b(rows: pa.Table) -> pa.Table:
        return rows.filter(pa.compute.not_equal(rows["dept"], "b"))

    edit_rows(job, without_b)
    without_fingerprints(job)
    answer = job.lineage([TARGET, ("b", 50)], mode="stored")
    with pytest.raises(SourceError, match="every output row comes from"):
        answer.scan("e").to_arrow()
    assert rows_of(job.lineage([TARGET], mode="stored")) == ROWS_OF_TARGET


def test_a_target_that_is_not_in_the_output_has_no_rows(tmp_path: Path) -> None:
    job = opened(make_store(tmp_path))
    for target in (("a", 99), [("a", 99)], "dept = 'nobody'"):
        answer = job.lineage(target)
        assert [scan.count() for scan in answer.scans] == [0, 0]
        assert [scan.to_arrow().num_rows for scan in answer.scans] == [0, 0]


def test_a_target_on_trust_may_have_no_rows(tmp_path: Path) -> None:
    job = opened(make_store(tmp_path))
    replace_job(job.folder, msgspec.structs.replace(job.record, output=None))
    answer = job.lineage(("nobody", 1), mode="stored")
    assert [scan.count() for scan in answer.scans] == [0, 0]
    assert any("on trust" in note for note in answer.notes)


def contributing(root: object) -> dict[str, bool]:
    _, _, employees, bosses = graph()
    plan = infer(OperatorGraph((root, employees, bosses), 2))
    names = {0: "e", 1: "b"}
    return {names[scan.node]: scan.contributes for scan in plan.scans}


def test_sides_that_need_not_contribute_may_be_empty() -> None:
    """What an outer join pads, and what an anti join looks for, need no row."""
    condition = call("eq", BOSS, BOSSES[0])
    expected = {"left": (True, False), "right": (False, True), "full": (False, False)}
    for kind, (left, right) in expected.items():
        joined = OuterJoin(id=2, left=0, right=1, condition=condition, kind=kind)
        assert contributing(joined) == {"e": left, "b": right}
    anti = AntiJoin(id=2, left=0, right=1, condition=condition)
    assert contributing(anti) == {"e": True, "b": False}


def test_a_record_without_fingerprints_says_so(tmp_path: Path) -> None:
    job = opened(make_store(tmp_path))
    assert not any("fingerprints" in note for note in job.lineage(TARGET).notes)
    without_fingerprints(job)
    answer = job.lineage(TARGET)
    assert rows_of(answer) == ROWS_OF_TARGET
    assert any("without fingerprints" in note for note in answer.notes)
    assert make_job(tmp_path).sources[0].files[0].fingerprint


def test_links_out_of_the_recorded_paths_are_shown(tmp_path: Path) -> None:
    job = opened(make_store(tmp_path))
    (source,) = job.record.sources
    table = Path(source.roots[0])
    folder = tmp_path / "folder"
    folder.mkdir()
    table.rename(tmp_path / "elsewhere.parquet")
    (folder / "part-0.parquet").symlink_to(tmp_path / "elsewhere.parquet")
    for root, told in ((folder, True), (folder / "part-0.parquet", False)):
        files = snapshot_files([str(root)])
        moved = msgspec.structs.replace(source, roots=(str(root),), files=files)
        replace_job(job.folder, msgspec.structs.replace(job.record, sources=(moved,)))
        answer = job.lineage(TARGET)
        assert rows_of(answer) == ROWS_OF_TARGET
        assert answer.scans[0].paths == (str(root),)
        note = f"part-0.parquet is a link to {tmp_path / 'elsewhere.parquet'}, outside of its paths"
        assert any(note in line for line in answer.notes) == told
        assert str(root) in answer.explain()
