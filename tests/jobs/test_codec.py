from __future__ import annotations

import hashlib
import json
import subprocess
import sys

import msgspec
import pytest
from hypothesis import given, settings

from predtrace.errors import JobFormatError, StoreError
from predtrace.inference.plan import Selection
from predtrace.jobs.codec import SCHEMA, NodeWriter, decode_job, encode_job
from predtrace.jobs.model import Job, OutputFile, OutputNumbers, OutputValue
from pushdown.operators import Filter, MarkJoin, Scan, SemiJoin
from symbolic.expr import TRUE, Call, Column, Expr, Literal, call
from symbolic.functions import Carried
from symbolic.types import BOOLEAN, LONG, STRING
from tests.jobs.examples import (
    GRAPH,
    LINE_KEY,
    ORDER_KEY,
    PLAN,
    TARGET,
    example_job,
    expressions,
    jobs,
    source,
)


def edited(job: Job, *path: str | int, value: object) -> bytes:
    """The job's file with one place of its body changed, checksum and all."""
    file = json.loads(encode_job(job))
    place = file["body"]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    body = msgspec.json.encode(file["body"])
    head = {"format": file["format"], "schema": file["schema"]}
    return msgspec.json.encode(
        {**head, "sha256": hashlib.sha256(body).hexdigest(), "body": msgspec.Raw(body)}
    )


def test_round_trip() -> None:
    job = example_job()
    assert decode_job(encode_job(job), "job.json") == job


@given(jobs())
@settings(deadline=None)
def test_round_trip_of_any_job(job: Job) -> None:
    assert decode_job(encode_job(job), "job.json") == job


@given(jobs())
@settings(deadline=None)
def test_encoding_depends_on_the_content_only(job: Job) -> None:
    assert encode_job(decode_job(encode_job(job), "job.json")) == encode_job(job)


@given(expressions)
@settings(deadline=None)
def test_equal_expressions_are_stored_once(expr: msgspec.Struct) -> None:
    writer = NodeWriter()
    first = writer.add(expr)
    size = len(writer.nodes)
    again = msgspec.structs.replace(expr)
    assert again is not expr
    assert writer.add(again) == first
    assert len(writer.nodes) == size


def test_shared_subterms_make_small_files() -> None:
    expr = call("add", Literal(1, LONG), Literal(1, LONG), type=LONG)
    for _ in range(200):  # written out as a tree, this has 2**200 leaves
        expr = call("add", expr, expr, type=LONG)
    writer = NodeWriter()
    writer.add(expr)
    assert len(writer.nodes) == 203


def test_deep_expressions() -> None:
    expr: Call = call("not", Literal(True, STRING))
    for _ in range(20_000):
        expr = call("not", expr)
    column = Column(1, "a", LONG)
    graph = (
        Filter(id=0, input=1, condition=expr),
        Scan(id=1, table="t", occurrence=1, columns=(column,)),
    )
    job = msgspec.structs.replace(
        example_job(),
        graph=graph,
        sources=(source("t"),),
        plans=(),
        intermediates=(),
        output=None,
    )
    read = decode_job(encode_job(job), "job.json").graph[0]
    assert isinstance(read, Filter)
    depth, node = 0, read.condition
    while isinstance(node, Call):
        depth, node = depth + 1, node.args[0]
    assert depth == 20_001


def test_a_job_of_a_tree_does_not_say_what_it_has_not() -> None:
    """Selections of one scan by several predicates: so older versions read the others' jobs."""
    job = example_job()
    assert b'"also"' not in encode_job(job)
    more = (Selection(TRUE, 0), Selection(TARGET, 1))
    plan = msgspec.structs.replace(
        PLAN,
        scans=tuple(msgspec.structs.replace(scan, also=more) for scan in PLAN.scans),
        intermediates=tuple(msgspec.structs.replace(i, also=more) for i in PLAN.intermediates),
    )
    shared = msgspec.structs.replace(job, plans=(plan,))
    data = encode_job(shared)
    assert b'"also"' in data
    assert decode_job(data, "job.json") == shared
    odd = msgspec.structs.replace(PLAN.scans[0], also=(Selection(TRUE, 7),))
    named = msgspec.structs.replace(PLAN, scans=(odd,))
    with pytest.raises(JobFormatError, match="binding 7"):
        decode_job(encode_job(msgspec.structs.replace(job, plans=(named,))), "job.json")


def test_an_unusual_literal_is_refused() -> None:
    job = example_job()
    odd = Filter(id=0, input=1, condition=Literal([1], LONG))
    scan = Scan(id=1, table="t", occurrence=1, columns=())
    with pytest.raises(StoreError, match="list"):
        encode_job(msgspec.structs.replace(job, graph=(odd, scan), plans=(), intermediates=()))


@pytest.mark.parametrize("size", [0, 1, 10, 500, -1])
def test_truncated(size: int) -> None:
    data = encode_job(example_job())[:size]
    with pytest.raises(JobFormatError, match=r"x/job\.json is truncated or no job file"):
        decode_job(data, "x/job.json")


def test_every_changed_byte_is_noticed() -> None:
    data = encode_job(example_job())
    for position in range(0, len(data), 7):
        changed = bytearray(data)
        changed[position] ^= 0x04
        with pytest.raises(JobFormatError, match=r"job\.json"):
            decode_job(bytes(changed), "job.json")


def test_newer_schema() -> None:
    newer = f'"schema":{SCHEMA + 1}'.encode()
    data = encode_job(example_job()).replace(f'"schema":{SCHEMA}'.encode(), newer, 1)
    with pytest.raises(JobFormatError, match=r"newer predtrace .*upgrade"):
        decode_job(data, "job.json")


def test_a_job_of_the_first_schema() -> None:
    """It had no numbers of output rows."""
    record = json.loads(encode_job(example_job()))
    results = [record["body"]["job"]["output"]]
    results += [item["result"] for item in record["body"]["job"]["intermediates"]]
    for result in results:
        assert result.pop("numbers") is None
    body = msgspec.json.encode(record["body"])
    record |= {"schema": 1, "sha256": hashlib.sha256(body).hexdigest(), "body": msgspec.Raw(body)}
    assert decode_job(msgspec.json.encode(record), "job.json") == example_job()


def marked_job(condition: Expr) -> bytes:
    """The example of schema 2, with a mark join in its place of a semi join."""
    mark = Column(9, "exists", BOOLEAN, nullable=False)
    graph = tuple(
        MarkJoin(id=2, left=3, right=4, condition=condition, mark=mark)
        if isinstance(operator, SemiJoin)
        else operator
        for operator in GRAPH
    )
    record = json.loads(encode_job(msgspec.structs.replace(example_job(), graph=graph)))
    for operator in record["body"]["job"]["graph"]:
        operator.pop("matches", None)
    body = msgspec.json.encode(record["body"])
    record |= {"schema": 2, "sha256": hashlib.sha256(body).hexdigest(), "body": msgspec.Raw(body)}
    return msgspec.json.encode(record)


def test_older_jobs_that_took_nulls_of_not_in_for_matches() -> None:
    equal = call("eq", ORDER_KEY, LINE_KEY)
    decode_job(marked_job(equal), "job.json")
    with pytest.raises(JobFormatError, match=r"NOT IN .*run the pipeline again"):
        decode_job(marked_job(call("or", equal, call("is_null", equal))), "job.json")


def test_jobs_of_the_third_schema_are_of_spark() -> None:
    record = json.loads(encode_job(example_job()))
    assert record["body"]["job"].pop("front_end") == "spark"
    body = msgspec.json.encode(record["body"])
    record |= {"schema": 3, "sha256": hashlib.sha256(body).hexdigest(), "body": msgspec.Raw(body)}
    assert decode_job(msgspec.json.encode(record), "job.json") == example_job()


def test_another_json_file() -> None:
    with pytest.raises(JobFormatError, match="no job file"):
        decode_job(b'{"format": "recipe", "schema": 1}', "job.json")


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("job", "root"), True, "int expected"),
        (("job", "root"), 77, "root is not among them"),
        (("job", "query"), None, "str expected"),
        (("job", "extra"), 1, "'extra' is unknown"),
        (("job", "graph", 2, "left"), 99, "not in the graph"),
        (("job", "graph", 2, "left"), 0, "cycle"),
        (("job", "graph", 2, "left"), 4, "does not reach"),
        (("job", "graph", 2, "right"), 3, "does not reach"),
        (("job", "graph", 2, "operator"), "Teleport", "names none of"),
        (("job", "graph", 3, "condition"), 10**6, "no node 1000000"),
        (("job", "graph", 3, "condition"), -1, "no node -1"),
        (("job", "graph", 3, "condition"), 0, "does not fit here"),
        (("job", "graph", 1, "aggregations", 0, "call", "function"), "mode", "no aggregate"),
        (("job", "plans", 0, "scans", 0, "node"), 99, "operator 99"),
        (("job", "plans", 0, "scans", 0, "binding"), 9, "binding 9"),
        (("job", "intermediates", 0, "binding"), 9, "binding 9"),
        (("job", "output", "folder"), "../../elsewhere", "not inside"),
        (("job", "output", "folder"), "/elsewhere", "not inside"),
        (("job", "timings"), [], "object expected"),
        (("nodes", 0), 3, "object expected"),
        (("nodes",), 3, "nodes and job expected"),
    ],
)
def test_nonsense_is_refused(path: tuple[str | int, ...], value: object, message: str) -> None:
    with pytest.raises(JobFormatError, match=message):
        decode_job(edited(example_job(), *path, value=value), "job.json")


@pytest.mark.parametrize(
    ("file", "column", "message"),
    [("../part.parquet", 0, "inside the output's folder"), ("part.parquet", 99, "does not exist")],
)
def test_numbers_of_what_is_not_there_are_refused(file: str, column: int, message: str) -> None:
    job = example_job()
    item, *rest = job.intermediates
    (kept, *_), output = item.result.columns, job.output
    assert output is not None
    numbers = OutputNumbers(
        files=(OutputFile(name=file, first=0),),
        values=(OutputValue(column=column or kept.id, output=output.columns[0].id),),
    )
    result = msgspec.structs.replace(item.result, numbers=numbers)
    changed = (msgspec.structs.replace(item, result=result), *rest)
    with pytest.raises(JobFormatError, match=message):
        decode_job(encode_job(msgspec.structs.replace(job, intermediates=changed)), "job.json")


def with_function(function: str) -> bytes:
    """A job's file in which a call is one of `function`."""
    file = json.loads(encode_job(example_job()))
    index = next(i for i, n in enumerate(file["body"]["nodes"]) if n.get("node") == "call")
    return edited(example_job(), "nodes", index, "function", value=function)


def test_a_carried_function_is_read_again() -> None:
    options = (("options", '{"it\'s": "`); DROP TABLE t --"}'),)
    for function in (Carried("soundex", "SoundEx"), Carried("to_json", "StructsToJson", options)):
        job = decode_job(with_function(function.id), "job.json")
        assert decode_job(encode_job(job), "job.json") == job


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (Carried("reflect", "CallMethodViaReflection").id, "no built-in function 'reflect'"),
        (Carried("java_method", "SoundEx").id, "no built-in function 'java_method'"),
        (Carried("try_reflect", "TryReflect").id, "no built-in function 'try_reflect'"),
        (Carried("from_protobuf", "FromProtobuf").id, "no built-in function"),
        (Carried("rand", "Rand").id, "no built-in function"),
        (Carried("current_user", "CurrentUser").id, "no built-in function"),
        (Carried("sum", "Sum").id, "no built-in function 'sum'"),
        (Carried("explode", "Explode").id, "no built-in function"),
        (Carried("my_function", "ScalaUDF").id, "no built-in function"),
        (Carried("soundex('a')) --", "SoundEx").id, "no built-in function"),
        (Carried("SOUNDEX", "SoundEx").id, "no built-in function"),
        (Carried("default.soundex", "SoundEx").id, "no built-in function"),
        (Carried("predtrace_total", "TryEval").id, "no built-in function"),
        (Carried("timestampadd", "TimestampAdd", (("unit", "HOUR, now()) --"),)).id, "unit of"),
        (Carried("timestampadd", "TimestampAdd").id, "unit of"),
        (Carried("to_json", "StructsToJson", (("options", "[1]"),)).id, "no object of options"),
        (Carried("to_json", "StructsToJson", (("options", "{"),)).id, "is no object of options"),
        (
            Carried(
                "from_xml", "XmlToStructs", (("options", '{"rowValidationXsdPath": "/x"}'),)
            ).id,
            "reads files",
        ),
        ("carried soundex", "no carried function"),
        ('carried {"name":"soundex"}', "no carried function"),
        ('carried {"name":"soundex","expression":"SoundEx","parameters":[] }', "not how"),
    ],
)
def test_functions_that_no_job_may_name(function: str, reason: str) -> None:
    with pytest.raises(JobFormatError, match=reason):
        decode_job(with_function(function), "job.json")


def test_unknown_function_is_refused() -> None:
    file = json.loads(encode_job(example_job()))
    index = next(i for i, n in enumerate(file["body"]["nodes"]) if n.get("node") == "call")
    with pytest.raises(JobFormatError, match="no function 'launch'"):
        decode_job(edited(example_job(), "nodes", index, "function", value="launch"), "job.json")


def test_a_literal_with_a_bad_value_is_refused() -> None:
    file = json.loads(encode_job(example_job()))
    index = next(i for i, n in enumerate(file["body"]["nodes"]) if n.get("node") == "literal")
    bad = {"date": "2026-13-01"}
    with pytest.raises(JobFormatError, match="is not a date value"):
        decode_job(edited(example_job(), "nodes", index, "value", value=bad), "job.json")


def test_reading_needs_no_engine() -> None:
    code = (
        "import sys, predtrace.jobs.codec\n"
        "print([m for m in ('pyspark','pandas','duckdb','pyarrow') if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
