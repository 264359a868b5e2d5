from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from predtrace.durable import owners as process
from predtrace.errors import JobFormatError, StoreError
from predtrace.jobs.store import JobStore
from tests.jobs.examples import example_job


def saved(store: JobStore, query: str = "SELECT 1\nFROM t") -> str:
    writer = store.begin()
    (writer.folder / "output").mkdir()
    writer.commit(example_job(writer.id, query))
    return writer.id


def test_commit_and_open(tmp_path: Path) -> None:
    store = JobStore(tmp_path / "deep" / "lineage")
    job_id = saved(store)
    assert store.open(job_id) == example_job(job_id, "SELECT 1\nFROM t")
    assert store.folder(job_id) == tmp_path / "deep" / "lineage" / job_id
    assert (store.folder(job_id) / "output").is_dir()
    assert JobStore(f"file://{store.path}").open(job_id).id == job_id


def test_the_latest_is_the_one_begun_last(tmp_path: Path) -> None:
    """Also of jobs of the same second."""
    store = JobStore(tmp_path)
    for _ in range(40):
        job_id = saved(store)
        assert store.open("latest").id == job_id


def test_jobs_begun_in_the_same_instant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process, which takes the same id between a look and the folder, gives way or wins."""
    store = JobStore(tmp_path)
    made = Path.mkdir
    rivals = []

    def mkdir(self: Path, *args: object, **options: object) -> None:
        if self.name.startswith("incomplete-") and not rivals:
            rivals.append(self.with_name(self.name.partition("+")[0] + "+another"))
            made(rivals[0])
        made(self, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Path, "mkdir", mkdir)
    job_id = saved(store)
    assert rivals[0].name != f"incomplete-{job_id}+another"
    assert {entry.name for entry in tmp_path.iterdir()} == {rivals[0].name, job_id}


def test_listing(tmp_path: Path) -> None:
    store = JobStore(tmp_path)
    job_id = saved(store, "\n-- all of it\n  SELECT a\nFROM t")
    (summary,) = store.jobs()
    assert (summary.id, summary.query, summary.rows) == (job_id, "SELECT a", 5)
    assert (summary.bytes, summary.scans, summary.problem) == (100, 2, "")


def test_an_incomplete_job_is_never_listed(tmp_path: Path) -> None:
    store = JobStore(tmp_path)
    writer = store.begin()
    (writer.folder / "job.json").write_bytes(b"half a fil")
    assert store.jobs() == []
    with pytest.raises(StoreError, match="holds no jobs"):
        store.open(writer.id)
    store.begin()
    assert writer.folder.exists()  # its process, this one, still runs
    writer.abort()
    assert not writer.folder.exists()


def test_a_block_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), JobStore(tmp_path).begin():
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_abort_after_commit_keeps_the_job(tmp_path: Path) -> None:
    store = JobStore(tmp_path)
    with store.begin() as writer:
        writer.commit(example_job(writer.id))
    assert [summary.id for summary in store.jobs()] == [writer.id]


def test_a_killed_run_is_cleaned_up_and_running_again_works(tmp_path: Path) -> None:
    code = (
        "import sys, time; from predtrace.jobs.store import JobStore\n"
        "writer = JobStore(sys.argv[1]).begin()\n"
        "(writer.folder / 'job.json').write_text('half')\n"
        "print(writer.folder, flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        folder = Path(child.stdout.readline().strip())
        store = JobStore(tmp_path)
        store.begin().abort()
        assert folder.exists()  # it still runs
        os.kill(child.pid, signal.SIGKILL)
    assert store.jobs() == []
    link = folder.with_name(folder.name.replace("incomplete-", "incomplete-0"))
    link.symlink_to(tmp_path)
    job_id = saved(store)
    assert not folder.exists()
    assert not link.is_symlink()
    assert [summary.id for summary in store.jobs()] == [job_id]


def test_owner_is_gone_only_when_surely_so() -> None:
    me = process.this_process()
    assert process.parse_owner(str(me)) == me
    assert not process.is_gone(me)
    assert process.is_gone(msgspec.structs.replace(me, started="another"))
    assert not process.is_gone(msgspec.structs.replace(me, started="unknown"))
    assert process.is_gone(msgspec.structs.replace(me, pid=2**30))
    assert not process.is_gone(msgspec.structs.replace(me, pid=2**30, machine="elsewhere"))
    assert process.parse_owner("whatever") is None


def test_ps_tells_the_start_where_there_is_no_proc() -> None:
    first = process._ps_start(os.getpid())
    if first is None:
        pytest.skip("no ps here")
    assert first == process._ps_start(os.getpid())


def test_unique_prefix(tmp_path: Path) -> None:
    store = JobStore(tmp_path)
    for name in ("20260101-000000-aaaa", "20260101-000000-ab00", "20260202-000000-cccc"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "job.json").write_bytes(b"")
    assert store.folder("20260202").name == "20260202-000000-cccc"
    assert store.folder("latest").name == "20260202-000000-cccc"
    with pytest.raises(StoreError, match=r"several jobs .*aaaa, .*ab00.*more of the id"):
        store.folder("20260101")
    with pytest.raises(StoreError, match=r"no job '20260202-000000-cccd'.*near it: .*cccc"):
        store.folder("20260202-000000-cccd")
    with pytest.raises(StoreError, match="no job ''"):
        store.folder("")
    with pytest.raises(StoreError, match=r"no job '\.\./x'"):
        store.folder("../x")


def test_a_corrupt_job_is_listed_as_such(tmp_path: Path) -> None:
    store = JobStore(tmp_path)
    good, bad = saved(store), saved(store)
    file = store.folder(bad) / "job.json"
    file.write_bytes(file.read_bytes()[:200])
    problems = {summary.id: summary.problem for summary in store.jobs()}
    assert problems[good] == ""
    assert "truncated" in problems[bad]
    with pytest.raises(JobFormatError, match=str(file)):
        store.open(bad)


def test_missing_store(tmp_path: Path) -> None:
    store = JobStore(tmp_path / "none")
    for read in (store.jobs, lambda: store.open("x")):
        with pytest.raises(StoreError, match=r"there is no store .*none.*predtrace run"):
            read()


def test_a_store_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"file cannot be written .*choose another"):
        JobStore(tmp_path / "file").begin()


def test_remote_store() -> None:
    with pytest.raises(StoreError, match="not a local folder"):
        JobStore("s3://bucket/lineage")


def test_a_store_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(path: Path, *options: object, **others: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(Path, "mkdir", denied)  # root may write into any folder
    with pytest.raises(StoreError, match="Permission denied"):
        JobStore(tmp_path / "lineage").begin()


def test_a_full_disk_at_commit_lists_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = JobStore(tmp_path)
    writer = store.begin()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match="No space left"):
        writer.commit(example_job(writer.id))
    assert store.jobs() == []


def test_commit_of_another_job(tmp_path: Path) -> None:
    writer = JobStore(tmp_path).begin()
    with pytest.raises(ValueError, match="cannot be committed"):
        writer.commit(example_job("another"))
