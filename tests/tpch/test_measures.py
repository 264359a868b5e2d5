"""Measures: their records go on where they were, ratios are paired, reports tell what holds."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from typer.testing import CliRunner

from predtrace.errors import PredTraceError
from predtrace.inference import infer
from pushdown.graph import OperatorGraph
from pushdown.operators import Filter, InnerJoin
from symbolic.expr import Literal, call
from symbolic.solver import SPENT
from tests.reference import trace_graph
from tests.reference.jobs import store_job
from tests.strategies import Pipeline
from tests.test_mutants import (
    CORPUS,
    LEFT,
    RIGHT,
    SAME_KEY,
    TABLES,
    V2,
    V,
    forget_proofs,
    keep,
)
from tests.test_random_graphs import check_plan
from tpch.__main__ import app
from tpch.bench.figures import MANY, ONE, Answered, QueryFigures, Run, Settings, Times, write_run
from tpch.errors import TpchError
from tpch.measures import startup
from tpch.measures.growth import growth_chart, growth_report, read_runs, with_scale, with_targets
from tpch.measures.inference import InferenceFigures, Kept, Phases
from tpch.measures.inference_report import inference_report
from tpch.measures.overhead import INLINE, LATE, PLAIN, OverheadFigures
from tpch.measures.overhead_report import overhead_report
from tpch.measures.record import Book, Record, read_record
from tpch.measures.startup import (
    FIRST,
    IMPORT,
    INTERPRETER,
    SECOND,
    ProcessFigures,
    measure_question,
)

RECORD: dict[str, Any] = {"command": "c", "settings": {}, "machine": "m", "versions": {}}


def overhead(number: int, plain: list[float], inline: list[float], stored: int) -> OverheadFigures:
    return OverheadFigures(
        number=number,
        seconds={PLAIN: Times(plain), INLINE: Times(inline), LATE: Times(plain)},
        cold={},
        traced=Times([0.5]),
        late_seconds=Times([0.1]),
        intermediates=1,
        stored={INLINE: stored, LATE: stored},
    )


def test_ratios_are_of_the_same_round() -> None:
    figures = overhead(1, [1.0, 10.0, 2.0], [1.5, 11.0, 2.2], 0)
    assert figures.ratios(INLINE) == pytest.approx([1.5, 1.1, 1.1])
    assert figures.overhead(INLINE) == pytest.approx(0.1)
    assert figures.overhead(LATE) == 0.0


def test_the_overhead_report_tells_what_holds() -> None:
    good, bad = overhead(1, [1.0], [1.1], 1_000_000), overhead(2, [1.0], [2.0], 50_000_000)

    def report(*queries: OverheadFigures) -> str:
        entries = {str(query.number): query for query in queries}
        return overhead_report(Record(**RECORD, entries=entries))

    lines = report(good).splitlines()
    bounds = [line for line in lines if "bound" in line]
    assert len(bounds) == 4
    assert all(line.endswith("holds.") for line in bounds)
    both = [line.endswith("holds.") for line in report(good, bad).splitlines() if "bound" in line]
    assert both == [False, True, False, False]


def test_a_record_goes_on_and_refuses_other_settings(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "record.json"
    book = Book(file, OverheadFigures, {"scale": 1})
    figures = overhead(3, [1.0], [2.0], 5)
    book.add("3", figures, 0.5)
    again = Book(file, OverheadFigures, {"scale": 1})
    assert "3" in again
    assert "4" not in again
    assert again.record.entries == {"3": figures}
    assert again.record.loads == {"3": 0.5}
    with pytest.raises(TpchError, match="name another file"):
        Book(file, OverheadFigures, {"scale": 2})
    with pytest.raises(TpchError, match="no record of this measure"):
        read_record(file, InferenceFigures)


def phases(*totals: float) -> Phases:
    part = Times([total / 4 for total in totals])
    return Phases(capture=part, pushdown=part, solver=Times([t / 2 for t in totals]), cpu=part)


def kept(node: int, size: int | None) -> Kept:
    return Kept(node=node, estimated_bytes=1.0, rows=1, bytes=size)


def test_the_inference_report_adds_up() -> None:
    assert phases(0.4, 0.8).total.rounds == [0.4, 0.8]
    query = InferenceFigures(
        number=7,
        first=phases(0.1, 0.3, 0.2),
        again=phases(0.1),
        calls=5,
        proofs=6,
        kept=[kept(1, 25)],
        kept_at_once=[kept(2, 100)],
    )
    slow = msgspec.structs.replace(query, number=8, first=phases(1.5), kept=[kept(2, 100)])

    def report(*queries: InferenceFigures) -> str:
        return inference_report(Record(**RECORD, entries={str(one.number): one for one in queries}))

    assert "200 (100 to 300)" in report(query)
    assert "saves: Q7 75.0%." in report(query)
    assert report(query).count("holds.") == 1
    assert report(slow).count("missed.") == 2
    assert "saves: none." in report(slow)


def filtered_join() -> OperatorGraph:
    """A join whose rows a filter above it makes fewer; its keys are not in the output."""
    picked = Filter(id=3, input=2, condition=call("eq", V2, Literal("x", V2.type)))
    join = InnerJoin(id=2, left=0, right=1, condition=SAME_KEY)
    return OperatorGraph([LEFT, RIGHT, join, picked, keep(3, 4, V)], 4)


def test_what_is_stored_comes_later_where_that_is_smaller() -> None:
    plans = [infer(filtered_join(), deferring=deferring) for deferring in (False, True)]
    assert [[item.node for item in plan.intermediates] for plan in plans] == [[2], [3]]
    for plan in plans:
        example = Pipeline(filtered_join(), TABLES)
        check_plan(example, plan, trace_graph(*example, "minimal", keep_outputs=True))


@pytest.mark.parametrize("name", CORPUS)
def test_the_first_place_serves_as_well(name: str) -> None:
    example = CORPUS[name]()
    plan = infer(example.graph, deferring=False)
    check_plan(example, plan, trace_graph(*example, "minimal", keep_outputs=True))


def test_proofs_are_counted_once() -> None:
    graph = CORPUS["outer join of a join"]().graph
    forget_proofs()
    counts = []
    for _ in range(2):
        before = SPENT.questions
        infer(graph)
        counts.append(SPENT.questions - before)
    assert counts[0] > 0
    assert counts[1] == 0


def test_a_process_is_compared_with_one_of_its_round() -> None:
    times = {INTERPRETER: Times([1.0, 2.0]), IMPORT: Times([1.5, 3.0])}
    figures = ProcessFigures(processes=times, cpu=times)
    assert figures.beyond_interpreter(IMPORT).rounds == [0.5, 1.0]


@pytest.mark.slow
def test_first_questions_are_asked_in_fresh_processes(tmp_path: Path) -> None:
    example = CORPUS["inner join"]()
    graph = example.graph
    reference = trace_graph(*example, "minimal", keep_outputs=True)
    store, job = store_job(tmp_path, graph, example.tables, [(infer(graph), reference)])
    figures = measure_question(1, store, job, rounds=1)
    assert figures.cold.median > figures.starting.median > 0
    assert figures.seconds[FIRST].median > figures.seconds[SECOND].median
    if hasattr(os, "posix_fadvise"):
        assert sorted(figures.uncached) == sorted(figures.seconds)
    with pytest.raises(PredTraceError, match="no-such-job"):
        measure_question(1, store, "no-such-job", rounds=1)


def bench_run(scale: float, targets: int, seconds: dict[str, dict[int, float]]) -> Run:
    """A run of the benchmark: per system and query the seconds of one and of many targets."""
    numbers = sorted({number for found in seconds.values() for number in found})
    queries = [
        QueryFigures(
            number=number,
            output_rows=1,
            asked=targets,
            scans=1,
            intermediates=0,
            intermediate_rows=0,
            intermediate_bytes=0,
            answers=[
                Answered(
                    system=system,
                    times={ONE: Times([found[number]]), MANY: Times([targets * found[number]])},
                )
                for system, found in seconds.items()
                if number in found
            ],
        )
        for number in numbers
    ]
    settings = Settings(
        scale=scale,
        systems=list(seconds),
        rounds=1,
        targets=targets,
        limit=60.0,
        machine="m",
        versions={"python": "3"},
    )
    return Run(command=f"bench --sf {scale}", settings=settings, queries=queries)


RUNS = [
    bench_run(0.1, 100, {"stored": {1: 0.01, 2: 0.03}, "perm": {1: 0.1}}),
    bench_run(1.0, 100, {"stored": {1: 0.02, 2: 0.06, 3: 9.0}, "perm": {1: 1.0}}),
    bench_run(1.0, 10, {"stored": {1: 0.02, 2: 0.06}, "perm": {2: 1.0}}),
]


def written(folder: Path, runs: list[Run]) -> list[Path]:
    files = [folder / f"run{number}.json" for number in range(len(runs))]
    for file, run in zip(files, runs, strict=True):
        write_run(run, file)
    return files


def test_growth_compares_the_same_queries(tmp_path: Path) -> None:
    runs = read_runs(written(tmp_path, RUNS[::-1]))
    assert [(run.settings.scale, run.settings.targets) for run in runs] == [
        (0.1, 100),
        (1.0, 10),
        (1.0, 100),
    ]
    series = with_scale(runs)
    assert [(p.place, p.seconds, p.queries) for p in series["stored"]] == [
        (0.1, pytest.approx(0.02), 2),
        (1.0, pytest.approx(0.04), 2),
    ]
    (targets,) = with_targets(runs).values()
    assert [point.seconds for point in targets["stored"]] == pytest.approx([0.4, 4.0])
    # Of Perm no query has both numbers of targets.
    assert list(targets) == ["stored"]


def test_growth_refuses_what_cannot_be_compared(tmp_path: Path) -> None:
    other = msgspec.structs.replace(
        RUNS[0], settings=msgspec.structs.replace(RUNS[0].settings, machine="n", scale=2.0)
    )
    for runs, words in (
        (RUNS[:1], "two runs"),
        ([RUNS[0], RUNS[0]], "the same scale"),
        ([RUNS[0], other], "different machines"),
    ):
        with pytest.raises(TpchError, match=words):
            read_runs(written(tmp_path, runs))


def test_the_growth_command_writes_a_table_and_a_page(tmp_path: Path) -> None:
    files = [str(file) for file in written(tmp_path, RUNS)]
    result = CliRunner().invoke(app, ["growth", *files, "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    text = (tmp_path / "out" / "growth.md").read_text()
    assert text == growth_report(read_runs([Path(file) for file in files]))
    assert "| stored | 2 | 20.0 (10.0 to 30.0) | 40.0 (20.0 to 60.0) | 2.00 |" in text
    page = (tmp_path / "out" / "growth.html").read_text()
    assert page.count("<svg") == 3
    chart = growth_chart(with_scale(RUNS), "scale")
    assert ElementTree.fromstring(chart).tag.endswith("svg")


def test_processes_have_their_modules_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    look = "import os, sys, predtrace; sys.exit(not os.path.exists(predtrace.__cached__))"
    monkeypatch.setattr(startup, "PROCESSES", {"look": [sys.executable, "-c", look]})
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    assert len(startup.measure_processes(rounds=1).processes["look"].rounds) == 1
