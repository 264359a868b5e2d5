"""The benchmark, at a scale of seconds."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from typer.testing import CliRunner

from predtrace.arrays.basis import Prediction
from predtrace.arrays.cells import Cells
from predtrace.arrays.query import Direction
from predtrace.arrays.relation import LineageTable
from predtrace.arrays.reuse.predictor import Reuse
from predtrace.errors import ArrayLineageError
from tests.arrays.bench import measure, reuse, run
from tests.arrays.bench.__main__ import app
from tests.arrays.bench.arguments import functions
from tests.arrays.bench.baselines import FORMATS, Duck, same_cells
from tests.arrays.bench.figures import Figures, Predicted
from tests.arrays.bench.operations import OPERATIONS, Operation, elementwise
from tests.arrays.bench.report import tables
from tests.arrays.bench.scattered import WORKLOADS as SCATTERED
from tests.arrays.bench.workflows import WORKFLOWS, random_workflow
from tests.arrays.relations import flip


@pytest.fixture(autouse=True)
def one_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "_ROUNDS", 1)


def test_sizes(tmp_path: Path) -> None:
    stored, asked = run.of_operations(1e-5, tmp_path, lambda text: None, sizes=True, queries=False)
    assert [row.operation for row in stored] == [operation.name for operation in OPERATIONS]
    assert not asked
    for row in stored:
        assert set(row.bytes) == set(FORMATS)
        assert row.bytes["ProvRC"] == min(row.bytes.values())


@pytest.mark.parametrize("operation", OPERATIONS[2:8:3], ids=lambda operation: operation.name)
def test_queries(operation: Operation, tmp_path: Path) -> None:
    relations = [relation.normalized() for relation in operation.relations(1e-4)]
    asked = list(measure.asked_of_operation(operation, relations, tmp_path))
    assert len(asked) == 4 * len(relations)
    assert all(set(row.seconds) == {"ProvRC", "DuckDB", "DuckDB on Parquet"} for row in asked)


@pytest.mark.parametrize("name", WORKFLOWS)
def test_workflows_fit_together(name: str) -> None:
    path = WORKFLOWS[name](0.001)
    for before, after in pairwise(path):
        assert before.out_shape == after.in_shape
    hops = [(relation, Direction.forward) for relation in path]
    asked = measure.asked_of_path(name, hops, 0.1, structured=False)
    assert asked.cells > 0


def test_random_workflows_repeat() -> None:
    first, again = (random_workflow(5, seed=3, scale=0.001) for _ in range(2))
    assert [table.out_shape for table in first] == [table.out_shape for table in again]
    for before, after in pairwise(first):
        assert before.out_shape == after.in_shape


def test_a_disagreement_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "same_cells", lambda found, cells: False)
    with pytest.raises(ArrayLineageError, match="disagree"):
        measure.asked_of_path("x", [(elementwise(4, 4), Direction.forward)], 0.5, structured=True)


def test_duckdb_answers_are_judged() -> None:
    duck = Duck()
    relation = flip(20)
    duck.load("lineage", relation)
    found = duck.ask([("lineage", relation, Direction.backward)], Cells.points((20,), [3, 9]))()
    assert same_cells(found, Cells.points((20,), [16, 10]))
    assert not same_cells(found, Cells.points((20,), [16, 11]))
    assert not same_cells(np.concatenate([found, [[0]]]), Cells.points((20,), [16, 10]))


def test_predictions_are_counted_and_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = [one for one in functions() if one[0] in ("sum", "sort", "reshape")]
    monkeypatch.setattr(reuse, "functions", lambda: chosen)
    monkeypatch.setattr(reuse, "universal_functions", list)
    found = {one.function: one for one in reuse.predicted_functions() if isinstance(one, Predicted)}
    assert found["sum"].generalised
    assert found["sum"].dimensional
    assert not found["sort"].generalised
    assert not any(one.errors for one in found.values())
    right = Reuse.predict

    def wrong(*args: Any, **options: Any) -> Prediction | None:
        found = right(*args, **options)
        table = found and LineageTable.empty(found.table.out_shape, found.table.in_shape)
        return found and Prediction(table, found.basis)

    monkeypatch.setattr(Reuse, "predict", wrong)
    assert any(one.errors for one in reuse.predicted_functions() if isinstance(one, Predicted))


def test_registering_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reuse, "_ROUNDS", 1)
    monkeypatch.setattr(reuse, "OPERATIONS", reuse.OPERATIONS[:2])
    rows = list(reuse.registered(0.1, tmp_path))
    assert [row.operation for row in rows] == 3 * ["negative"] + 3 * ["sum"]
    assert all(set(row.seconds) == {"pairs", "rule", "reuse"} for row in rows)


def test_both_implementations_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "_PAIRED", 1)
    rows = list(measure.compressed(1e-3))
    assert {row.data for row in rows} == set(SCATTERED)
    for row in rows:
        assert set(row.rows) == set(row.seconds) == {"plain", "ProvRC"}
        assert 0.8 * row.pairs <= row.rows["ProvRC"] <= row.pairs
        assert row.ratio > 0
    figures = Figures("here", 1.0, compressed=rows)
    assert [table.row_count for table in tables(figures)] == [len(rows)]


def test_the_command_line(tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    command = ["latency", "--scale", "0.0001", "--out", str(out)]
    done = CliRunner().invoke(app, command)
    assert "Figure 7" in done.stdout
    figures = msgspec.json.decode(out.read_bytes(), type=Figures)
    assert figures.written
    assert not figures.stored
    assert [table.title for table in tables(figures)] == ["Figure 7: compress and write, ms"]
    assert CliRunner().invoke(app, ["--scale", "-1"]).exit_code == 2
    assert "Table VII" in CliRunner().invoke(app, ["--help"]).stdout


@pytest.mark.parametrize("shape", [(), (7,), (1000, 3), (50, 60, 3), (1, 1, 4000)])
def test_questions_ask_for_as_many_cells_as_they_say(shape: tuple[int, ...]) -> None:
    cells = int(np.prod(shape))
    for count in (1, 100, 1000):
        for _, asked in measure.questions(shape, count):
            assert 0.8 * min(count, cells) <= asked.count() <= 1.25 * count
