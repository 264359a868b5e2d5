"""No character of data, names or paths steers the terminal that an answer is shown on."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from predtrace import JobHandle, open_job
from predtrace.cli.app import app
from predtrace.errors import PredTraceError, StoreError
from predtrace.inference.plan import LineagePlan, ScanLineage
from predtrace.jobs.model import Job, Source
from predtrace.jobs.results import stored_result
from predtrace.jobs.snapshot import snapshot_files
from predtrace.jobs.store import JobStore
from predtrace.report.explanation import Explanation
from predtrace.text.printable import printable
from pushdown.graph import OperatorGraph
from pushdown.operators import Filter, Scan
from symbolic.expr import Column, Literal, Param, call, same
from symbolic.types import STRING
from tests.engines.tables import SETTINGS

EVIL = "x\x1b[2J\x07\nnote: all is well\r\u202etxt\u2066\x9b\u2028\x7f\u200b[red]"
VALUE = EVIL.replace("x", "v")
runner = CliRunner()


def steering(text: str) -> set[str]:
    """The characters in a text that do more than to show themselves."""
    return {char for char in text if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp", "Cs")}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A job over a table, file and column of evil names with evil values, in an evil folder."""
    folder = tmp_path_factory.mktemp("evil") / EVIL.replace("/", "")
    table = folder / "data" / f"{EVIL}.parquet"
    table.parent.mkdir(parents=True)
    pq.write_table(pa.table({EVIL: [VALUE, "plain"]}), table)
    column = Column(1, EVIL, STRING)
    graph = (
        Filter(id=0, input=1, condition=call("not", call("eq", column, Literal("!", STRING)))),
        Scan(id=1, table=EVIL, occurrence=1, columns=(column,), alias=f"a{EVIL}"),
    )
    selected = same(column, Param(0, 1, EVIL, STRING))
    scan = ScanLineage(node=1, predicate=selected, binding=0, label="superset", reason=EVIL)
    with JobStore(folder / "store").begin() as writer:
        output = writer.folder / "output"
        output.mkdir()
        pq.write_table(pa.table({"c1": [VALUE, "plain"]}), output / "part-0.parquet")
        writer.commit(
            Job(
                id=writer.id,
                created="2026-01-01T00:00:00+00:00",
                query=f"SELECT {EVIL}",
                keep="inline",
                graph=graph,
                root=0,
                plans=(
                    LineagePlan(aggregates="minimal", scans=(scan,), intermediates=(), steps=()),
                ),
                sources=(
                    Source(
                        name=EVIL,
                        format="parquet",
                        roots=(str(table),),
                        files=snapshot_files([str(table)]),
                        columns=(column,),
                    ),
                ),
                settings=SETTINGS,
                output=stored_result(writer.folder, "output", (column,)),
            )
        )
    return folder / "store"


def handle(store: Path) -> JobHandle:
    return open_job(store, "latest")


def test_no_command_prints_them(store: Path) -> None:
    row = ["--row", json.dumps([VALUE])]
    place = ["--store", str(store)]
    shown = {
        "table": ["lineage", "latest", *row, *place],
        "stored": ["lineage", "latest", *row, *place, "--mode", "naive"],
        "json": ["lineage", "latest", *row, *place, "--format", "json"],
        "jobs": ["jobs", *place],
        "jobs as json": ["jobs", *place, "--format", "json"],
        "index": ["index", "latest", *place],
        "forward": ["forward", "latest", EVIL, "--row", "0", *place],
        "doctor": ["doctor", *place],
        "error": ["lineage", "latest", "--row", json.dumps({EVIL + "y": 1}), *place],
        "debug": ["lineage", "latest", "--row", json.dumps({EVIL + "y": 1}), *place, "--debug"],
        "no job": ["lineage", EVIL, *row, *place],
        "no scan": ["forward", "latest", EVIL + "y", "--row", "0", *place],
    }
    for name, arguments in shown.items():
        result = runner.invoke(app, arguments)
        assert result.exit_code == (name in ("error", "debug", "no job", "no scan")), result.output
        assert steering(result.output) <= {"\n"}, name
        assert not any(line.startswith("note: all is well") for line in result.output.split("\n"))
        assert ("\\x1b" in result.output) or ("\\u001b" in result.output), name
    answer = json.loads(runner.invoke(app, shown["json"]).output)
    assert answer["scans"][0]["rows"] == [[VALUE]]


def texts(store: Path) -> Iterator[tuple[str, str]]:
    """What the public interface gives people to read, and errors."""
    job = handle(store)
    answer = job.lineage({EVIL: VALUE}, mode="naive")
    (scan,) = answer.scans
    yield "explain", answer.explain()
    yield "repr", repr(answer) + repr(scan)
    yield "predicate", scan.predicate_sql()
    yield "query", scan.query_sql()
    graph = OperatorGraph(job.record.graph, job.record.root)
    yield "plan", str(Explanation(graph, job.record.plans[0]))
    for wrong in ({"other": 1}, f"`{EVIL}` +", (1, 2)):
        with pytest.raises(PredTraceError) as raised:
            job.lineage(wrong)
        yield f"error {wrong}", str(raised.value) + "\\x1b"


def test_no_text_of_the_interface_has_them(store: Path) -> None:
    for name, text in texts(store):
        assert steering(text) <= {"\n"}, name
        assert "\\x1b" in text, name
        assert not any(line.strip().startswith("note: all") for line in text.split("\n")), name


def test_an_error_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as raised:
        JobStore(tmp_path / "a\nb\x1b[2J").open("x")
    assert steering(str(raised.value)) == set()
    assert "a b\\x1b[2J" in str(raised.value)


def test_plain_text_stays_as_it_is() -> None:
    plain = "naïve Größe 東京 עברית العربية हिन्दी क्‍ष 👩‍👩‍👧 €\u00a0x"
    assert printable(plain) == plain
    assert printable("a\u00adb\ud800") == "a\\xadb\\ud800"
    for code in range(0x11000):
        char = chr(code)
        if unicodedata.category(char) in ("Cc", "Zl", "Zp", "Cs") or char in "\u202e\u2066\u061c":
            assert printable(char).isascii(), hex(code)


def test_a_kept_record_still_holds_the_names_themselves(store: Path) -> None:
    record = handle(store).record
    assert record.sources[0].name == EVIL
    assert msgspec.json.decode((handle(store).folder / "job.json").read_bytes())["schema"]
