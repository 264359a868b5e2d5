"""Lineage answers on a job made by hand: no Spark anywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

import predtrace
from predtrace.errors import (
    EngineError,
    PredTraceError,
    SourceError,
    StoreError,
    TargetError,
)
from predtrace.inference.plan import Intermediate, LineagePlan, ScanLineage
from predtrace.jobs.model import Job, StoredIntermediate
from predtrace.jobs.results import stored_result
from predtrace.jobs.store import JobStore
from predtrace.lineage.ask import ask
from pushdown.operators import AggregateCall, Aggregation, Assignment, GroupBy, InnerJoin, Scan
from symbolic.expr import Column, Expr, Literal, call, conjunction, same
from symbolic.types import BOOLEAN, LONG, STRING
from tests.engines.tables import SETTINGS, pairs, param, source, write

# SELECT e.dept, max(b.pay) AS most FROM staff e JOIN staff b ON e.boss = b.id GROUP BY e.dept
ID, BOSS, DEPT, PAY = (
    Column(1, "id", LONG),
    Column(2, "boss", LONG),
    Column(3, "dept", STRING),
    Column(4, "pay", LONG),
)
STAFF = (ID, BOSS, DEPT, PAY)
BOSSES = tuple(Column(column.id + 10, column.name, column.type) for column in STAFF)
MOST = Column(30, "most", LONG)
ROWS = [
    (1, None, "top", 100),
    (2, 1, "a", 50),
    (3, 1, "a", 40),
    (4, 2, "a", 30),
    (5, 2, "b", 30),
    (5, 2, "b", 30),
    (6, 9, "b", 20),
]
OUTPUT = [("a", 100), ("b", 50)]
MID = (DEPT, BOSSES[0], BOSSES[3])


def graph() -> tuple[Any, ...]:
    employees = Scan(id=0, table="staff", occurrence=1, columns=STAFF, alias="e")
    bosses = Scan(id=1, table="staff", occurrence=2, columns=BOSSES, alias="b")
    join = InnerJoin(id=2, left=0, right=1, condition=call("eq", BOSS, BOSSES[0]))
    group = GroupBy(
        id=3,
        input=2,
        keys=(Assignment(DEPT, DEPT),),
        aggregations=(Aggregation(MOST, AggregateCall("max", (BOSSES[3],), LONG)),),
    )
    return group, join, employees, bosses


def plan(aggregates: str = "minimal") -> LineagePlan:
    """By the definition: the pairs of the group that attain the maximum (or all)."""
    attained = [same(BOSSES[3], param(MOST))] if aggregates == "minimal" else []
    lookup = conjunction(same(DEPT, param(DEPT)), *attained)
    mid = Intermediate(binding=1, node=2, columns=MID, predicate=lookup, parent=0, why="test")
    employees: Expr = conjunction(same(DEPT, param(DEPT, 1)), call("eq", BOSS, param(BOSSES[0], 1)))
    bosses = conjunction(
        call("eq", BOSSES[0], param(BOSSES[0], 1)), same(BOSSES[3], param(BOSSES[3], 1))
    )
    return LineagePlan(
        aggregates=aggregates,
        scans=(
            ScanLineage(node=0, predicate=employees, binding=1),
            ScanLineage(node=1, predicate=bosses, binding=1, label="superset", reason="why not"),
        ),
        intermediates=(mid,),
        steps=(),
    )


def make_job(folder: Path, **changes: Any) -> Job:
    """The job of the query above, with its files in `folder`."""
    table = folder / "staff.parquet"
    write(table, STAFF, ROWS)
    pay = {row[0]: row[3] for row in ROWS}
    mid = [(row[2], row[1], pay[row[1]]) for row in ROWS if row[1] in pay]
    write(folder / "node-2" / "part-0.parquet", MID, mid, physical=True)
    write(folder / "output" / "part-0.parquet", (DEPT, MOST), OUTPUT, physical=True)
    plans = changes.get("plans", (plan(),))
    stored = stored_result(folder, "node-2", MID)
    job = Job(
        id="20260101-000000-abcd",
        created="2026-01-01T00:00:00+00:00",
        query="SELECT …",
        keep="inline",
        graph=graph(),
        root=3,
        plans=plans,
        sources=(source("staff", table, STAFF),),
        settings=SETTINGS,
        intermediates=tuple(
            StoredIntermediate(aggregates=made.aggregates, binding=1, result=stored)
            for made in plans
        ),
        output=stored_result(folder, "output", (DEPT, MOST)),
    )
    return msgspec.structs.replace(job, **changes)


def rows_of(answer: Any) -> set[int]:
    return {pair[-1] for pair in pairs(answer.row_ids())}


def test_answer_of_one_target(tmp_path: Path) -> None:
    answer = ask(make_job(tmp_path), tmp_path, {"dept": "a"})
    assert [(scan.table, scan.occurrence, scan.alias) for scan in answer.scans] == [
        ("staff", 1, "e"),
        ("staff", 2, "b"),
    ]
    employees, bosses = answer.scans
    assert rows_of(employees) == {1, 2}
    assert rows_of(bosses) == {0}
    assert employees.count() == len(employees) == 2
    assert employees.to_pandas()["id"].tolist() == [2, 3]
    assert employees.head(1, ["id"]).to_pylist() == [{"id": 2}]
    assert bosses.to_arrow().to_pylist() == [{"id": 1, "boss": None, "dept": "top", "pay": 100}]
    assert sum(batch.num_rows for batch in employees.to_batches()) == 2
    employees.write_parquet(tmp_path / "out")
    assert employees.columns == ("id", "boss", "dept", "pay")


def test_labels_and_reading(tmp_path: Path) -> None:
    answer = ask(make_job(tmp_path), tmp_path, ("a", 100))
    assert (answer.label, answer.mode, answer.engine) == ("superset", "stored", "duckdb")
    assert [scan.label for scan in answer.scans] == ["precise", "superset"]
    assert answer["staff"].label == "superset"
    assert answer["staff"].reason == "why not"
    assert answer.target_rows == 1
    assert answer.targets.to_pylist() == [{"dept": "a", "most": 100}]
    text = answer.explain()
    for part in ("mode stored", "staff[2] as b: superset (why not)", "intermediate 1"):
        assert part in text
    assert "find the target rows" in answer.timings
    assert "superset" in repr(answer)
    assert "staff" in repr(answer["staff"])


def test_scans_by_name_and_alias(tmp_path: Path) -> None:
    answer = ask(make_job(tmp_path), tmp_path, ("a", 100))
    assert answer.scan("staff", 2) is answer.scan("b") is answer.scans[1]
    assert rows_of(answer["staff"]) == {0, 1, 2}
    with pytest.raises(PredTraceError, match=r"several scans of staff; .*staff\[1\] \(alias e\)"):
        answer.scan("staff")
    with pytest.raises(PredTraceError, match="no scan of staff with occurrence 3"):
        answer.scan("staff", occurrence=3)
    with pytest.raises(PredTraceError, match="reads no source nope"):
        answer["nope"]


def test_several_targets(tmp_path: Path) -> None:
    given = [("a", 100), {"dept": "zz"}, "most < 60", ("a", 100)]
    answer = ask(make_job(tmp_path), tmp_path, given)
    assert answer.missing == (1,)
    assert answer.target_rows == 3
    assert {row["target"] for row in answer.targets.to_pylist()} == {0, 2, 3}
    found = {(pair[0], pair[2]) for pair in pairs(answer.scan("e").row_ids())}
    assert found == {(0, 1), (0, 2), (2, 4), (2, 5), (3, 1), (3, 2)}
    assert answer.scan("e").to_arrow().column_names == ["target", "id", "boss", "dept", "pay"]
    assert "not in the output: target 1" in answer.explain()


def test_one_target_of_several_rows(tmp_path: Path) -> None:
    answer = ask(make_job(tmp_path), tmp_path, "most > 0")
    assert answer.target_rows == 2
    assert rows_of(answer.scan("e")) == {1, 2, 4, 5}


def test_target_that_is_not_in_the_output(tmp_path: Path) -> None:
    answer = ask(make_job(tmp_path), tmp_path, ("a", 99))
    assert answer.missing == (0,)
    assert answer.target_rows == 0
    assert [scan.count() for scan in answer.scans] == [0, 0]
    assert "not in the output" in answer.explain()


def test_without_output(tmp_path: Path) -> None:
    job = make_job(tmp_path, output=None)
    answer = ask(job, tmp_path, ("a", 100))
    assert rows_of(answer.scan("e")) == {1, 2}
    assert any("on trust" in note for note in answer.notes)
    partial = ask(job, tmp_path, {"dept": "a"})
    assert rows_of(partial.scan("e")) == {1, 2}
    assert any("in a replay" in note for note in partial.notes)


def test_readings_of_max(tmp_path: Path) -> None:
    both = make_job(tmp_path, plans=(plan(), plan("whole")))
    minimal = ask(both, tmp_path, ("a", 100))
    whole = ask(both, tmp_path, ("a", 100), aggregates="whole")
    assert rows_of(minimal.scan("e")) == {1, 2}
    assert rows_of(whole.scan("e")) == {1, 2, 3}
    only = make_job(tmp_path)
    with pytest.raises(PredTraceError, match="aggregates='both'"):
        ask(only, tmp_path, ("a", 100), aggregates="whole")
    with pytest.raises(PredTraceError, match="'minimal' or 'whole'"):
        ask(only, tmp_path, ("a", 100), aggregates="both")


def test_readings_that_cannot_differ(tmp_path: Path) -> None:
    group, *rest = graph()
    summed = Aggregation(MOST, AggregateCall("sum", (BOSSES[3],), LONG))
    changed = msgspec.structs.replace(group, aggregations=(summed,))
    job = make_job(tmp_path, graph=(changed, *rest))
    assert ask(job, tmp_path, ("a", 100), aggregates="whole").plan.aggregates == "minimal"


def test_changed_source_is_noticed_at_the_question_and_at_each_read(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    answer = ask(job, tmp_path, ("a", 100))
    assert answer.scan("e").count() == 2
    os.utime(tmp_path / "staff.parquet", (1, 1))
    for read in ("count", "head", "to_arrow", "row_ids"):
        with pytest.raises(SourceError, match="modified"):
            getattr(answer.scan("e"), read)()
    with pytest.raises(SourceError, match="modified"):
        ask(job, tmp_path, ("a", 100))
    (tmp_path / "staff.parquet").unlink()
    with pytest.raises(SourceError, match="does not exist"):
        ask(job, tmp_path, ("a", 100))


def test_unreadable_intermediate(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    answer = ask(job, tmp_path, ("a", 100))
    (tmp_path / "node-2" / "part-0.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(StoreError, match=r"part-0\.parquet is damaged"):
        answer.scan("e").count()
    with pytest.raises(PredTraceError, match="has not stored intermediate 1"):
        ask(make_job(tmp_path, intermediates=()), tmp_path, ("a", 100), mode="stored")


def test_wrong_names(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    with pytest.raises(PredTraceError, match="has no row-id index"):
        ask(job, tmp_path, ("a", 100), mode="indexed")
    with pytest.raises(PredTraceError, match="there is no mode 'x'; use one of auto, indexed"):
        ask(job, tmp_path, ("a", 100), mode="x")
    with pytest.raises(EngineError, match="no engine 'x'"):
        ask(job, tmp_path, ("a", 100), engine="x")
    with pytest.raises(TargetError, match="no column pay"):
        ask(job, tmp_path, {"pay": 1})


def unfaithful_job(folder: Path) -> Job:
    """The job, with a term that only Spark evaluates exactly."""
    first, second = plan().scans
    alike = call("ilike", DEPT, Literal("A", STRING), type=BOOLEAN)
    changed = msgspec.structs.replace(first, predicate=conjunction(first.predicate, alike))
    return make_job(folder, plans=(msgspec.structs.replace(plan(), scans=(changed, second)),))


def test_duckdb_refuses_what_is_not_exact(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"function ilike .*; use engine='spark'"):
        ask(unfaithful_job(tmp_path), tmp_path, ("a", 100), engine="duckdb")


@pytest.mark.spark
def test_auto_turns_to_spark(spark: Any, tmp_path: Path) -> None:
    answer = ask(unfaithful_job(tmp_path), tmp_path, ("a", 100), spark=spark)
    assert answer.engine == "spark"
    assert any("function ilike" in note for note in answer.notes)
    assert rows_of(answer.scan("e")) == {1, 2}
    exact = ask(make_job(tmp_path), tmp_path, ("a", 100), spark=spark)
    assert exact.engine == "duckdb"
    frame = exact["staff"].to_spark(spark)
    assert sorted(row["id"] for row in frame.collect()) == [1, 2, 3]


def test_saved_job_without_spark(tmp_path: Path) -> None:
    """The DuckDB engine answers a saved job with no JVM and no import of pyspark."""
    with JobStore(tmp_path / "store").begin() as writer:
        job = make_job(writer.folder, id=writer.id)
        # The source lies outside of the store.
        table = tmp_path / "staff.parquet"
        write(table, STAFF, ROWS)
        job = msgspec.structs.replace(job, sources=(source("staff", table, STAFF),))
        writer.commit(job)
    code = (
        "import sys, predtrace\n"
        f"job = predtrace.open_job({str(tmp_path / 'store')!r}, {writer.id!r})\n"
        "answer = job.lineage({'dept': 'a'})\n"
        "print(answer.scan('e').count(), answer['staff'].count(), answer.engine)\n"
        "print(job.output_arrow().num_rows)\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('pyspark', 'py4j')])\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr
    assert done.stdout.split("\n")[:3] == ["2 3 duckdb", "2", "[]"]
    handle = predtrace.open_job(tmp_path / "store", writer.id[:-2])
    assert handle.id == writer.id
    assert handle.output_arrow().column_names == ["dept", "most"]
