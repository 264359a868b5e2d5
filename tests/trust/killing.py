"""Kills a process at each of its writes, one after the other, and looks at what is left.

    python -m tests.trust.killing FOLDER run|build|index

Each attempt is a process of its own, forked from this one, which has everything imported and
nothing started. It is killed right before its n-th write into the store; then another process
checks the store, sweeps it and does the work again. Prints the number of kills.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb  # noqa: F401 - imported once, for all processes
import msgspec
import pyarrow.dataset  # noqa: F401

from predtrace.jobs.store import JobStore, replace_job
from tests.trust.jobs import (
    ROWS_OF_TARGET,
    TARGET,
    inferred,
    make_store,
    opened,
    rows_of,
)

_WRITES = {"os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.symlink", "os.link", "os.truncate"}
_MOST = 200


def kill_at(write: int, folder: Path) -> None:
    """End this process, as if by accident, right before its n-th write under a folder."""
    count = 0

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal count
        if event == "open":
            path, mode, flags = arguments
            writes = (flags or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) or set("wax+") & set(
                mode or ""
            )
        else:
            path, writes = arguments[0] if arguments else "", event in _WRITES
        if writes and isinstance(path, (str, os.PathLike)) and str(path).startswith(str(folder)):
            count += 1
            if count == write:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def in_process(work: Callable[[], None]) -> int:
    """Do it in a process of its own; how that ended, as `os.waitpid` says."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    return os.waitpid(child, 0)[1]


def store_of(folder: Path) -> tuple[Path, str]:
    return folder / "store", "latest"


def run(folder: Path) -> None:
    make_store(folder)


def build(folder: Path) -> None:
    opened(store_of(folder)).build_intermediates()


def index(folder: Path) -> None:
    opened(store_of(folder)).build_index()


def prepare_nothing(folder: Path) -> None:
    folder.mkdir()


def prepare_job(folder: Path) -> None:
    folder.mkdir()
    make_store(folder)


def prepare_bare_job(folder: Path) -> None:
    """A job that has stored nothing but its output."""
    prepare_job(folder)
    job = opened(store_of(folder))
    (item,) = job.record.intermediates
    replace_job(job.folder, msgspec.structs.replace(job.record, intermediates=()))
    shutil.rmtree(job.folder / item.result.folder)


WORK = {
    "run": (prepare_nothing, run),
    "build": (prepare_bare_job, build),
    "index": (prepare_job, index),
}


def check(kind: str, folder: Path) -> None:
    """What is there is whole; the next run leaves no rest, and the work can be done again."""
    store = JobStore(folder / "store")
    jobs = store.jobs() if store.path.exists() else []
    assert not [job.problem for job in jobs if job.problem]
    if jobs:
        answer = opened(store_of(folder)).lineage(TARGET)
        assert rows_of(answer) == ROWS_OF_TARGET
        assert answer.label == "precise"
    store.begin().abort()
    assert not list(folder.rglob("incomplete-*"))
    WORK[kind][1](folder)
    job = opened(store_of(folder))
    mode = "indexed" if kind == "index" else "stored"
    assert rows_of(job.lineage(TARGET, mode=mode)) == ROWS_OF_TARGET
    named = {item.result.folder for item in job.record.intermediates} | {"output"}
    assert {entry.name for entry in job.folder.iterdir() if entry.is_dir()} == named
    others = {entry.name for entry in job.folder.iterdir() if not entry.is_dir()}
    assert others <= {"job.json", "index-minimal.prx", "index.lock", "build.lock"}, others


def main(place: Path, kind: str) -> int:
    """Kill at every write of one kind of work; how many there were."""
    inferred()
    prepare, work = WORK[kind]
    assert in_process(lambda: prepare(place / "clean")) == 0
    for write in range(1, _MOST):
        folder = place / "tried"
        shutil.copytree(place / "clean", folder)

        def attempt(folder: Path = folder, write: int = write) -> None:
            kill_at(write, folder / "store")
            work(folder)

        status = in_process(attempt)
        assert status in (0, signal.SIGKILL), status
        assert in_process(lambda folder=folder: check(kind, folder)) == 0, (kind, write)  # type: ignore[misc]
        shutil.rmtree(folder)
        if status == 0:
            return write - 1
    raise AssertionError(f"more than {_MOST} writes")


if __name__ == "__main__":
    sys.stdout.write(f"{main(Path(sys.argv[1]).resolve(), sys.argv[2])}\n")
