"""Smaller statements that fail alike: one clause or subexpression less at a time."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from tests.sqltruth.batches import Batch
from tests.sqltruth.checking import check
from tests.sqltruth.outcomes import Outcome
from tests.sqltruth.spelling import text
from tests.sqltruth.syntax import (
    Call,
    Constant,
    Derived,
    Exists,
    InQuery,
    Join,
    Ref,
    Scalar,
    Select,
    SetOperation,
    Statement,
    Table,
    Top,
)
from tests.sqltruth.tables import constants

NODES = (Call, Exists, InQuery, Scalar, Derived, Join, Select, SetOperation, Top, Statement)
"""What smaller nodes may stand in for parts of; groupings refer to their parts, and stay."""
Node = Any


def shrunk(statement: Statement, outcome: Outcome, batch: Batch, steps: int = 60) -> Outcome:
    """The outcome of a small statement with a finding of the same kind, after so many tries."""
    wanted = outcome.findings[0]["kind"]

    def fails(candidate: Statement) -> Outcome | None:
        try:
            found = check(candidate, batch, outcome.choices)
        except (KeyError, IndexError, ValueError, AssertionError):
            return None  # It reads a column that the step took away.
        return found if any(f["kind"] == wanted for f in found.findings) else None

    best = outcome
    for _ in range(steps):
        step = _first(_smaller(statement), fails)
        if step is None:
            break
        statement, best = step
    return best


def _first(
    candidates: Iterator[Statement], fails: Callable[[Statement], Outcome | None]
) -> tuple[Statement, Outcome] | None:
    for candidate in candidates:
        found = fails(candidate)
        if found is not None:
            return candidate, found
    return None


def _smaller(statement: Statement) -> Iterator[Statement]:
    if statement.ctes:
        yield Statement(_inlined(statement.query))
    if isinstance(statement.query, Select):
        for query in _fewer_items(statement.query):
            yield dataclasses.replace(statement, query=query)
    for query in _variants(statement.query):
        yield dataclasses.replace(statement, query=query)


def _inlined(node: Node) -> Node:
    """The node with its CTEs written out."""
    changes = {}
    for name, part in _fields(node):
        changes[name] = tuple(map(_inlined, part)) if isinstance(part, tuple) else _inlined(part)
    if isinstance(node, Derived):
        changes["cte"] = None
    return dataclasses.replace(node, **changes) if changes else node


def _fields(node: Node) -> list[tuple[str, Any]]:
    """The fields that hold nodes."""
    if not isinstance(node, NODES):
        return []
    found = ((f.name, getattr(node, f.name)) for f in dataclasses.fields(node))
    leaves = (*NODES, Ref, Constant, Table)
    return [
        (name, part)
        for name, part in found
        if isinstance(part, leaves)
        or (isinstance(part, tuple) and part and all(isinstance(p, leaves) for p in part))
    ]


def _variants(node: Node) -> Iterator[Node]:
    """The node with one thing less, the larger steps first."""
    yield from _own(node)
    if isinstance(node, Derived) and node.cte is not None:
        return
    for name, part in _fields(node):
        if not isinstance(part, tuple):
            for variant in _variants(part):
                yield dataclasses.replace(node, **{name: variant})
            continue
        for place, each in enumerate(part):
            for variant in _variants(each):
                changed = (*part[:place], variant, *part[place + 1 :])
                yield dataclasses.replace(node, **{name: changed})


def _own(node: Node) -> Iterator[Node]:
    match node:
        case Top(query=inner):
            yield inner
        case SetOperation(left=left, right=right):
            yield left
            yield right
        case Select():
            yield from _smaller_select(node)
        case Join(left=left, right=right):
            yield left
            yield right
        case Call(arguments=arguments):
            yield from (a for a in arguments if a.type == node.type)
            yield from constants(node.type)[:2]
        case Exists() | InQuery() | Scalar():
            yield from constants(node.type)[:2]


def _smaller_select(select: Select) -> Iterator[Select]:
    for place in range(len(select.where)):
        yield dataclasses.replace(select, where=(*select.where[:place], *select.where[place + 1 :]))
    for place in range(len(select.views)):
        fewer = (*select.views[:place], *select.views[place + 1 :])
        yield dataclasses.replace(select, views=fewer)
    if select.distinct:
        yield dataclasses.replace(select, distinct=False)
    if select.order:
        yield dataclasses.replace(select, order=())
    if select.grouping is not None and select.grouping.having is not None:
        yield dataclasses.replace(
            select, grouping=dataclasses.replace(select.grouping, having=None)
        )


def _fewer_items(select: Select) -> Iterator[Select]:
    """One column less; not where GROUP BY names items by place or alias."""
    grouping = select.grouping
    if select.star or (grouping and list(grouping.written) != list(map(text, grouping.keys))):
        return
    for place in range(len(select.items) if len(select.items) > 1 else 0):
        items, names = (
            (*part[:place], *part[place + 1 :]) for part in (select.items, select.names)
        )
        yield dataclasses.replace(select, items=items, names=names)
