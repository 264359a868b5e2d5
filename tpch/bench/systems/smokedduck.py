"""SmokedDuck, a DuckDB that captures row ids in its operators (Psallidas and Wu 2018).

It is a wheel of its own, of another DuckDB; it runs in another interpreter, which the variable
`PYTHON` names, and is asked through a pipe (see `smokedduck_child`). Its tables are
loaded from the same files, so that row numbers agree. Scans of a table that is read several
times cannot be told apart in what it answers.
"""

from __future__ import annotations

import contextlib
import datetime
import decimal
import functools
import json
import math
import os
import select
import subprocess
import tempfile
import weakref
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import sqlglot

from tpch.bench.perm_query import ROW
from tpch.bench.systems.base import Ids, Ints, Row, Subject
from tpch.bench.systems.reader import Reader
from tpch.errors import TpchError
from tpch.queries import read_query

PYTHON = "SMOKEDDUCK_PYTHON"
"""The environment's variable with the interpreter that has the wheel."""
_INSTALL = (
    f"SmokedDuck is not installed: python3.11 -m venv DIR && DIR/bin/pip install smokedduck "
    f"'numpy<2' 'pandas<3', then set {PYTHON}=DIR/bin/python"
)
_CHILD = Path(__file__).with_name("smokedduck_child.py")
_SECONDS = 120.0
_CLOSE = 1e-6
"""Values of outputs are matched up to this: means are doubles here, rounded decimals in Spark."""


class SmokedDuck:
    """Lineage captured while the query runs, in its own process."""

    kept_bytes = 0

    def __init__(self, subject: Subject) -> None:
        tables = [scan.table for scan in subject.graph.scans()]
        twice = next((table for table in tables if tables.count(table) > 1), None)
        if twice is not None:
            raise TpchError(f"SmokedDuck: {twice} is read more than once: scans are not told apart")
        self._reader = Reader(subject)
        self._scans = {scan.table.rpartition(".")[2]: scan.id for scan in subject.graph.scans()}
        self._child = _child(os.environ.get(PYTHON, ""))
        for scan in subject.graph.scans():
            files = [file.path for file in subject.sources[scan.table].files]
            self._child.ask("load", table=scan.table.rpartition(".")[2], files=files)
        text = sqlglot.transpile(read_query(subject.number), read="spark", write="duckdb")[0]
        found = self._child.ask("capture", query=text)
        self.plain: float = found["plain"]
        self.captured: Mapping[str, float] = {
            "while it runs": max(0.0, found["captured"] - found["plain"])
        }
        output = subject.job.output_arrow()
        self._output = list(zip(*(c.to_pylist() for c in output.columns), strict=True))
        self._places = _places(self._output, list(zip(*found["columns"], strict=True)))

    def ids(self, targets: Sequence[Row]) -> Ids:
        """One question for all targets; their pairs by scan."""
        asked = {place: number for number, t in enumerate(targets) for place in self._places[t]}
        with tempfile.TemporaryDirectory() as folder:
            file = str(Path(folder) / "pairs.npz")
            names = self._child.ask("backward", outputs=sorted(asked), file=file)["names"]
            with np.load(file) as arrays:
                pairs = {name: arrays[str(place)] for place, name in enumerate(names)}
        empty = np.empty((0, 2), np.int64)
        return {
            scan: _numbered(pairs.get(name, empty), asked) for name, scan in self._scans.items()
        }

    def rows(self, target: Row) -> Iterable[pa.Table]:
        """The ids, then every source once, for the numbers found."""
        return self._reader.rows(self.ids([target]))

    def reached(self, rows: Mapping[int, int]) -> dict[int, Ints]:
        """One question for each scan."""
        tables = {scan: table for table, scan in self._scans.items()}
        found = {}
        for scan, row in rows.items():
            outputs = set(self._child.ask("forward", table=tables[scan], rows=[row])["outputs"])
            numbers = (
                number
                for number, values in enumerate(self._output)
                if not outputs.isdisjoint(self._places[values])
            )
            found[scan] = np.fromiter(numbers, np.int64)
        return found


class _Child:
    """The other interpreter, and what is asked of it."""

    def __init__(self, python: str) -> None:
        self._process = subprocess.Popen(
            [python, "-I", str(_CHILD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        weakref.finalize(self, _end, self._process)

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        """The answer. Raises TpchError for an error, or a process that does not answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
            self._process.stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], _SECONDS)
        line = self._process.stdout.readline() if ready else ""
        if not line:
            why = "its process ended" if ready else f"no answer in {_SECONDS:g} s"
            self._process.kill()
            raise TpchError(f"SmokedDuck: {do}: {why}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise TpchError(f"SmokedDuck: {do}: {answer['error']}")
        return answer


def _end(process: subprocess.Popen[str]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
    process.kill()
    process.wait()


def _child(python: str) -> _Child:
    """The process of this interpreter; another if it ended. Raises TpchError without the wheel."""
    found = _started(python)
    if not found.alive:
        _started.cache_clear()
        found = _started(python)
    return found


@functools.lru_cache(maxsize=1)
def _started(python: str) -> _Child:
    try:
        done = subprocess.run([python, "-I", "-c", "import smokedduck, numpy, pandas"], check=False)
    except OSError as error:
        raise TpchError(_INSTALL) from error
    if done.returncode:
        raise TpchError(_INSTALL)
    return _Child(python)


def _numbered(pairs: Any, asked: Mapping[int, int]) -> pa.Table:
    """The pairs with the targets' numbers for the outputs'."""
    kept = pairs[np.isin(pairs[:, 0], list(asked))]
    targets = np.array([asked[output] for output in kept[:, 0].tolist()], np.int64)
    return pa.table({"target": targets, ROW: kept[:, 1].astype(np.int64)})


def _places(output: Sequence[Row], theirs: Sequence[Row]) -> dict[Row, list[int]]:
    """For every output row of the job, where SmokedDuck has it."""
    by_text: dict[Row, list[int]] = {}
    for place, row in enumerate(theirs):
        by_text.setdefault(_texts(row), []).append(place)
    found = {}
    for row in dict.fromkeys(output):
        candidates = by_text.get(_texts(tuple(map(_plain, row))), ())
        found[row] = [place for place in candidates if _close(row, theirs[place])]
        if not found[row]:
            raise TpchError("SmokedDuck: its result is not that of the job")
    return found


def _texts(row: Row) -> Row:
    """What is compared exactly of a row: all but numbers."""
    return tuple(None if isinstance(value, (int, float)) else value for value in row)


def _plain(value: Any) -> Any:
    match value:
        case decimal.Decimal():
            return float(value)
        case datetime.date():
            return value.isoformat()[:10]
        case _:
            return value


def _close(ours: Row, theirs: Row) -> bool:
    pairs = zip(map(_plain, ours), theirs, strict=True)
    numbers = ((a, b) for a, b in pairs if isinstance(a, (int, float)))
    return all(
        isinstance(b, (int, float)) and math.isclose(a, b, rel_tol=1e-9, abs_tol=_CLOSE)
        for a, b in numbers
    )
