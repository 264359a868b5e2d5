"""Jobs to bytes and back: the format of `job.json`.

The file is one JSON object::

    {"format": "predtrace job", "schema": 4, "sha256": "…",
     "body": {"nodes": [...], "job": {...}}}

`nodes` is a flat list of all expressions and data types, each of them once, with arguments before
the calls that use them. Every other place holds an index into it. So deep predicates need no deep
recursion, and subterms shared by many predicates cost nothing. `sha256` is the checksum of the
bytes of `body`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import msgspec

from predtrace.durable.envelope import JsonEnvelope
from predtrace.errors import JobFormatError, StoreError
from predtrace.jobs.checks import check_marks, check_record, function_problem
from predtrace.jobs.fields import (
    Malformed,
    child_nodes,
    decode_struct,
    encode_struct,
)
from predtrace.jobs.model import Job
from symbolic.expr import Call, Expr
from symbolic.types import DataType

FORMAT = "predtrace job"
SCHEMA = 4
"""Schema 2 added stored tables that number output rows; 3 checksums of stored files, settings, and
the matches of mark joins; 4 front ends, samples, and operators that several others read."""
_TELLS_MATCHES = 3
_NODE_CLASSES: tuple[type[msgspec.Struct], ...] = (*get_args(Expr), *get_args(DataType))


ENVELOPE = JsonEnvelope(
    format=FORMAT,
    schema=SCHEMA,
    kind="job file of predtrace",
    remedy="restore it from a copy, or run the pipeline again",
    error=JobFormatError,
)


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
    return ENVELOPE.seal(body)


def with_calls(job: Job, replaced: Callable[[Call], Call]) -> Job:
    """The job with other calls in its operators and plans."""
    writer = NodeWriter()
    record = encode_struct(job, writer.add)
    body = msgspec.json.decode(msgspec.json.encode({"nodes": writer.nodes, "job": record}))
    return _decode_body(body, replaced)


def decode_job(data: bytes, where: str) -> Job:
    """The job that `encode_job` wrote.

    `where` names the file in errors. Raises JobFormatError if the file is not a job, is truncated
    or changed, was written by a newer predtrace, or does not make sense.
    """
    schema, body = ENVELOPE.open(data, where)
    try:
        job = _decode_body(msgspec.json.decode(body))
        check_record(job)
        if schema < _TELLS_MATCHES:
            check_marks(job)
    except (Malformed, msgspec.DecodeError, RecursionError) as error:
        raise JobFormatError(
            f"{where} does not hold a valid job ({error}); run the pipeline again"
        ) from error
    return job


def _decode_body(body: Any, replaced: Callable[[Call], Call] = lambda call: call) -> Job:
    if not (isinstance(body, dict) and isinstance(body.get("nodes"), list) and "job" in body):
        raise Malformed("nodes and job expected")
    nodes: list[msgspec.Struct] = []

    def get(index: int) -> msgspec.Struct:
        # Only earlier nodes exist yet: the list cannot have cycles.
        if not 0 <= index < len(nodes):
            raise Malformed(f"there is no node {index} before this place")
        return nodes[index]

    for number, record in enumerate(body["nodes"]):
        try:
            node = decode_struct(record, _NODE_CLASSES, get)
        except Malformed as error:
            raise Malformed(f"node {number}: {error}") from error
        nodes.append(replaced(node) if isinstance(node, Call) else node)
        if isinstance(node, Call) and (problem := function_problem(node.function)):
            raise Malformed(f"node {number}: {problem}")
    job = decode_struct(body["job"], (Job,), get)
    assert isinstance(job, Job)
    return job
