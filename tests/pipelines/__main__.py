"""Run all pipelines, and ask about their rows in every mode on both engines.

    python -m tests.pipelines RESULTS [--only PATTERN] [--seed 7 8 …] [--mode auto stored …]

Appends a line of JSON per question to the file RESULTS; what it has already is not asked again
(delete its lines to ask again). At the end it sums up.
"""

from __future__ import annotations

import argparse
import json
import logging
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from predtrace.environment.local_spark import local_session
from tests.pipelines.check import FINDINGS, QUESTIONS, UNCOUNTED, Place, Verdict, check
from tests.pipelines.data import SEED
from tests.pipelines.program import corpus

_SETTINGS = {
    "spark.master": "local[1]",
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": "1",
    "spark.buffer.pageSize": "1m",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}
_MODES = ("auto", "stored", "replayed", "indexed")


def main() -> None:
    """Run what the results lack."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--only", default="", help="pattern of a program's name")
    parser.add_argument("--seed", type=int, nargs="+", default=[SEED], help="seeds of the tables")
    parser.add_argument("--mode", choices=_MODES, nargs="+", default=_MODES)
    parser.add_argument("--engine", choices=("duckdb", "spark"), nargs="+")
    parser.add_argument("--summary", action="store_true", help="only sum up the results")
    options = parser.parse_args()
    programs = corpus()
    if not options.summary:
        _run([p for name, p in programs.items() if re.search(options.only, name)], options)
    print(summary([r for r in _records(options.results) if r["program"] in programs]))


def _run(chosen: list[Any], options: Any) -> None:
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    engines = ("auto", *(options.engine or ("duckdb", "spark")))
    questions = [(m, e) for m, e in QUESTIONS if m in options.mode and e in engines]
    done = {(r["seed"], r["program"]) for r in _records(options.results) if r["last"]}
    with tempfile.TemporaryDirectory() as folder, local_session(_SETTINGS) as spark:
        for seed in options.seed:
            place = Place.made(Path(folder), seed)
            todo = [program for program in chosen if (seed, program.name) not in done]
            for number, program in enumerate(todo, 1):
                started = time.perf_counter()
                verdicts = list(check(program, spark, place, questions))
                seconds = round(time.perf_counter() - started, 1)
                _keep(options.results, seed, verdicts, seconds)
                counts = Counter(one.verdict for one in verdicts).items()
                told = ", ".join(f"{count} {verdict}" for verdict, count in counts)
                about = f"seed {seed}, {number} of {len(todo)}"
                print(f"{about}: {program.name}: {told} ({seconds} s)", flush=True)


def _keep(results: Path, seed: int, verdicts: list[Verdict], seconds: float) -> None:
    with results.open("a") as file:
        for verdict in verdicts:
            last = verdict is verdicts[-1]
            line = {"seed": seed, **verdict.record(), "last": last, "seconds": seconds}
            file.write(json.dumps(line) + "\n")


def _records(path: Path) -> list[dict[str, Any]]:
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def summary(records: list[dict[str, Any]]) -> str:
    """Programs by their worst outcome, questions by mode, engine and verdict, and why."""
    last = {(r["seed"], r["program"], r["output"], r["mode"], r["engine"]): r for r in records}
    programs: dict[Any, list[dict[str, Any]]] = {}
    for record in last.values():
        programs.setdefault((record["seed"], record["program"]), []).append(record)
    outcomes = Counter(outcome(rows) for rows in programs.values())
    asked = Counter(
        f"{r['mode']:9} {r['engine']:7} {r['verdict']}" for r in last.values() if r["mode"] != "-"
    )
    reasons = Counter(
        f"{r['verdict']}: {r['detail'][:150]}"
        for r in last.values()
        if r["verdict"] in ("refused", "superset") and r["mode"] in ("-", "auto")
    )
    found = [
        f"  {r['seed']} {r['program']}/{r['output']} {r['mode']} {r['engine']}: {r['verdict']} "
        f"{r['detail'][:200]} {r['facts']}"
        for r in last.values()
        if r["verdict"] in (*FINDINGS, *UNCOUNTED)
    ]
    counted = sum(n for o, n in outcomes.items() if o not in UNCOUNTED)
    return "\n".join(
        [
            f"{counted} programs, {len(programs) - counted} not counted",
            *_table("programs", outcomes),
            *_table("questions", asked),
            *_table("reasons, auto", reasons),
            "findings:",
            *sorted(found),
        ]
    )


def outcome(rows: Iterable[dict[str, Any]]) -> str:
    """A program's outcome: its worst finding, else what mode auto answered."""
    rows = list(rows)
    verdicts = {row["verdict"] for row in rows}
    for worst in (*UNCOUNTED, *FINDINGS):
        if worst in verdicts:
            return worst
    auto = {row["verdict"] for row in rows if row["mode"] in ("-", "auto")}
    return next((v for v in ("refused", "superset", "empty output", "exact") if v in auto), "none")


def _table(name: str, counts: Counter[str]) -> list[str]:
    return [f"{name}:", *(f"{n:7d}  {what}" for what, n in sorted(counts.items()))]


if __name__ == "__main__":
    main()
