"""Operators that several others read: what each of them asks for, together, in every mode."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import assume, event, given, note, settings

from predtrace import open_job
from predtrace.errors import EngineError, NonDeterministicError, PredTraceError
from predtrace.inference import infer
from predtrace.inference.consumers import MOST_KEPT_APART, Asked, any_of, common_terms, merged
from predtrace.inference.planner import infer_unstored
from predtrace.inference.precise import Pushdown
from predtrace.inference.replay import infer_replays
from predtrace.jobs.codec import decode_job, encode_job
from predtrace.vocabulary import PRECISE, SUPERSET
from pushdown.graph import OperatorGraph
from pushdown.operators import Assignment, Filter, InnerJoin, RowTransform, Scan
from pushdown.unfolding import unfold
from symbolic.expr import FALSE, TRUE, Column, Expr, Literal, call, conjunction
from symbolic.types import INTEGER
from tests.chains import ROWS, STEPS, chain
from tests.reference import trace_graph
from tests.reference.answers import check_answer
from tests.reference.jobs import store_job
from tests.strategies import Pipeline, count, shared_pipelines
from tests.test_random_answers import runs_of
from tests.test_random_graphs import check_plan, describe

A, B = Column(1, "a", INTEGER), Column(2, "b", INTEGER)
ALL = tuple(STEPS)
MODES = ("stored", "replayed", "refined", "naive")


def is_one(column: Column) -> Expr:
    return call("eq", column, Literal(1, INTEGER))


# -- what is asked of one node


def asked(predicate: Expr, binding: int = 0, lost: str = "", *, witnessed: bool = False) -> Asked:
    return Asked(binding, predicate, lost, witnessed)


def test_a_predicate_that_another_one_implies_is_left_out() -> None:
    both = conjunction(is_one(A), is_one(B))
    assert merged([asked(both, witnessed=True), asked(is_one(A))]) == (
        asked(is_one(A), witnessed=True),
    )
    assert len(merged([asked(both), asked(is_one(A), binding=1)])) == 2
    assert len(merged([asked(is_one(A)), asked(is_one(B))])) == 2


def test_what_contains_the_rest_says_whether_precision_was_lost() -> None:
    both = conjunction(is_one(A), is_one(B))
    assert merged([asked(both, lost="here"), asked(is_one(A))]) == (asked(is_one(A)),)
    assert merged([asked(both), asked(is_one(A), lost="here")]) == (asked(is_one(A), lost="here"),)
    assert merged([asked(both, lost="here"), asked(both)]) == (asked(both),)


def test_what_asks_for_nothing_is_left_out_unless_it_is_all() -> None:
    assert merged([asked(FALSE), asked(is_one(A))]) == (asked(is_one(A)),)
    assert merged([asked(FALSE), asked(FALSE, binding=1)])[0].predicate == FALSE


def test_one_predicate_for_several_selects_what_each_does() -> None:
    both = conjunction(is_one(A), is_one(B))
    assert common_terms([both, is_one(B)]) == is_one(B)
    other = conjunction(is_one(B), call("is_null", A))
    assert any_of([both, other]) == conjunction(
        is_one(B), call("or", is_one(A), call("is_null", A))
    )
    many = [call("eq", A, Literal(value, INTEGER)) for value in range(MOST_KEPT_APART + 1)]
    assert any_of(many) == TRUE


# -- chains


@pytest.mark.parametrize("kinds", [*((kind,) for kind in ALL), ALL], ids=str)
def test_work_grows_with_the_steps_and_not_with_the_paths(
    kinds: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    pushed = itertools.count()
    push = Pushdown.push
    monkeypatch.setattr(Pushdown, "push", lambda *args: (next(pushed), push(*args))[1])

    def work(steps: int) -> int:
        graph, before = chain(kinds, steps).graph, next(pushed)
        assert {scan.label for scan in infer(graph).scans} == {PRECISE}
        infer_unstored(graph)
        return next(pushed) - before

    # A chain needs some steps until each costs what the one before does.
    twenty, forty, sixty = work(20), work(40), work(60)
    assert sixty - forty <= 1.2 * (forty - twenty) + 50


def check_in_all_modes(pipeline: Pipeline, modes: tuple[str, ...] = MODES) -> int:
    """Answers on DuckDB against the reference; how many there were."""
    graph, tables = pipeline
    runs, answers = runs_of(pipeline), 0
    rows = runs[0][1].distinct_rows()
    with tempfile.TemporaryDirectory() as folder:
        job = open_job(*store_job(Path(folder), graph, tables, runs))
        for (plan, reference), mode in itertools.product(runs, modes):
            # The first row twice: the answer then always numbers its targets.
            for targets in ([*rows, rows[0]], rows[-1:]):
                try:
                    answer = job.lineage(
                        targets, mode=mode, engine="duckdb", aggregates=plan.aggregates
                    )
                    check_answer(answer, reference, graph, rows if len(targets) > 1 else targets)
                except NonDeterministicError:
                    event(f"refused: {mode}")
                else:
                    answers += 1
    return answers


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("steps", [1, 3])
def test_plans_of_short_chains(kind: str, steps: int) -> None:
    pipeline = chain([kind], steps)
    for plan, reference in runs_of(pipeline):
        assert reference.rows
        check_plan(pipeline, plan, reference)
        check_plan(pipeline, infer_unstored(pipeline.graph, plan.aggregates), reference)


@pytest.mark.parametrize("kind", ALL)
def test_short_chains_in_all_modes(kind: str) -> None:
    assert check_in_all_modes(chain([kind], 2)) == 2 * 2 * len(MODES)


@pytest.mark.parametrize("first", range(len(ALL)))
def test_chains_of_different_steps(first: int) -> None:
    pipeline = chain([*ALL[first:], *ALL[:first]], 3)
    assert trace_graph(*pipeline).rows
    assert check_in_all_modes(pipeline, ("stored", "replayed")) == 8


def test_a_long_chain_is_answered() -> None:
    """Stored, replayed and naive; refining would follow every path, and is refused."""
    pipeline = chain(["with total"], 20)
    assert check_in_all_modes(pipeline, ("stored", "replayed", "naive")) == 12
    with pytest.raises(PredTraceError, match=r"refining follows .* use mode='replayed'"):
        check_in_all_modes(pipeline, ("refined",))


@pytest.mark.parametrize("kind", ["with total", "left join", "union", "less greatest"])
def test_indexes_and_results_built_after_the_run(kind: str, tmp_path: Path) -> None:
    pipeline = chain([kind], 2)
    graph, tables = pipeline
    reference = trace_graph(graph, tables, keep_outputs=True)
    runs = [(infer(graph), reference)]
    rows = reference.distinct_rows()
    targets = [*rows, rows[0]]
    store, number = store_job(tmp_path, graph, tables, runs)
    file = store / number / "job.json"
    record = decode_job(file.read_bytes(), "job.json")
    file.write_bytes(encode_job(msgspec.structs.replace(record, intermediates=())))
    job = open_job(store, number).build_intermediates(engine="duckdb")
    assert len(job.record.intermediates) == len(runs[0][0].intermediates)
    check_answer(job.lineage(targets, mode="stored", engine="duckdb"), reference, graph, rows)
    job.build_index(engine="duckdb")
    check_answer(job.lineage(targets, mode="indexed"), reference, graph, rows)
    for source in range(len(ROWS)):
        reached = [
            place for place, row in enumerate(reference.rows) if source in reference.lineage(row)[1]
        ]
        assert sorted(job.forward("r", rows=[source]).row_numbers()) == reached


def test_cells_end_at_what_several_operators_read() -> None:
    pipeline = chain(["self join"], 1)
    runs = runs_of(pipeline)
    with tempfile.TemporaryDirectory() as folder:
        job = open_job(*store_job(Path(folder), *pipeline, runs))
        cells = job.lineage(runs[0][1].rows[0], engine="duckdb").cells("v")
        assert cells.label == SUPERSET
        assert any("several operators read its rows" in reason for reason in cells.reasons)


# -- random graphs


@pytest.mark.slow
@pytest.mark.parametrize("aggregates", ["minimal", "whole"])
@given(pipeline=shared_pipelines())
@settings(max_examples=count(150))
def test_plans_give_the_reference_lineage(aggregates: str, pipeline: Pipeline) -> None:
    graph, tables = pipeline
    reference = trace_graph(graph, tables, aggregates, keep_outputs=True)
    plan = infer(graph, aggregates=aggregates)
    note(describe(plan))
    event("all precise" if all(s.label == PRECISE for s in plan.scans) else "some superset")
    check_plan(pipeline, plan, reference)
    check_plan(pipeline, infer_unstored(graph, aggregates), reference)


@pytest.mark.slow
@given(pipeline=shared_pipelines(operators=5))
@settings(max_examples=count(40))
def test_duckdb_answers_as_the_reference(pipeline: Pipeline) -> None:
    graph, tables = pipeline
    assume(graph.output() and graph.scans() and trace_graph(graph, tables).rows)
    try:
        check_in_all_modes(pipeline)
    except EngineError as refusal:
        # Not exact there (a function, names that differ by case only): but no broken query.
        if "could not evaluate" in str(refusal):
            raise
        event(f"not on DuckDB: {str(refusal)[:50]}")
        assume(False)


@pytest.mark.slow
@given(pipeline=shared_pipelines())
@settings(max_examples=count(60))
def test_a_graph_as_a_tree_gives_the_same_rows(pipeline: Pipeline) -> None:
    graph, tables = pipeline
    tree, original = unfold(graph)
    assert not tree.shared
    assert tree.output() == graph.output()
    assert {original[node] for node in tree.top_down()} == set(graph.top_down())
    assert len(tree) == 1 + graph.unfolded(graph.root)
    expected = trace_graph(graph, tables, keep_outputs=True)
    found = trace_graph(tree, tables, keep_outputs=True)
    assert sorted(map(repr, found.rows)) == sorted(map(repr, expected.rows))
    for row in expected.distinct_rows():
        lineage = {scan: set[int]() for scan in expected.lineage(row)}
        for copy, rows in found.lineage(row).items():
            lineage[original[copy]] |= rows
        assert lineage == expected.lineage(row)


# -- single points


def test_a_scan_below_a_shared_node_is_asked_for_both_sides() -> None:
    copied = Column(3, "a", INTEGER), Column(4, "b", INTEGER)
    graph = OperatorGraph(
        [
            Scan(id=1, table="r", occurrence=1, columns=(A, B)),
            Filter(id=2, input=1, condition=is_one(A)),
            RowTransform(id=3, input=2, assignments=tuple(map(Assignment, copied, (A, B)))),
            InnerJoin(id=4, left=2, right=3, condition=TRUE),
        ],
        4,
    )
    (scan,) = infer(graph).scans
    assert [one.binding for one in scan.selections] == [0, 0]
    assert check_in_all_modes(Pipeline(graph, {"r": [(1, 5), (1, 6), (2, 7), (1, 5)]})) == 16


def test_many_consumers_that_ask_for_different_rows_have_what_they_read_stored() -> None:
    pipeline = chain(["union"], 4)
    stored = [item for item in infer(pipeline.graph).intermediates if item.also]
    assert stored
    assert all("ask for different rows" in item.why for item in stored)
    naive = infer_unstored(pipeline.graph)
    assert {scan.label for scan in naive.scans} == {SUPERSET}
    assert all("by more predicates than are kept apart" in scan.reason for scan in naive.scans)


def test_every_selection_of_a_stored_node_has_a_replay() -> None:
    graph = chain(["left join"], 3).graph
    plan = infer(graph)
    replays = [replay.binding for replay in infer_replays(graph, plan)]
    assert any(item.also for item in plan.intermediates)
    assert replays == [item.binding for item in plan.intermediates for _ in item.selections]
