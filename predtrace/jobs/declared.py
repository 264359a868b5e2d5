"""What a source's schema declares beyond names and types, and reading the files depends on.

Spark keeps two such facts in the metadata of fields. One is the value of a column that a file lacks
(``ALTER TABLE … ADD COLUMN … DEFAULT``); jobs keep it as a schema of the same shape with nothing
else in its metadata. The other is the id by which a Parquet file knows a column.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

DEFAULT = "EXISTS_DEFAULT"
"""The key of a default value, which is a constant in SQL."""
FIELD_ID = "parquet.field.id"
_CONSTANT = (
    exp.Literal, exp.Boolean, exp.Null, exp.Neg, exp.Cast, exp.TryCast, exp.DataType,
    exp.DataTypeParam, exp.Paren, exp.Array, exp.Map, exp.Struct, exp.Interval, exp.Var,
    exp.IntervalSpan, exp.HexString,
)  # fmt: skip
"""What a default may be made of: nothing that computes."""


def declared_facts(schema: str) -> str:
    """The schema (Spark's JSON) with default values alone as metadata; empty if it has none."""
    kept = _kept(json.loads(schema))
    return json.dumps(kept) if any(_metadata(kept)) else ""


def defaults(declared: str) -> dict[str, str]:
    """The columns that have a value in files that lack them, with that value as SQL."""
    fields = json.loads(declared)["fields"] if declared else ()
    return {f["name"]: f["metadata"][DEFAULT] for f in fields if DEFAULT in f["metadata"]}


def has_field_ids(schema: str) -> bool:
    """Whether columns of the schema (Spark's JSON), or fields inside them, have ids."""
    return any(FIELD_ID in found for found in _metadata(json.loads(schema)))


def is_constant(text: str) -> bool:
    """Whether a default is a constant, which nothing has to be run for."""
    try:
        node = sqlglot.parse_one(text, read="spark")
    except SqlglotError:
        return False
    return all(isinstance(part, _CONSTANT) for part in node.walk())


def _kept(node: Any) -> Any:
    if isinstance(node, list):
        return [_kept(each) for each in node]
    if not isinstance(node, dict):
        return node
    found = {key: _kept(value) for key, value in node.items() if key != "metadata"}
    if "metadata" in node:
        found["metadata"] = {k: v for k, v in node["metadata"].items() if k == DEFAULT}
    return found


def _metadata(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, list):
        for each in node:
            yield from _metadata(each)
    elif isinstance(node, dict):
        if node.get("metadata"):
            yield node["metadata"]
        for key, value in node.items():
            if key != "metadata":
                yield from _metadata(value)
