"""The time of fresh processes: importing, the command line's help, a job's first question.

Each round starts processes of its own, one after the other: once with the files in the operating
system's cache, where the process alone is cold, and once with the job's and the sources' files
dropped from it. Modules are compiled, as an installer leaves them, whatever the caller's Python is
told about that: a round before the timed ones sees to it.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

import predtrace
from tpch.bench.figures import Times
from tpch.errors import TpchError

INTERPRETER, IMPORT, HELP = "python", "import predtrace", "predtrace --help"
PROCESSES: Mapping[str, list[str]] = {
    INTERPRETER: [sys.executable, "-c", "pass"],
    IMPORT: [sys.executable, "-c", "import predtrace"],
    HELP: [sys.executable, "-m", "predtrace.cli", "--help"],
}
"""What is timed as a whole, from starting the process to its end."""

LOAD, OPEN, ENGINE, FIRST, SECOND = "load", "open", "engine", "first", "second"
_QUESTION = """
import itertools, json, sys, time
clocks = {"seconds": time.perf_counter, "cpu": time.process_time}
times = [[clock() for clock in clocks.values()]]
def done():
    times.append([clock() for clock in clocks.values()])
import predtrace
from predtrace.sql import database
done()
job = predtrace.open_job(sys.argv[1], sys.argv[2])
done()
database()
done()
target = tuple(column[0].as_py() for column in job.output_arrow().columns)
done()
for _ in range(2):
    answer = job.lineage(target, engine="duckdb")
    for scan in answer.scans:
        scan.row_ids()
    done()
names = ("load", "open", "engine", "target", "first", "second")
spent = {
    clock: dict(zip(names, (b - a for a, b in itertools.pairwise(column))))
    for clock, column in zip(clocks, zip(*times))
}
print(json.dumps(spent))
"""


class ProcessFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds of whole processes, by `PROCESSES`, and what they took of the processors."""

    processes: dict[str, Times]
    cpu: dict[str, Times]

    def beyond_interpreter(self, name: str) -> Times:
        """What a process takes beyond an interpreter that does nothing, in the same round."""
        pairs = zip(self.processes[name].rounds, self.processes[INTERPRETER].rounds, strict=True)
        return Times([whole - bare for whole, bare in pairs])


class QuestionFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds in fresh processes of one query's job, per round.

    `load` imports what questions need, `open` opens the job, `engine` starts DuckDB, `first` is
    the first question (row ids of all scans), `second` the same one again. `cpu` is what that
    took of the processors. `uncached` are the seconds when no file was in the system's cache;
    empty where it cannot be told to drop files.
    """

    number: int
    seconds: dict[str, Times]
    cpu: dict[str, Times]
    uncached: dict[str, Times] = {}

    @property
    def starting(self) -> Times:
        """Opening the job and starting the engine."""
        pairs = zip(self.seconds[OPEN].rounds, self.seconds[ENGINE].rounds, strict=True)
        return Times([opened + engine for opened, engine in pairs])

    @property
    def cold(self) -> Times:
        """From opening the job to the first answer."""
        pairs = zip(self.starting.rounds, self.seconds[FIRST].rounds, strict=True)
        return Times([starting + first for starting, first in pairs])


class StartupFigures(msgspec.Struct, frozen=True, kw_only=True):
    """The processes, or one query's first question."""

    processes: ProcessFigures | None = None
    question: QuestionFigures | None = None


def measure_processes(
    rounds: int, step: Callable[[str], None] = lambda name: None
) -> ProcessFigures:
    """Time whole processes. Raises TpchError if one fails."""
    seconds: dict[str, list[float]] = {name: [] for name in PROCESSES}
    cpu: dict[str, list[float]] = {name: [] for name in PROCESSES}
    with _compiled() as environment:
        for done in range(rounds + 1):
            step(f"processes, round {done} of {rounds}")
            for name, command in PROCESSES.items():
                started, before = time.perf_counter(), _cpu_of_children()
                _output(command, environment)
                seconds[name].append(time.perf_counter() - started)
                cpu[name].append(_cpu_of_children() - before)
    return ProcessFigures(
        processes={name: Times(times[1:]) for name, times in seconds.items()},
        cpu={name: Times(times[1:]) for name, times in cpu.items()},
    )


def measure_question(
    number: int,
    store: Path,
    job: str,
    rounds: int,
    step: Callable[[str], None] = lambda name: None,
) -> QuestionFigures:
    """Time a job's first question in fresh processes. Raises TpchError if one fails."""
    command = [sys.executable, "-c", _QUESTION, str(store), job]
    files = _files_of(store, job) if hasattr(os, "posix_fadvise") else []
    warm: list[_Spent] = []
    uncached: list[_Spent] = []
    with _compiled() as environment:
        for done in range(rounds + 1):
            step(f"first question, round {done} of {rounds}")
            warm.append(_spent(command, environment))
            if files:
                _drop(files)
                uncached.append(_spent(command, environment))
    return QuestionFigures(
        number=number,
        seconds=_times(warm[1:], "seconds"),
        cpu=_times(warm[1:], "cpu"),
        uncached=_times(uncached[1:], "seconds"),
    )


_Spent = dict[str, dict[str, float]]
"""By clock and part."""


def _spent(command: list[str], environment: Mapping[str, str]) -> _Spent:
    return msgspec.json.decode(_output(command, environment), type=_Spent)


@contextmanager
def _compiled() -> Iterator[Mapping[str, str]]:
    """An environment whose processes find modules compiled by the first of them."""
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as folder:
        yield {**inherited, "PYTHONPYCACHEPREFIX": folder}


def _times(found: list[_Spent], clock: str) -> dict[str, Times]:
    names = (LOAD, OPEN, ENGINE, FIRST, SECOND) if found else ()
    return {name: Times([times[clock][name] for times in found]) for name in names}


def _files_of(store: Path, job: str) -> list[Path]:
    """The files that a job's questions may read."""
    opened = predtrace.open_job(store, job)
    stored = [path for path in opened.folder.rglob("*") if path.is_file()]
    sources = (file.path for source in opened.record.sources for file in source.files)
    return [*stored, *map(Path, sources)]


def _drop(files: list[Path]) -> None:
    """Let the system forget what it holds of the files; they must be on the disk for that."""
    for file in files:
        descriptor = os.open(file, os.O_RDONLY)
        try:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _output(command: list[str], environment: Mapping[str, str]) -> bytes:
    try:
        return subprocess.run(command, capture_output=True, check=True, env=environment).stdout
    except subprocess.CalledProcessError as error:
        lines = error.stderr.decode(errors="replace").strip().splitlines()
        raise TpchError(f"a process failed: {lines[-1] if lines else error}") from error
