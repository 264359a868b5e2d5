"""The row-id index of each query's job: its answers, its size, and the time to build and ask it.

For each job: run the query on DuckDB and build the index, in turns. Ask in both directions, warm.
Compare the ids with another mode's, and forward answers with the inverse of backward answers. The
index's bytes stand beside those of the same pairs as plain int32 columns (sorted, both ways, as
row-id lists in SmokedDuck are) under zstd.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import sqlglot

import predtrace
from tpch.data import TABLES, table_path
from tpch.queries import read_query

JOBS_FILE = "tpch-jobs.json"
"""The file in a store that names the job of each query."""

ROUNDS = 5
REACHED_ROWS = 40
MOST_MILLISECONDS = 5.0
MILLISECONDS_PER_MILLION = 10.0
MOST_BUILD_RATIO = 3.0
MOST_SIZE_RATIO = 0.5

Numbers = npt.NDArray[np.int64]


class IndexCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The results for one query's index.

    `links` counts pairs of output and source rows over all scans, `zstd_bytes` what they
    take as int32 columns, both ways. Times are the best of several rounds. `ids_ms` is the
    slowest look-up of one target's ids in one scan, beyond what its number of ids allows;
    `ask_ms` a whole question for one target, all scans; `forward_ms` the slowest look-up of
    one source row.
    """

    number: int
    output_rows: int
    links: int
    bytes: int
    zstd_bytes: int
    plain_bytes: int
    query_seconds: float
    build_seconds: float
    ids_ms: float
    ask_ms: float
    forward_ms: float
    label: str
    problems: tuple[str, ...]

    @property
    def build_ratio(self) -> float:
        """Building the index, in runs of the query on DuckDB."""
        return self.build_seconds / self.query_seconds

    @property
    def size_ratio(self) -> float:
        """The index's bytes, relative to compressed int32 columns."""
        return self.bytes / self.zstd_bytes

    def missed(self) -> list[str]:
        """The bounds that do not hold."""
        bounds = (
            ("bytes relative to int32 with zstd", self.size_ratio, MOST_SIZE_RATIO),
            ("build time in query runs", self.build_ratio, MOST_BUILD_RATIO),
            ("milliseconds for the ids of a target", self.ids_ms, MOST_MILLISECONDS),
        )
        return [
            f"{what}: {value:.2f}, more than {most:g}"
            for what, value, most in bounds
            if value > most
        ]


class IndexChecker:
    """Checks the indexes of jobs over one data folder."""

    def __init__(
        self,
        folder: Path,
        store: Path,
        *,
        targets: int = 40,
        mode: str = "stored",
        step: Callable[[str], None] = lambda name: None,
    ) -> None:
        self._store = store
        self._targets = targets
        self._mode = mode
        self._step = step
        self._jobs = jobs_of(store)
        self._database = duckdb.connect()
        for table in TABLES:
            place = str(table_path(folder, table))
            self._database.from_parquet(place).create_view(table)

    def check(self, number: int) -> IndexCheck:
        """Check one query's index, built anew."""
        job = predtrace.open_job(str(self._store), self._jobs[number])
        self._step("run and build")
        text = sqlglot.transpile(read_query(number), read="spark", write="duckdb")[0]
        queries, builds = [], []
        for _ in range(ROUNDS):
            queries.append(_seconds(lambda: self._database.sql(text).to_arrow_table()))
            for file in job.folder.glob("index-*.prx"):
                file.unlink()
            builds.append(_seconds(job.build_index))
        summary = job.build_index()
        rows = _rows(job)
        self._step("compare")
        answer = job.lineage(list(rows), mode="indexed")
        backward = {scan.node: _pairs(scan) for scan in answer.scans}
        chosen = list(rows)[:: max(1, len(rows) // self._targets)][: self._targets]
        problems = [
            *self._differences(job, chosen),
            *_not_inverse(job, answer, backward, list(rows.values())),
        ]
        self._step("ask")
        ids_ms, ask_ms = _backward_times(job, chosen)
        return IndexCheck(
            number=number,
            output_rows=summary.rows,
            links=sum(scan.links for scan in summary.scans),
            bytes=summary.bytes,
            zstd_bytes=sum(zstd_bytes(*pairs) for pairs in backward.values()),
            plain_bytes=summary.plain_bytes,
            query_seconds=min(queries),
            build_seconds=min(builds),
            ids_ms=ids_ms,
            ask_ms=ask_ms,
            forward_ms=_forward_times(job, answer, backward),
            label=answer.label,
            problems=tuple(problems),
        )

    def _differences(self, job: Any, targets: Sequence[Any]) -> Iterator[str]:
        """Where the index's answers are not another mode's."""
        ours = job.lineage(targets, mode="indexed")
        theirs = job.lineage(targets, mode=self._mode, engine="duckdb")
        for one, other in zip(ours.scans, theirs.scans, strict=True):
            same = _sorted(*_pairs(one)) == _sorted(*_pairs(other))
            if not same or one.label != other.label:
                yield f"{one.table}[{one.occurrence}]: not the answer of mode {self._mode}"


def jobs_of(store: Path) -> dict[int, str]:
    """Which job is which query's, as `remember` wrote it; none in a store without."""
    file = store / JOBS_FILE
    return msgspec.json.decode(file.read_bytes(), type=dict[int, str]) if file.exists() else {}


def remember(store: Path, jobs: Mapping[int, str]) -> None:
    """Write down which job is which query's, beside what is known."""
    (store / JOBS_FILE).write_bytes(msgspec.json.encode({**jobs_of(store), **jobs}))


def zstd_bytes(outputs: Numbers, rows: Numbers) -> int:
    """What pairs of numbers take as int32 columns under zstd: lists and their starts, both ways."""
    return sum(
        _compressed(column)
        for keys, values in ((outputs, rows), (rows, outputs))
        for column in _lists(keys, values)
    )


def _lists(keys: Numbers, values: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    order = np.lexsort((values, keys))
    known, starts = np.unique(keys[order], return_index=True)
    return known, starts, values[order]


def _compressed(column: Numbers) -> int:
    return len(pa.Codec("zstd").compress(column.astype(np.int32).tobytes(), asbytes=True))


def _rows(job: Any) -> dict[tuple[Any, ...], list[int]]:
    """The different output rows, each with its numbers."""
    columns = [column.to_pylist() for column in job.output_arrow().columns]
    found: dict[tuple[Any, ...], list[int]] = {}
    for number, row in enumerate(zip(*columns, strict=True)):
        found.setdefault(row, []).append(number)
    return found


def _pairs(scan: Any) -> tuple[Numbers, Numbers]:
    """Target numbers and row numbers of an answer over single files."""
    ids = scan.row_ids()
    return ids.column("target").to_numpy(), ids.column("row").to_numpy()


def _sorted(targets: Numbers, rows: Numbers) -> list[bytes]:
    order = np.lexsort((rows, targets))
    return [targets[order].tobytes(), rows[order].tobytes()]


def _not_inverse(
    job: Any,
    answer: Any,
    backward: Mapping[int, tuple[Numbers, Numbers]],
    numbers: Sequence[list[int]],
) -> Iterator[str]:
    """Where a source row reaches other output rows than those that are traced to it."""
    for scan in answer.scans:
        targets, rows = backward[scan.node]
        name = f"{scan.table}[{scan.occurrence}]"
        for row in _some_rows(rows):
            expected = {n for target in targets[rows == row].tolist() for n in numbers[target]}
            if set(job.forward(name, rows=[row]).row_numbers().tolist()) != expected:
                yield f"{name}: forward from row {row} is not the inverse of backward"


def _some_rows(rows: Numbers) -> list[int]:
    """Some of the rows, and their neighbours, which may be no lineage."""
    known = np.unique(rows)
    some = known[:: max(1, len(known) // REACHED_ROWS)]
    beside = np.maximum(some - 1, 0)
    return sorted({*some.tolist(), *beside.tolist()})


def _backward_times(job: Any, targets: Sequence[Any]) -> tuple[float, float]:
    """Milliseconds: a target's slowest ids, less what their number allows; a whole question."""
    slowest, whole = 0.0, 0.0
    for target in targets:
        rounds = [_asked(job, target) for _ in range(ROUNDS)]
        slowest = max(slowest, *(min(times) for times in zip(*(r[1] for r in rounds), strict=True)))
        whole = max(whole, min(seconds for seconds, _ in rounds))
    return slowest, whole * 1e3


def _asked(job: Any, target: Any) -> tuple[float, list[float]]:
    started = time.perf_counter()
    answer = job.lineage(target, mode="indexed")
    answer.target_rows  # noqa: B018
    times = []
    for scan in answer.scans:
        begun = time.perf_counter()
        ids = scan.row_ids().num_rows
        spent = (time.perf_counter() - begun) * 1e3
        times.append(spent - MILLISECONDS_PER_MILLION * ids / 1e6)
    return time.perf_counter() - started, times


def _forward_times(job: Any, answer: Any, backward: Mapping[int, tuple[Numbers, Numbers]]) -> float:
    """Milliseconds of the slowest look-up of one source row."""
    slowest = 0.0
    for scan in answer.scans:
        name = f"{scan.table}[{scan.occurrence}]"
        for row in _some_rows(backward[scan.node][1]):
            asked = [_seconds(partial(_reach, job, name, row)) for _ in range(ROUNDS)]
            slowest = max(slowest, min(asked) * 1e3)
    return slowest


def _reach(job: Any, name: str, row: int) -> int:
    return int(job.forward(name, rows=[row]).count())


def _seconds(action: Callable[[], Any]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started
