"""Jobs to bytes and back: the format of `job.json`.

The file is one JSON object::

    {"format": "predtrace job", "schema": 3, "sha256": "…",
     "body": {"nodes": [...], "job": {...}}}

`nodes` is a flat list of all expressions and data types, equal ones once, arguments
before the calls that use them; every other place holds an index into it. So deep
predicates need no deep recursion, and subterms that many predicates share cost nothing.
`sha256` is the checksum of the bytes of `body`.
"""

from __future__ import annotations

import hashlib
from pathlib import PurePosixPath
from typing import Any, get_args

import msgspec

from predtrace.errors import JobFormatError, StoreError
from predtrace.jobs.fields import (
    Malformed,
    child_nodes,
    decode_struct,
    encode_struct,
)
from predtrace.jobs.formats import lies_under, obstacle
from predtrace.jobs.model import Job, StoredResult
from pushdown.graph import OperatorGraph
from pushdown.operators import GroupBy, MarkJoin, Scan
from symbolic.expr import Call, Expr, conjuncts
from symbolic.functions import AGGREGATES, FUNCTIONS
from symbolic.types import DataType

FORMAT = "predtrace job"
_MOST = 1 << 48
"""More bytes, or rows, than files have."""
SCHEMA = 3
"""2 added stored tables that number output rows, 3 checksums of stored files and settings, and
the matches of mark joins."""
_TELLS_MATCHES = 3
_NODE_CLASSES: tuple[type[msgspec.Struct], ...] = (*get_args(Expr), *get_args(DataType))


class _File(msgspec.Struct):
    """The envelope. `body` stays undecoded until checksum and schema are known to be good."""

    format: str
    schema: int
    sha256: str = ""
    body: msgspec.Raw = msgspec.Raw(b"null")


class NodeWriter:
    """Collects expressions and types into a flat list, each one once."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []
        self._by_content: dict[bytes, int] = {}
        # keyed by identity: hashing by value would walk a whole tree for every node
        self._by_identity: dict[int, int] = {}

    def add(self, node: msgspec.Struct) -> int:
        """The node's index; its children are added before it."""
        stack = [node]
        while stack:
            current = stack[-1]
            pending = [
                child for child in child_nodes(current) if id(child) not in self._by_identity
            ]
            if pending:
                stack.extend(pending)
                continue
            stack.pop()
            if id(current) not in self._by_identity:
                self._by_identity[id(current)] = self._append(current)
        return self._by_identity[id(node)]

    def _append(self, node: msgspec.Struct) -> int:
        record = encode_struct(node, lambda child: self._by_identity[id(child)])
        content = msgspec.json.encode(record)
        index = self._by_content.setdefault(content, len(self.nodes))
        if index == len(self.nodes):
            self.nodes.append(record)
        return index


def encode_job(job: Job) -> bytes:
    """The job as the bytes of a `job.json`.

    Raises StoreError if it holds something that cannot be saved.
    """
    writer = NodeWriter()
    try:
        record = encode_struct(job, writer.add)
        body = msgspec.json.encode({"nodes": writer.nodes, "job": record})
    except (Malformed, UnicodeError) as error:
        raise StoreError(f"job {job.id} cannot be saved: {error}") from error
    file = _File(FORMAT, SCHEMA, hashlib.sha256(body).hexdigest(), msgspec.Raw(body))
    return msgspec.json.encode(file)


def decode_job(data: bytes, where: str) -> Job:
    """The job that `encode_job` wrote.

    `where` names the file in errors. Raises JobFormatError if the file is no job, is
    truncated or changed, was written by a newer predtrace, or does not make sense.
    """
    file = _envelope(data, where)
    body = bytes(file.body)
    if hashlib.sha256(body).hexdigest() != file.sha256:
        raise JobFormatError(
            f"{where} was changed after it was written (its checksum does not fit); "
            "restore it from a copy, or run the pipeline again"
        )
    try:
        job = _decode_body(msgspec.json.decode(body))
        _check(job)
        if file.schema < _TELLS_MATCHES:
            _check_marks(job)
    except (Malformed, msgspec.DecodeError, RecursionError) as error:
        raise JobFormatError(
            f"{where} does not hold a valid job ({error}); run the pipeline again"
        ) from error
    return job


def _envelope(data: bytes, where: str) -> _File:
    try:
        file = msgspec.json.decode(data, type=_File)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise JobFormatError(
            f"{where} is truncated or no job file ({error}); "
            "restore it from a copy, or run the pipeline again"
        ) from error
    if file.format != FORMAT:
        raise JobFormatError(f"{where} is no job file of predtrace (format {file.format!r})")
    if file.schema > SCHEMA:
        raise JobFormatError(
            f"{where} was written by a newer predtrace (schema {file.schema}; this version reads "
            f"up to {SCHEMA}): upgrade predtrace to read it"
        )
    if file.schema < 1:
        raise JobFormatError(f"{where} names the schema {file.schema}, which never existed")
    return file


def _decode_body(body: Any) -> Job:
    if not (isinstance(body, dict) and isinstance(body.get("nodes"), list) and "job" in body):
        raise Malformed("nodes and job expected")
    nodes: list[msgspec.Struct] = []

    def get(index: int) -> msgspec.Struct:
        # Only nodes before the present one exist yet: the list cannot have cycles.
        if not 0 <= index < len(nodes):
            raise Malformed(f"there is no node {index} before this place")
        return nodes[index]

    for number, record in enumerate(body["nodes"]):
        try:
            node = decode_struct(record, _NODE_CLASSES, get)
        except Malformed as error:
            raise Malformed(f"node {number}: {error}") from error
        nodes.append(node)
        if isinstance(node, Call) and node.function not in FUNCTIONS:
            raise Malformed(f"node {number}: there is no function {node.function!r}")
    job = decode_struct(body["job"], (Job,), get)
    assert isinstance(job, Job)
    return job


def _check(job: Job) -> None:
    """What must hold beyond the types of the fields. Raises Malformed."""
    for check in (_check_graph, _check_sources, _check_plans, _check_folders, _check_numbers):
        check(job)


def _check_graph(job: Job) -> None:
    ids = [operator.id for operator in job.graph]
    if len(set(ids)) != len(ids) or job.root not in ids:
        raise Malformed("the operators' numbers are not unique, or the root is not among them")
    try:
        OperatorGraph(job.graph, job.root)
    except (ValueError, LookupError) as error:
        raise Malformed(f"the operator graph: {error}") from error
    for operator in job.graph:
        for aggregation in operator.aggregations if isinstance(operator, GroupBy) else ():
            if aggregation.call.function not in AGGREGATES:
                raise Malformed(f"there is no aggregate {aggregation.call.function!r}")


def _check_sources(job: Job) -> None:
    names = [source.name for source in job.sources]
    if len(set(names)) != len(names):
        raise Malformed("two sources have one name")
    for operator in job.graph:
        if isinstance(operator, Scan) and operator.table not in names:
            raise Malformed(f"there is no source {operator.table!r}, which is scanned")
    for source in job.sources:
        found = obstacle(source.format, source.options, source.roots)
        if found is not None:
            raise Malformed(f"source {source.name!r}: {found}")
        for path in (*source.roots, *(file.path for file in source.files)):
            if not path.startswith("/") or _goes_up(path):
                raise Malformed(f"source {source.name!r}: {path!r} is not a whole local path")
        for file in source.files:
            if not any(lies_under(file.path, root) for root in source.roots):
                raise Malformed(f"source {source.name!r}: {file.path!r} is under none of its paths")
            if not 0 <= file.size <= _MOST or not 0 <= (file.rows or 0) <= _MOST:
                raise Malformed(f"source {source.name!r}: {file.path!r} cannot be so large")


def _check_marks(job: Job) -> None:
    """Older files do not say whether a mark join's NULL rule is that of NOT IN."""
    for operator in job.graph:
        for term in conjuncts(operator.condition) if isinstance(operator, MarkJoin) else ():
            match term:
                case Call(function="or", args=(compared, Call(function="is_null", args=(tested,)))):
                    if compared == tested:
                        raise Malformed(
                            "an older version saved it with a NOT IN under OR or as a value, and "
                            "answered for its NULLs as for matches"
                        )


def _check_plans(job: Job) -> None:
    ids = {operator.id for operator in job.graph}
    bindings: dict[str, set[int]] = {}
    for plan in job.plans:
        known = {0, *(intermediate.binding for intermediate in plan.intermediates)}
        bindings[plan.aggregates] = known
        named = [scan.node for scan in plan.scans] + [step.node for step in plan.steps]
        for node in named + [intermediate.node for intermediate in plan.intermediates]:
            if node not in ids:
                raise Malformed(f"a plan names the operator {node}, which does not exist")
        used = {scan.binding for scan in plan.scans} | {i.parent for i in plan.intermediates}
        if not used <= known:
            raise Malformed(f"a plan names the binding {min(used - known)}, which does not exist")
    for stored in job.intermediates:
        if stored.binding not in bindings.get(stored.aggregates, ()):
            raise Malformed(f"a stored result is of binding {stored.binding}, which does not exist")


def _check_folders(job: Job) -> None:
    given = OperatorGraph(job.graph, job.root).output()
    if job.output is not None and job.output.columns != given:
        raise Malformed("the stored output has other columns than the pipeline")
    results: list[StoredResult] = [stored.result for stored in job.intermediates]
    if job.output is not None:
        results.append(job.output)
    for result in results:
        if _leads_out(result.folder):
            raise Malformed(f"the folder {result.folder!r} is not inside the job's folder")
        for file in () if result.numbers is None else result.numbers.files:
            if _leads_out(file.name):
                raise Malformed(f"the file {file.name!r} is not inside the output's folder")
        for stored in result.files:
            if _leads_out(stored.name):
                raise Malformed(f"the file {stored.name!r} is not inside the result's folder")


def _leads_out(name: str) -> bool:
    path = PurePosixPath(name)
    return path.is_absolute() or not path.parts or "\\" in name or _goes_up(name)


def _goes_up(path: str) -> bool:
    return ".." in PurePosixPath(path).parts or "\0" in path


def _check_numbers(job: Job) -> None:
    output = set() if job.output is None else {column.id for column in job.output.columns}
    for stored in job.intermediates:
        columns = {column.id for column in stored.result.columns}
        numbers = stored.result.numbers
        for value in () if numbers is None else numbers.values:
            if value.column not in columns or value.output not in output:
                raise Malformed(
                    f"column {value.column} is said to be the output's {value.output}, and one of "
                    "them does not exist"
                )
