"""The benchmark: Perm's rewriting against the reference tracer, and what the harness does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import duckdb
import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import predtrace
from predtrace.errors import EngineError
from predtrace.inference import infer
from pushdown.graph import OperatorGraph
from pushdown.operators import (
    AggregateCall,
    Aggregation,
    AntiJoin,
    Assignment,
    Distinct,
    Except,
    GroupBy,
    Intersect,
    Limit,
    MarkJoin,
    OneRow,
    Operator,
    OuterJoin,
    ScalarSubquery,
    Scan,
    SemiJoin,
    Sort,
    SortKey,
    Union_,
)
from symbolic.expr import Column, call
from symbolic.types import BOOLEAN, INTEGER, LONG
from tests.reference import trace_graph
from tests.reference.jobs import store_job
from tests.strategies import Pipeline, count, pipelines
from tests.tpch.memory import Answer, MemoryTables, lineages, memory_tables
from tpch.__main__ import app
from tpch.bench import measure
from tpch.bench.engines.duckdb import DuckDBEngine
from tpch.bench.figures import (
    FORWARD,
    HEAD,
    MANY,
    MEASURES,
    ONE,
    Answered,
    QueryFigures,
    Run,
    Times,
    continued,
    read_run,
    write_run,
)
from tpch.bench.figures import (
    ROWS as WHOLE,
)
from tpch.bench.measure import Meter
from tpch.bench.page import chart, page
from tpch.bench.perm import RULES
from tpch.bench.perm_query import PermQuery
from tpch.bench.report import headline, report
from tpch.bench.run import settings as run_settings
from tpch.bench.summary import compared, false_positives, paired
from tpch.bench.systems import DEFAULT, PAGES, PRECISE
from tpch.bench.systems.base import Ids, Ints, Row, Subject
from tpch.errors import TpchError
from tpch.indexes import remember


class Perm:
    """Perm's rewriting of a random graph over tables in memory."""

    def __init__(self, tables: MemoryTables, aggregates: str, scans: Sequence[int] | None) -> None:
        self._tables = tables
        self._query = PermQuery(tables.graph, tables.relation, aggregates, scans)

    def one(self, row: tuple[Any, ...]) -> Answer:
        return self._answers(self._query.of_one(row), 1)[0]

    def many(self, rows: list[tuple[Any, ...]]) -> list[Answer]:
        self._tables.give_targets(rows)
        return self._answers(self._query.of_many(rows), len(rows))

    def _answers(self, text: str, targets: int) -> list[Answer]:
        answers = [self._tables.nothing() for _ in range(targets)]
        found = self._tables.connection.execute(text).fetchall()
        assert len(found) == len(set(found))
        for target, scan, row in found:
            answers[target][scan].add(row)
        return answers


@contextmanager
def rewritten(
    pipeline: Pipeline, aggregates: str, scans: Sequence[int] | None = None
) -> Iterator[Perm]:
    """The rewriting, and an end to its connection."""
    with memory_tables(pipeline) as tables:
        yield Perm(tables, aggregates, scans)


def check_perm(pipeline: Pipeline, aggregates: str, choice: int) -> None:
    """All output rows at once, two alone, and one scan alone, have the reference's lineage."""
    expected = lineages(trace_graph(*pipeline, aggregates, keep_outputs=True))
    with rewritten(pipeline, aggregates) as perm:
        assert perm.many(list(expected)) == list(expected.values())
        for row, answer in list(expected.items())[:2]:
            assert perm.one(row) == answer
    if scans := pipeline.graph.scans():
        only = scans[choice % len(scans)].id
        with rewritten(pipeline, aggregates, [only]) as perm:
            found = perm.many(list(expected))
        for traced, answer in zip(found, expected.values(), strict=True):
            assert traced == {**{scan: set() for scan in answer}, only: answer[only]}


@pytest.mark.slow
@given(
    pipeline=pipelines(operators=5),
    aggregates=st.sampled_from(["minimal", "whole"]),
    choice=st.integers(0, 99),
)
@settings(max_examples=count(50))
def test_perm_gives_the_reference_lineage(pipeline: Pipeline, aggregates: str, choice: int) -> None:
    assume({type(operator) for operator in pipeline.graph.operators()} <= RULES.keys())
    reference = trace_graph(*pipeline, aggregates, keep_outputs=True)
    assume(not reference.ambiguous_limits)
    try:
        check_perm(pipeline, aggregates, choice)
    except EngineError:
        assume(False)  # a function that DuckDB does not spell


# Ids begin with 0, as those of plans from Spark do.
A, B = Column(0, "a", INTEGER), Column(2, "b", INTEGER)
C, D = Column(3, "c", INTEGER), Column(4, "d", INTEGER)
N = Column(5, "n", LONG)
LEFT = Scan(id=1, table="l", occurrence=1, columns=(A, B))
RIGHT = Scan(id=2, table="r", occurrence=1, columns=(C, D))
D2 = Column(7, "d", INTEGER)
ROWS = [(1, 1), (1, None), (None, 2), (None, None), (2, 2), (2, 2), (3, 1)]
EQUAL = call("eq", A, C)
SETS: dict[str, Any] = {
    "branches": ((A, B), (C, D)),
    "columns": (Column(6, "x", INTEGER), Column(7, "y", INTEGER)),
}
OPERATORS: dict[str, list[Operator]] = {
    "anti": [AntiJoin(id=3, left=1, right=2, condition=EQUAL)],
    "semi": [SemiJoin(id=3, left=1, right=2, condition=EQUAL)],
    "mark": [MarkJoin(id=3, left=1, right=2, condition=EQUAL, mark=Column(6, "m", BOOLEAN))],
    "full": [OuterJoin(id=3, left=1, right=2, condition=EQUAL, kind="full")],
    "union": [Union_(id=3, inputs=(1, 2), **SETS)],
    "intersect": [Intersect(id=3, left=1, right=2, **SETS)],
    "intersect all": [Intersect(id=3, left=1, right=2, all=True, **SETS)],
    "except": [Except(id=3, left=1, right=2, **SETS)],
    "except all": [Except(id=3, left=1, right=2, all=True, **SETS)],
}


@pytest.mark.parametrize("inner", [ROWS, [(None, None)]], ids=["rows", "NULLs"])
@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("grouped", [False, True], ids=["alone", "grouped"])
def test_perm_with_nulls_and_duplicates(
    name: str, inner: list[tuple[int | None, int | None]], grouped: bool
) -> None:
    """Alone, and as what a greatest value, and a limit below others, are taken of."""
    operators = [LEFT, RIGHT, *OPERATORS[name]]
    if grouped:
        first, second, *_ = OperatorGraph(operators, 3).output()
        greatest = AggregateCall("max", (second,), INTEGER)
        operators += [
            Distinct(id=4, input=3),
            Sort(id=5, input=4, keys=(SortKey(first), SortKey(second))),
            Limit(id=6, input=5, count=3, offset=1),
            GroupBy(
                id=7,
                input=6,
                keys=(Assignment(first, first),),
                aggregations=(Aggregation(Column(9, "m", INTEGER), greatest),),
            ),
        ]
    pipeline = Pipeline(OperatorGraph(operators, operators[-1].id), {"l": ROWS, "r": inner})
    for aggregates in ("minimal", "whole"):
        check_perm(pipeline, aggregates, 1)


@pytest.mark.parametrize("rows", [ROWS, []], ids=["rows", "none"])
def test_perm_of_one_group_beside_one_row(rows: list[tuple[int | None, int | None]]) -> None:
    number = Aggregation(N, AggregateCall("count", (), LONG))
    graph = OperatorGraph(
        [
            OneRow(id=1),
            RIGHT,
            GroupBy(id=3, input=2, keys=(), aggregations=(number,)),
            ScalarSubquery(id=4, left=1, right=3, column=Column(6, "v", LONG)),
        ],
        4,
    )
    check_perm(Pipeline(graph, {"r": rows}), "minimal", 0)


# -- measuring


TABLES = {
    "l": [(number % 4, number) for number in range(40)],
    "r": [(number, None if number % 3 else number) for number in range(0, 40, 2)],
}


def counted() -> OperatorGraph:
    """Groups of the left rows that have a partner, and no other partner."""
    other = Scan(
        id=5,
        table="r",
        occurrence=2,
        columns=(Column(6, "c", INTEGER), D2),
    )
    number = Aggregation(N, AggregateCall("count", (), LONG))
    return OperatorGraph(
        [
            LEFT,
            RIGHT,
            SemiJoin(id=3, left=1, right=2, condition=call("eq", B, C)),
            other,
            AntiJoin(id=6, left=3, right=5, condition=call("eq", B, D2)),
            GroupBy(id=4, input=6, keys=(Assignment(A, A),), aggregations=(number,)),
        ],
        4,
    )


@pytest.fixture
def subject(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Subject]:
    """A query whose sources have one file each, or as many as the test's parameter says."""
    files = getattr(request, "param", 1)
    graph = counted()
    reference = trace_graph(graph, TABLES, keep_outputs=True)
    store, job = store_job(tmp_path, graph, TABLES, [(infer(graph), reference)], files)
    with duckdb.connect() as connection:
        yield Subject(1, predtrace.open_job(str(store), job), DuckDBEngine(connection))


def meter(subject: Subject, systems: Sequence[str], limit: float = 60.0) -> Meter:
    return Meter(subject, systems, targets=100, rounds=2, limit=limit)


OURS = ("stored", "replayed", "refined", "indexed", "naive")
FILES = pytest.mark.parametrize("subject", [1, 3], indirect=True, ids=["one file", "three files"])


@pytest.mark.slow
@FILES
def test_all_systems_answer_alike(subject: Subject) -> None:
    figures = meter(subject, list(DEFAULT)[1:]).measure()
    assert (figures.output_rows, figures.asked, figures.scans) == (2, 2, 3)
    for answer in figures.answers:
        if answer.system == "panda":
            assert answer.obstacle.startswith("Panda: AntiJoin: a subquery")
            continue
        assert (answer.obstacle, answer.wrong, answer.missing) == ("", False, 0)
        timed = {ONE, MANY, WHOLE} if answer.system != PAGES else {WHOLE}
        timed |= {FORWARD} if answer.system in ("indexed", "eager") else set()
        timed |= {HEAD} if answer.system in OURS else set()
        assert answer.times.keys() == timed
        assert bool(answer.captured) == (answer.system == "eager")
        assert all(len(times.rounds) == 2 for times in answer.times.values())
    links = {answer.system: answer.links for answer in figures.answers}
    # Of the 20 left rows that have a partner, those whose number is no multiple of 3; partners.
    assert {links[name] for name in PRECISE if name != "panda"} == {26}
    assert links["naive"] > 26


@FILES
def test_full_rows_are_the_same(subject: Subject) -> None:
    target = (0, 6)
    answers = (measure.MAKERS[name](subject).rows(target) for name in ("stored", "perm", "eager"))
    for expected, *tables in zip((6, 6, 0), *answers, strict=True):
        rows = [sorted(zip(*table.to_pydict().values(), strict=True), key=str) for table in tables]
        assert rows[0] == rows[1] == rows[2]
        assert len(rows[0]) == expected


class Losing:
    """The answers of another system, without one row."""

    kept_bytes = 0

    def __init__(self, subject: Subject) -> None:
        self._system = measure.MAKERS["stored"](subject)

    def ids(self, targets: Sequence[Row]) -> Ids:
        found = self._system.ids(targets)
        first = next(iter(found))
        return {**found, first: found[first].slice(1)}

    def rows(self, target: Row) -> list[pa.Table]:
        return []


class Rowless(Losing):
    """The answers of another system, but no full rows."""

    def ids(self, targets: Sequence[Row]) -> Ids:
        return self._system.ids(targets)


class Stuck(Rowless):
    """The answers of another system; whatever it is asked forward, it knows no row."""

    def rows(self, target: Row) -> list[pa.Table]:
        return list(self._system.rows(target))

    def reached(self, rows: Mapping[int, int]) -> dict[int, Ints]:
        return {scan: np.array([], np.int64) for scan in rows}


class Slow:
    """Takes far too long."""

    kept_bytes = 0

    def __init__(self, subject: Subject) -> None:
        self._engine = subject.engine

    def ids(self, targets: Sequence[Row]) -> Ids:
        text = "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b"
        self._engine.fetch(text)
        return {}

    def rows(self, target: Row) -> list[pa.Table]:
        return []


class Refusing:
    """Does not take the query."""

    def __init__(self, subject: Subject) -> None:
        raise TpchError("no rule for SemiJoin")


@pytest.mark.parametrize(
    ("system", "wrong", "words"),
    [
        (Losing, True, "1 rows missing, 0 too many"),
        (Rowless, True, "full rows of the first target by scan: []"),
        (Stuck, True, "not the inverse of backward"),
        (Slow, False, "more than 0.3 s"),
        (Refusing, False, "no rule for SemiJoin"),
    ],
)
def test_who_is_wrong_or_slow_is_not_timed(
    subject: Subject, monkeypatch: pytest.MonkeyPatch, system: Any, wrong: bool, words: str
) -> None:
    monkeypatch.setitem(measure.MAKERS, "perm", system)
    figures = meter(subject, ["stored", "perm"], limit=0.3).measure()
    stored, other = figures.answers
    assert stored.times.keys() == {ONE, MANY, WHOLE, HEAD}
    assert (other.wrong, other.times) == (wrong, {})
    assert words in other.obstacle


@pytest.mark.parametrize("most", [26, 10**6])
def test_answers_far_larger_than_the_lineage_are_counted_and_given_up(
    subject: Subject, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(measure, "_MOST_PAIRS", most)
    stored, naive = meter(subject, ["stored", "naive"]).measure().answers
    assert stored.links == 26
    output = [tuple(row.values()) for row in subject.job.output_arrow().to_pylist()]
    counted = measure.MAKERS["naive"](subject).count(output)
    assert naive.links == (counted if most > 26 else 0)
    assert naive.obstacle == ("" if most > 26 else f"{counted} rows for 2 targets")


def test_nobody_has_to_answer(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(measure.MAKERS, "perm", Refusing)
    (only,) = meter(subject, ["perm"]).measure().answers
    assert (only.obstacle, only.times) == ("no rule for SemiJoin", {})


@pytest.mark.slow
def test_the_command_measures_writes_and_goes_on(
    subject: Subject, tmp_path: Path, plain_folder: Path
) -> None:
    store, out = tmp_path / "store", tmp_path / "out"
    remember(store, {1: subject.job.id})
    places = ["--data", str(plain_folder), "--store", str(store), "--out", str(out)]
    command = ["bench", "--queries", "1", "--systems", "stored,perm", "--rounds", "1", *places]
    for _ in range(2):
        result = CliRunner().invoke(app, command)
        assert result.exit_code == 0, result.output
        assert {file.name for file in out.iterdir()} == {"bench.json", "bench.md", "bench.html"}
    run = read_run(out / "bench.json")
    assert [answer.system for answer in run.queries[0].answers] == ["stored", "perm"]
    assert "## Time: row ids of all scans, one target" in (out / "bench.md").read_text()
    file = out / "bench.json"
    file.write_bytes(file.read_bytes().replace(b'"wrong": false', b'"wrong": true'))
    assert CliRunner().invoke(app, command).exit_code == 1


# -- figures, report, page


def answered(system: str, *rounds: float, **more: Any) -> Answered:
    times = {ONE: Times(list(rounds))} if rounds else {}
    return Answered(system=system, times=times, **more)


def figures(number: int, *answers: Answered) -> QueryFigures:
    return QueryFigures(
        number=number,
        output_rows=1,
        asked=1,
        scans=1,
        intermediates=0,
        intermediate_rows=0,
        intermediate_bytes=0,
        answers=list(answers),
    )


QUERIES = [
    figures(1, answered("query", 0.1, 0.3, 0.2), answered("replayed", 0.1), answered("naive", 9.0)),
    figures(2, answered("query", 0.4), answered("replayed", 0.1, links=4, extra=1)),
    figures(3, answered("query", 7.0), Answered(system="replayed", obstacle="too much")),
]


def a_run(*queries: QueryFigures) -> Run:
    chosen = run_settings(0.1, ["query", "replayed", "naive"], rounds=3, targets=9, limit=60)
    run = Run(command="python -m tpch bench", settings=chosen)
    for query in queries:
        run = run.with_query(query, 0.5)
    return run


def test_systems_are_compared_where_both_answered() -> None:
    found = compared(QUERIES, ONE, "replayed", "query")
    assert found is not None
    assert (found.queries, found.least, found.most) == (2, 0.25, 0.5)
    assert (found.mean, found.other_mean) == pytest.approx((0.1, 0.3))
    assert found.ratio == pytest.approx(0.125**0.5)
    assert compared(QUERIES, MANY, "replayed", "query") is None
    assert compared(QUERIES, ONE, "naive", "perm") is None
    assert false_positives(QUERIES, "replayed") == 0.125
    assert false_positives(QUERIES, "perm") is None


def test_systems_are_compared_round_by_round() -> None:
    """Not by their medians: what else the machine does changes from round to round."""
    slower = answered("stored", 0.2, 0.1, 4.0)
    query = figures(1, slower, answered("perm", 0.1, 0.4, 2.0), answered("naive", 1.0))
    assert paired(query, ONE, "stored", "perm") == [2.0, 0.25, 2.0]
    # Who gave up has no partner in some rounds.
    assert paired(query, ONE, "naive", "perm") is None
    assert paired(query, MANY, "stored", "perm") is None
    assert paired(query, ONE, "stored", "replayed") is None
    settings = run_settings(0.1, ["stored", "naive", "perm"], rounds=3, targets=9, limit=60)
    text = report(Run(command="", settings=settings, queries=[query]))
    assert "| query | stored | naive |" in text
    assert "| Q1 | 2.00 (0.25 to 2.00) |  |" in text


def test_the_report_says_it_all() -> None:
    capturing = [
        answered("eager", captured={"rewritten": 0.1, "indexes": 0.2}, kept_bytes=1000),
        answered("smokedduck", captured={"while it runs": 0.05}, plain=0.25),
    ]
    once = Times([0.4])
    query = Answered(system="query", times={ONE: once, MANY: once})
    second = figures(2, query, *QUERIES[1].answers[1:], *capturing)
    text = report(a_run(QUERIES[0], second, QUERIES[2]))
    for words in (
        "One target by replayed: mean 100 ms over 2 queries; running those queries once: mean 300",
        "| Q1 | 1 | 200 (100 to 300) | 100 (100 to 100) | 9,000 (9,000 to 9,000) |",
        "| replayed | query | 2 | 100 | 300 | 0.35 | 0.25 to 0.50 |",
        "- Q3, replayed: too much",
        "| replayed | 2 of 3 | Q1, Q2 |",
        "| query | 3 of 3 | all |",
        "| Q2 | eager | 400 | 300 | rewritten 100, indexes 200 | 0.8 | 1,000 |",
        "| Q2 | smokedduck | 250 | 50.0 | while it runs 50.0 | 0.2 |  |",
        "are the same wherever they answered",
    ):
        assert words in text
    wrong = figures(4, Answered(system="replayed", wrong=True, obstacle="wrong: 2 rows missing"))
    assert "**Answers differ**" in report(a_run(wrong))
    assert "No query was both" in headline(a_run())


def test_the_page_holds_its_charts() -> None:
    run = a_run(*QUERIES)
    text = page(run)
    assert text.count("<svg") == len(MEASURES)
    assert not [word for word in ("src=", "@import", "<script", "<link") if word in text]
    drawn = chart(run.queries, run.settings.systems, ONE)
    assert drawn == chart(run.queries, run.settings.systems, ONE)
    assert ElementTree.fromstring(drawn).tag.endswith("svg")


def test_runs_are_continued_with_the_same_settings_only(tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    run = a_run(QUERIES[1], QUERIES[0])
    assert continued(file, run) is run
    write_run(run, file)
    assert read_run(file) == run
    assert [query.number for query in continued(file, a_run()).queries] == [1, 2]
    other = msgspec.structs.replace(run.settings, rounds=4)
    with pytest.raises(TpchError, match="other settings"):
        continued(file, msgspec.structs.replace(run, settings=other))
    file.write_text("{}")
    with pytest.raises(TpchError, match="holds no run"):
        read_run(file)


def test_unknown_systems_are_named() -> None:
    with pytest.raises(TpchError, match="no system magic"):
        run_settings(1, ["query", "magic"], rounds=1, targets=1, limit=1)
