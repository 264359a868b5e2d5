"""Ctrl-C: one line, exit status 130, nothing left in the store, no process left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from predtrace.environment.interrupts import interrupts_held

_SLOW = """
SELECT a.g, count(*) AS n FROM t a, t b, t c
WHERE (a.k * b.k + c.k) % 7 = 1 AND a.k > b.k GROUP BY a.g
"""
"""Hours of work; inference asks the solver about it before."""
_READING = """
import socket
from symbolic.solver import prove
import z3

x = z3.Int("x")
prove(x > 2, [x > 3])
ours, theirs = socket.socketpair()
print("ready", flush=True)
ours.makefile("rb").readline()
"""


@pytest.fixture(autouse=True)
def heeded() -> Iterator[None]:
    """Processes inherit that interrupts are ignored, as by a shell's jobs in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted(process: subprocess.Popen[str], patience: float) -> int:
    process.send_signal(signal.SIGINT)
    try:
        return process.wait(patience)
    finally:
        process.kill()


def test_a_process_that_asked_the_solver_can_be_interrupted() -> None:
    """Also while it waits for an answer on a socket, as for one of Spark."""
    command = [sys.executable, "-c", _READING]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.2)
        assert interrupted(process, 20) == -signal.SIGINT


def test_interrupts_wait_until_spark_has_started() -> None:
    before = signal.getsignal(signal.SIGINT)
    with interrupts_held() as held:
        assert not held
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        assert held == [signal.SIGINT]
    assert signal.getsignal(signal.SIGINT) is before

    def of_spark(number: int, frame: object) -> None:
        """Spark sets a handler when it has started."""

    try:
        with interrupts_held() as held:
            signal.signal(signal.SIGINT, of_spark)
        assert signal.getsignal(signal.SIGINT) is of_spark
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.spark
def test_a_run_is_interrupted(tmp_path: Path) -> None:
    rows = {"k": list(range(3000)), "g": [k % 5 for k in range(3000)]}
    pq.write_table(pa.table(rows), tmp_path / "t.parquet")
    (tmp_path / "q.sql").write_text(_SLOW)
    store = tmp_path / "store"
    arguments = ["run", tmp_path / "q.sql", "--tables", tmp_path, "--store", store]
    arguments += ["--conf", "spark.driver.memory=1g", "--conf", "spark.master=local[1]"]
    command = [sys.executable, "-m", "predtrace.cli", *map(str, arguments)]
    with (tmp_path / "stderr").open("w+") as told:
        process = subprocess.Popen(
            command, stdout=told, stderr=told, text=True, start_new_session=True
        )
        try:
            until = time.monotonic() + 200
            while not list(store.glob("incomplete-*/*/_temporary")):
                assert process.poll() is None
                assert time.monotonic() < until
                time.sleep(0.05)
            assert interrupted(process, 60) == 130
            while _group(process.pid) and time.monotonic() < until:
                time.sleep(0.05)
            assert not _group(process.pid)
        finally:
            if _group(process.pid):
                os.killpg(process.pid, signal.SIGKILL)
        told.seek(0)
        text = told.read()
    assert text.endswith("predtrace: interrupted\n")
    assert "Traceback" not in text
    assert "\tat " not in text
    assert not list(store.iterdir())


def _group(leader: int) -> bool:
    """Whether a process group still has processes."""
    try:
        os.killpg(leader, 0)
    except ProcessLookupError:
        return False
    return True
