"""Leaves whose rows the program brings: VALUES, createDataFrame, RDDs, checkpoints, ranges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from predtrace.errors import UnsupportedOperatorError
from predtrace.frontends.spark.catalyst import place
from predtrace.frontends.spark.leaves import Leaf
from predtrace.frontends.spark.source_book import Relation
from predtrace.frontends.spark.tree import Node
from predtrace.frontends.spark.variables import Variables
from predtrace.jobs.model import RANGE
from predtrace.jobs.ranges import NumberRange


def read_rows(node: Node, leaf: Leaf, variables: Variables) -> Relation:
    """What such a leaf reads. It has the name of its view, else of the program's variable.

    Nothing is computed: an RDD is known by its number. Raises UnsupportedOperatorError for streams.
    """
    if node.fields.get("isStreaming"):
        raise UnsupportedOperatorError(
            f"Catalyst operator {node.cls} cannot be traced: streaming is not traced; "
            f"use a batch read{place(node.handle)}"
        )
    view = leaf.view or leaf.within
    identity = variables.identity_of(node.cls, node.handle, view)
    name = view or variables.name_of(identity)
    names = () if name is None else (name,)
    if node.cls == "Range":
        numbers = NumberRange(*(int(node.fields[field]) for field in NumberRange._fields))
        if numbers.overflows:
            raise UnsupportedOperatorError(
                f"Catalyst operator Range cannot be traced: {numbers.file.path} leads beyond 64 "
                f"bits, and which rows Spark gives depends on its partitions{place(node.handle)}"
            )
        return Relation(names, RANGE, options=tuple(numbers.options.items()))
    repeats = node.cls == "LocalRelation" or bool(node.fields.get("fromCheckpoint"))
    return Relation(names, "parquet", rows=identity, repeats=repeats)


def column_names(names: Sequence[str]) -> list[str]:
    """The names under which the columns of such rows are kept: different ones, in any case.

    >>> column_names(["a", "A", "", "a"])
    ['a', 'A (2)', 'column 3', 'a (3)']
    """
    # Spark reads the place of a row through the name _metadata.
    taken = {"_metadata", *(name.casefold() for name in names)}
    seen: set[str] = set()
    found = []
    for position, name in enumerate(names, 1):
        free = name or f"column {position}"
        if free.casefold() in seen or free == "_metadata":
            free = _numbered(free, taken)
        seen.add(free.casefold())
        taken.add(free.casefold())
        found.append(free)
    return found


def _numbered(name: str, taken: Iterable[str]) -> str:
    number = 2
    while f"{name} ({number})".casefold() in taken:
        number += 1
    return f"{name} ({number})"
