"""A run of the benchmark: query after query, kept in a file so that it can be continued."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import predtrace
from tpch.bench.engines.base import Engine
from tpch.bench.figures import Run, Settings, continued, write_run
from tpch.bench.measure import Meter
from tpch.bench.systems import SYSTEMS
from tpch.bench.systems.base import Subject
from tpch.errors import TpchError
from tpch.indexes import jobs_of

_PACKAGES = ("duckdb", "predtrace", "pyarrow", "sqlglot")


def settings(
    scale: float,
    systems: list[str],
    *,
    rounds: int,
    targets: int,
    limit: float,
    twisted: bool = False,
    engine: str = "duckdb",
) -> Settings:
    """The settings of a run on this machine. Raises TpchError for an unknown system."""
    unknown = [name for name in systems if name not in SYSTEMS]
    if unknown:
        raise TpchError(f"there is no system {unknown[0]}; choose from {', '.join(SYSTEMS)}")
    return Settings(
        scale=scale,
        twisted=twisted,
        engine=engine,
        systems=systems,
        rounds=rounds,
        targets=targets,
        limit=limit,
        machine=f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        versions={
            "python": platform.python_version(),
            **{name: version(name) for name in _PACKAGES},
        },
    )


class Bench:
    """Measures queries whose jobs a store has, on one engine."""

    def __init__(
        self,
        run: Run,
        file: Path,
        engine: Engine,
        store: Path,
        step: Callable[[str], None] = lambda name: None,
    ) -> None:
        self.run = continued(file, run)
        self._file = file
        self._store = store
        self._jobs = jobs_of(store)
        self._step = step
        self._engine = engine

    def __call__(self, number: int) -> None:
        """Measure the query, unless that was done."""
        if any(query.number == number for query in self.run.queries):
            return
        load = os.getloadavg()[0]
        chosen = self.run.settings
        job = predtrace.open_job(str(self._store), self._jobs[number])
        meter = Meter(
            Subject(number, job, self._engine),
            chosen.systems,
            targets=chosen.targets,
            rounds=chosen.rounds,
            limit=chosen.limit,
            step=self._step,
        )
        self.run = self.run.with_query(meter.measure(), load)
        write_run(self.run, self._file)
