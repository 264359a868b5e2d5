"""A pipeline of another system than Spark: read, run, saved and asked through the same classes.

Its programs are graphs, its runs are the reference's, and its dataframes are lists of rows.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import predtrace
from predtrace.errors import EngineError, NonDeterministicError, PredTraceError
from predtrace.frontends import installed
from predtrace.frontends.base import Cut, FrontEnd, Pipeline, RunResult
from predtrace.jobs.function_results import Typed
from predtrace.jobs.model import Job, StoredResult
from pushdown.graph import OperatorGraph
from pushdown.operators import Origin
from pushdown.topk import NumberCut
from symbolic.functions import PythonFunction
from tests.engines.tables import SETTINGS
from tests.reference.jobs import store_result, write_source
from tests.reference.tracer import ReferenceResult, trace_graph
from tests.test_lineage import ROWS, STAFF, graph

Rows = list[tuple[Any, ...]]
EXPECTED = [("a", 100), ("b", 50)]
"""Departments and the highest pay of a boss in each."""
SITE = Origin("staff.groupby('dept').max()", 7)


@dataclass
class Program:
    """What the toy front end takes: the folder of its source."""

    folder: Path
    clock: bool = False
    broken: bool = False
    unrepeatable: bool = False


@dataclass(kw_only=True)
class ToyResult(RunResult):
    rows: Rows
    left: list[Cut]
    store: Any

    @property
    def dataframe(self) -> Rows:
        return self.rows

    def finish(self) -> None:
        self.intermediates |= {cut.node: self.store(cut.node) for cut in self.left}

    def keep_functions(self, functions: Iterable[PythonFunction]) -> Mapping[Typed, StoredResult]:
        return {}


@dataclass(frozen=True, kw_only=True)
class ToyPipeline(Pipeline):
    program: Program

    @property
    def spark(self) -> None:
        return None

    @property
    def call_sites(self) -> Mapping[int, Origin]:
        return {self.graph.root: SITE}

    def estimates(self) -> Mapping[int, tuple[float, float]]:
        return {scan.id: (float(len(ROWS)), 100.0) for scan in self.graph.scans()}

    def untied(self, cuts: Sequence[NumberCut]) -> Sequence[NumberCut]:
        return ()

    def check_runnable(self) -> None:
        if self.program.broken:
            raise EngineError("the notebook's kernel has ended")

    def run(
        self,
        folder: Path,
        cuts: Sequence[Cut],
        keep: str = "inline",
        keep_output: bool = True,
        rows_limit: int | None = None,
    ) -> ToyResult:
        reference: ReferenceResult = trace_graph(self.graph, {"staff": ROWS}, keep_outputs=True)

        def store(node: int) -> StoredResult:
            return store_result(
                folder, f"node-{node}", self.graph.output(node), reference.outputs[node]
            )

        left = [cut for cut in cuts if keep == "late" and not cut.inline]
        return ToyResult(
            output=store(self.graph.root) if keep_output else None,
            intermediates={c.node: store(c.node) for c in cuts if c not in left},
            timings={"all": 0.5},
            brought=(),
            rows=list(reference.rows),
            left=left,
            store=store,
        )


class ToyFrontEnd(FrontEnd):
    @property
    def name(self) -> str:
        return "toy"

    @property
    def takes(self) -> str:
        return "a toy program"

    def accepts(self, given: object) -> bool:
        return isinstance(given, Program)

    def read(self, given: Program, spark: Any, functions: Mapping[str, Any]) -> ToyPipeline:
        return ToyPipeline(
            front_end=self.name,
            graph=OperatorGraph(graph(), 3),
            sources=(write_source(given.folder, "staff", STAFF, ROWS),),
            settings=SETTINGS,
            query="max pay of bosses",
            time_dependent=given.clock,
            unrepeatable=("staff",) if given.unrepeatable else (),
            functions_read=(),
            program=given,
        )

    def read_output(self, job: Job, folder: Path, spark: Any) -> Rows:
        import pyarrow.parquet as pq

        assert job.output is not None
        table = pq.read_table(folder / job.output.folder)
        return [tuple(row.values()) for row in table.to_pylist()]

    def is_readable(self, dataframe: Any) -> bool:
        return isinstance(dataframe, list)


FRONT_END = ToyFrontEnd()


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the toy front end before Spark's."""
    monkeypatch.setattr(installed, "FRONT_ENDS", {"toy": __name__, **installed.FRONT_ENDS})


def rows_of(answer: Any) -> list[int]:
    return sorted(answer.row_ids().column("row").to_pylist())


def check(job: predtrace.JobHandle, mode: str) -> None:
    answer = job.lineage({"dept": "a"}, mode=mode, engine="duckdb")
    assert answer.label == "precise"
    employees, bosses = answer.scans
    assert (rows_of(employees), rows_of(bosses)) == ([1, 2], [0])


@pytest.mark.parametrize("keep", ["inline", "late", "none"])
def test_run_and_ask(tmp_path: Path, keep: str) -> None:
    given: Any = Program(tmp_path)
    trace = predtrace.trace(given)
    assert trace.call_sites == {3: SITE}
    assert "staff" in str(trace.explain())
    job = trace.run(tmp_path / "store", keep=keep, aggregates="both")
    assert sorted(job.output) == EXPECTED
    assert job.wait() is job
    assert (job.record.front_end, job.record.query) == ("toy", "max pay of bosses")
    assert job.record.timings["all"] == 0.5
    opened = predtrace.open_job(tmp_path / "store", job.id)
    for each in (job, opened):
        check(each, "replayed" if keep == "none" else "stored")
        assert sorted(each.output) == EXPECTED
    assert opened.record.intermediates or keep == "none"
    opened.build_intermediates(engine="duckdb")
    check(opened, "stored")
    opened.build_index(engine="duckdb")
    check(opened, "indexed")


def test_what_a_pipeline_says_of_itself_is_heard(tmp_path: Path) -> None:
    given: Any = Program(tmp_path, clock=True)
    with pytest.raises(NonDeterministicError, match="current date"):
        predtrace.trace(given).record(tmp_path / "store")
    given = Program(tmp_path, broken=True)
    with pytest.raises(EngineError, match="kernel has ended"):
        predtrace.trace(given).run(tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_what_no_front_end_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    given: Any = 5
    with pytest.raises(PredTraceError, match=r"^a pipeline is a toy program or .*, not int$"):
        predtrace.trace(given)
    monkeypatch.undo()
    words = r"^a pipeline is a Spark DataFrame or SQL text, not int$"
    with pytest.raises(PredTraceError, match=words):
        predtrace.trace(given)


def test_a_job_of_a_front_end_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: Any = Program(tmp_path)
    job = predtrace.trace(given).run(tmp_path / "store")
    monkeypatch.undo()
    opened = predtrace.open_job(tmp_path / "store", job.id)
    check(opened, "stored")
    with pytest.raises(PredTraceError, match=r"no front end 'toy' in this version.*spark"):
        _ = opened.output


METHODS = {
    FrontEnd: {"accepts", "is_readable", "name", "read", "read_output", "takes"},
    Pipeline: {"call_sites", "check_runnable", "estimates", "run", "spark", "untied"},
    RunResult: {"dataframe", "finish", "keep_functions"},
}
FIELDS = {
    Pipeline: {
        "front_end",
        "functions_read",
        "graph",
        "query",
        "settings",
        "sources",
        "time_dependent",
        "unrepeatable",
    },
    RunResult: {"brought", "intermediates", "output", "timings"},
}
TOYS: dict[type, type] = {
    FrontEnd: ToyFrontEnd,
    Pipeline: ToyPipeline,
    RunResult: ToyResult,
}


@pytest.mark.parametrize(("base", "member"), [(b, m) for b in METHODS for m in sorted(METHODS[b])])
def test_a_method_that_is_left_out_is_named(base: Any, member: str) -> None:
    assert base.__abstractmethods__ == METHODS[base]
    others = {name: vars(TOYS[base])[name] for name in METHODS[base] - {member}}
    lacking = type("Lacking", (base,), others)
    with pytest.raises(TypeError, match=f"abstract method '?{member}'?"):
        lacking()


@pytest.mark.parametrize(("base", "field"), [(b, f) for b in FIELDS for f in sorted(FIELDS[b])])
def test_a_field_that_is_left_out_is_named(base: Any, field: str) -> None:
    rest = dict.fromkeys(FIELDS[base] - {field})
    own = {"program": None} if base is Pipeline else {"rows": [], "left": [], "store": None}
    with pytest.raises(TypeError, match=f"missing 1 required keyword-only argument: '{field}'"):
        TOYS[base](**rest, **own)


def test_other_systems_need_no_spark(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "import predtrace\n"
        "from predtrace.frontends import installed\n"
        "from tests.frontends import test_seam as toy\n"
        f"installed.FRONT_ENDS = {{'toy': toy.__name__, **installed.FRONT_ENDS}}\n"
        f"folder = Path({str(tmp_path)!r})\n"
        "job = predtrace.trace(toy.Program(folder)).run(folder / 'store')\n"
        "toy.check(job, 'stored')\n"
        "assert 'pyspark' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
