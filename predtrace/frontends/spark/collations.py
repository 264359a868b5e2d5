"""Refuses strings under a collation: equal strings may differ there.

Lineage looks rows up by values of other rows: a join's partner by its key, a group's members by the
group's key. Of Spark's collations only UTF8_BINARY, the default, keeps different strings apart.
"""

from __future__ import annotations

import textwrap
from typing import Any

from predtrace.errors import UnsupportedOperatorError
from predtrace.frontends.spark.catalyst import place
from predtrace.frontends.spark.datatypes import data_type
from predtrace.frontends.spark.tree import Node
from symbolic import types as t

_SHOWN_SQL = 160


def collation_in(kind: t.DataType) -> str | None:
    """The first collation in the type, also in nested types, that is not plain.

    >>> collation_in(t.Array(t.String("UTF8_LCASE")))
    'UTF8_LCASE'
    """
    match kind:
        case t.String(name):
            return None if kind == t.STRING else name
        case t.Array(element):
            return collation_in(element)
        case t.Map(key, value):
            return collation_in(key) or collation_in(value)
        case t.Record(fields):
            return next(filter(None, (collation_in(field.type) for field in fields)), None)
        case _:
            return None


def value_type(node: Node, spark_type: Any) -> t.DataType:
    """The type (in Spark's JSON form) of an expression's value.

    Raises UnsupportedOperatorError for strings under a collation.
    """
    kind = data_type(spark_type)
    found = collation_in(kind)
    if found is None:
        return kind
    shown = textwrap.shorten(str(node.handle.sql()), _SHOWN_SQL, placeholder="…")
    raise UnsupportedOperatorError(
        f"the expression {shown} has the collation {found}, under which strings that differ are "
        f"equal; compare plain strings, e.g. lower(…) of both sides{place(node.handle)}"
    )


def column_type(attribute: Node, source: str) -> t.DataType:
    """The type of a source's column; refuses collations like `value_type`."""
    kind = data_type(attribute.fields["dataType"])
    found = collation_in(kind)
    if found is None:
        return kind
    raise UnsupportedOperatorError(
        f"the column {attribute.name} of {source} has the collation {found}, under which strings "
        f"that differ are equal; read its files with a schema that has plain strings "
        f"(spark.read.schema(…)) and compare e.g. lower(…)"
    )
