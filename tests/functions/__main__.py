"""Ask about every function and cast on edge values, and compare with Spark.

    python -m tests.functions RESULTS [--only TEXT] [--ansi true false] [--engine duckdb spark]
        [--zone ZONE]

Appends a line of JSON per case, mode and engine to the file RESULTS; what it has already is
not asked again. At the end it counts the verdicts.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from predtrace.environment.local_spark import local_session
from tests.functions.cases import Case, cases
from tests.functions.run import ENGINES, Edges

_SETTINGS = {
    "spark.master": "local[1]",
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": "1",
    "spark.buffer.pageSize": "1m",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}
_BATCH = 80
"""So many cases are prepared, sorted by their result types, and asked together."""


def main() -> None:
    """Run what the results lack."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--only", default="", help="pattern of '<function id>: <call>'")
    parser.add_argument("--ansi", choices=["true", "false"], nargs="+", default=["true", "false"])
    parser.add_argument("--engine", choices=ENGINES, nargs="+", default=ENGINES)
    parser.add_argument("--zone", default="Europe/Berlin")
    options = parser.parse_args()
    asked = {(r["text"], r["ansi"], r["zone"], r["engine"]) for r in _lines(options.results)}
    matching = re.compile(options.only)
    chosen = [case for case in cases() if matching.search(f"{case.function}: {case.text}")]
    with tempfile.TemporaryDirectory() as folder, local_session(_SETTINGS) as spark:
        edges = Edges(spark, Path(folder), options.zone)
        for ansi in options.ansi:
            todo = [case for case in chosen if not _done(case, ansi, options, asked)]
            for start in range(0, len(todo), _BATCH):
                _run(edges, todo[start : start + _BATCH], ansi, options)
                print(f"ansi={ansi}: {min(start + _BATCH, len(todo))} of {len(todo)}", flush=True)
    for verdict, count in Counter(_verdicts(options.results)).most_common():
        print(*verdict, count)


def _done(case: Case, ansi: str, options: Any, asked: set[tuple[str, ...]]) -> bool:
    """Whether all wanted engines have answered, or none is asked."""
    key = (case.text, ansi, options.zone)
    return (*key, "-") in asked or all((*key, engine) in asked for engine in options.engine)


def _run(edges: Edges, some: list[Case], ansi: str, options: Any) -> None:
    with options.results.open("a") as file:
        for case, engine, outcome in edges.outcomes(some, ansi == "true", tuple(options.engine)):
            line = {
                "function": case.function, "text": case.text, "ansi": ansi, "engine": engine,
                "zone": options.zone, "verdict": outcome.verdict, "detail": outcome.detail[:1000],
            }  # fmt: skip
            file.write(json.dumps(line) + "\n")


def _lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _verdicts(path: Path) -> list[tuple[str, str, str]]:
    last = {(r["text"], r["ansi"], r["zone"], r["engine"]): r for r in _lines(path)}
    return [(r["ansi"], r["engine"], r["verdict"]) for r in last.values()]


if __name__ == "__main__":
    main()
