"""The figures of a benchmark run, in the form written to JSON; times are seconds."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from pathlib import Path

import msgspec

from tpch.errors import TpchError

ONE, MANY, ROWS, HEAD, FORWARD = "one", "many", "rows", "head", "forward"
MEASURES = {
    ONE: "row ids of all scans, one target",
    MANY: "row ids of all scans, all targets at once",
    ROWS: "full rows of all scans, one target",
    HEAD: "the first 20 rows of the scan with most, one target",
    FORWARD: "output rows that one source row reaches, of every scan",
}
"""The timed measures."""


class Times(msgspec.Struct, frozen=True):
    """The seconds of every round, in order."""

    rounds: list[float]

    @property
    def median(self) -> float:
        """The middle one, which is what is reported."""
        return statistics.median(self.rounds)

    @property
    def least(self) -> float:
        """The fastest round."""
        return min(self.rounds)

    @property
    def most(self) -> float:
        """The slowest round."""
        return max(self.rounds)


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """A system on a query. `obstacle` says why it was not asked (further), else it is empty.

    `links` counts pairs of target and source row over all scans, for all targets; of these
    `extra` are no lineage, and `missing` were not found; `wrong` where that must not be.
    `prepared` is what came once, before the first question, `kept_bytes` what was kept from
    then on. `captured` are seconds of each part of a capture of all lineage, `plain` those of
    the query where the system runs it otherwise than `query` does. Measures that took too long
    are not in `times`.
    """

    system: str
    obstacle: str = ""
    prepared: float = 0.0
    kept_bytes: int = 0
    captured: dict[str, float] = {}
    plain: float = 0.0
    links: int = 0
    extra: int = 0
    missing: int = 0
    wrong: bool = False
    times: dict[str, Times] = {}

    @property
    def false_positives(self) -> float:
        """The share of the returned rows that are no lineage."""
        return self.extra / self.links if self.links else 0.0


class QueryFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One query: its output, what its job keeps, and every system's figures.

    `asked` is how many targets were asked at once; `intermediates` are what the job stored,
    `intermediate_rows` and `intermediate_bytes` (Parquet) all of them together.
    """

    number: int
    output_rows: int
    asked: int
    scans: int
    intermediates: int
    intermediate_rows: int
    intermediate_bytes: int
    answers: list[Answered]

    def of(self, system: str) -> Answered | None:
        """The system's figures, if it was asked."""
        return next((answer for answer in self.answers if answer.system == system), None)

    def seconds(self, system: str, measure: str) -> float | None:
        """The system's median time."""
        answer = self.of(system)
        times = None if answer is None else answer.times.get(measure)
        return None if times is None else times.median


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a run; a run is only continued with the same settings."""

    scale: float
    twisted: bool = False
    engine: str = "duckdb"
    systems: list[str]
    rounds: int
    targets: int
    limit: float
    machine: str
    versions: dict[str, str]


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """All of a run. `command` made it; `loads` are the machine's loads when queries began."""

    command: str
    settings: Settings
    queries: list[QueryFigures] = []
    loads: dict[int, float] = {}

    def with_query(self, query: QueryFigures, load: float) -> Run:
        """The run with one more query."""
        others = [other for other in self.queries if other.number != query.number]
        return msgspec.structs.replace(
            self,
            queries=sorted([*others, query], key=lambda one: one.number),
            loads={**self.loads, query.number: load},
        )


def read_run(file: Path) -> Run:
    """A run from its file. Raises TpchError if it is no such file."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=Run)
    except (OSError, msgspec.DecodeError) as error:
        raise TpchError(f"{file} holds no run of the benchmark: {error}") from error


def continued(file: Path, run: Run) -> Run:
    """The run in the file, if there is one: its queries need not be measured again.

    Raises TpchError if it has other settings.
    """
    if not file.exists():
        return run
    earlier = read_run(file)
    if earlier.settings != run.settings:
        raise TpchError(f"{file} holds a run with other settings: name another folder (--out)")
    return msgspec.structs.replace(earlier, command=run.command)


def write_run(run: Run, file: Path) -> None:
    """Write the run as JSON, in one go: an interrupted run leaves the file as it was."""
    temporary = file.with_name(f".{file.name}")
    temporary.write_bytes(msgspec.json.format(msgspec.json.encode(run)))
    temporary.replace(file)


def as_text(values: Mapping[str, str]) -> str:
    """Names and values in a line."""
    return ", ".join(f"{name} {value}" for name, value in values.items())
