"""Records of jobs that nobody wrote in good faith: one place of a good record changed."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from predtrace import JobHandle

STRANGE: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 7, 2**31, 2**63 - 1, 2**63, -(2**63), 10**30, 0.5, 1e308,
    "nan", "inf", "", ".", "..", "../../x", "/etc/passwd", "/dev/zero", "a/../../b", "x\0y",
    "\x1b[2J",
    "jdbc", "org.apache.spark.sql.execution.datasources.jdbc.JdbcRelationProvider", "parquet",
    "csv", "text", "javax.sql.DataSource", "SET x = 1; DROP TABLE t", "'", '"', "`", "${user}",
    "\ud7ff", "x" * 5000, "Mars/Olympus", "left", "both", "whole", "minimal", "precise", [], [[]],
    {}, {"a": 1}, [0], [0, 0, 0], {"int": "7"}, {"int": "x"}, {"decimal": "NaN"},
    {"decimal": "1E+9999"}, {"date": "0001-01-01"}, {"float": "nan"}, {"bytes": "!"},
)  # fmt: skip
"""Values to put in the place of others."""

OPTIONS = ("url", "driver", "dbtable", "query", "path", "basePath", "io.compression.codecs")


def unsealed(record: bytes) -> Any:
    """The body of a record."""

    class Envelope(msgspec.Struct):
        body: msgspec.Raw

    return msgspec.json.decode(msgspec.json.decode(record, type=Envelope).body)


def sealed(body: Any) -> bytes:
    """A record with this body, whose checksum fits."""
    raw = msgspec.json.encode(body)
    return msgspec.json.encode(
        {
            "format": "predtrace job",
            "schema": 4,
            "sha256": hashlib.sha256(raw).hexdigest(),
            "body": msgspec.Raw(raw),
        }
    )


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all places in a record."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        yield (*path, key)
        if isinstance(item, (dict, list)):
            yield from places(item, (*path, key))


def changed(body: Any, seed: int) -> Any:
    """The body with one place changed, left out, repeated, or made another place's."""
    body = msgspec.json.decode(msgspec.json.encode(body))
    chosen = random.Random(seed)
    every = list(places(body))
    *way, last = chosen.choice(every)
    parent = body
    for key in way:
        parent = parent[key]
    kind = chosen.randrange(5)
    if kind == 0:
        del parent[last]
    elif kind == 1 and isinstance(parent, list):
        parent.append(parent[last])
    elif kind == 2:
        other: Any = body
        for key in chosen.choice(every):
            other = other[key]
        parent[last] = msgspec.json.decode(msgspec.json.encode(other))
    elif kind == 3 and isinstance(parent[last], int):
        parent[last] = chosen.randrange(60)
    elif kind == 4 and isinstance(parent[last], dict):
        parent[last][chosen.choice(OPTIONS)] = chosen.choice(STRANGE)
    else:
        parent[last] = chosen.choice(STRANGE)
    return body


def _forward(job: JobHandle, out: Path) -> object:
    job.build_index(engine="duckdb")
    return job.forward("e", rows=[1], engine="duckdb").to_arrow()


def uses(target: Any) -> dict[str, Callable[[JobHandle, Path], object]]:
    """What can be done with a job, each given a folder to write to."""

    def ask(mode: str) -> Callable[[JobHandle, Path], object]:
        def asked(job: JobHandle, out: Path) -> object:
            answer = job.lineage(target, mode=mode, engine="duckdb")
            answer.explain()
            return [(scan.count(), scan.head(2), scan.row_ids().num_rows) for scan in answer.scans]

        return asked

    return {
        **{mode: ask(mode) for mode in ("auto", "stored", "replayed", "refined", "naive")},
        "several": lambda job, out: [
            scan.to_arrow() for scan in job.lineage([target], engine="duckdb").scans
        ],
        "output": lambda job, out: job.output_arrow(),
        "repr": lambda job, out: (repr(job), repr(job.record)),
        "index": lambda job, out: job.build_index(engine="duckdb"),
        "forward": _forward,
        "build": lambda job, out: job.build_intermediates(engine="duckdb"),
    }
