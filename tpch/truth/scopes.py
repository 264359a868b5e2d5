"""Names in scope, and expressions over them as Python functions.

A row is a tuple of the rows of its FROM items. A context is a row and the context of the enclosing
query, or None. A column's place is the number of its item and its number there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from sqlglot import exp

from tpch.truth.origins import Origin

Context: TypeAlias = tuple[Sequence[Any], Any]
Place: TypeAlias = tuple[int, int]
Outer: TypeAlias = tuple[int, Place]
"""A column of an enclosing query: how many queries further out, and its place there."""


class Item(NamedTuple):
    """A FROM item: its alias and the names of its columns."""

    alias: str
    names: Sequence[str]


@dataclass
class Scope:
    """The FROM items of a query, inside the scope of the query around it."""

    items: Sequence[Item]
    outer: Scope | None = None
    read: set[Place] = field(default_factory=set)
    """The columns that an expression reads."""

    def find(self, column: exp.Column) -> Outer | None:
        """Where a column comes from: the innermost scope that has one of the name."""
        name, alias = column.name.lower(), column.table.lower()
        scope: Scope | None = self
        depth = 0
        while scope is not None:
            for number, item in enumerate(scope.items):
                if alias in ("", item.alias) and name in item.names:
                    return depth, (number, list(item.names).index(name))
            scope, depth = scope.outer, depth + 1
        return None

    def note(self, outer: Outer) -> None:
        """Note that a column is read."""
        depth, place = outer
        scope = self
        for _ in range(depth):
            assert scope.outer is not None
            scope = scope.outer
        scope.read.add(place)


@dataclass(frozen=True)
class Computed:
    """An expression: its value, and what its subqueries bring along, in a context.

    `reads` are the columns of the query's own items that it reads, `outer` those of enclosing
    queries.
    """

    value: Callable[[Context], Any]
    behind: tuple[Callable[[Context], Origin], ...] = ()
    reads: frozenset[Place] = frozenset()
    outer: frozenset[Outer] = frozenset()

    @property
    def items(self) -> frozenset[int]:
        """The items that it reads."""
        return frozenset(item for item, _ in self.reads)


def canonical(node: exp.Expr, scope: Scope) -> str:
    """A text that is the same for the same expression, however its columns are qualified."""

    def placed(part: exp.Expr) -> exp.Expr:
        if isinstance(part, exp.Column) and (found := scope.find(part)) is not None:
            return exp.Var(this=f"<{found}>")
        return part

    return bare(node).copy().transform(placed).sql("spark").lower()


def bare(node: exp.Expr) -> exp.Expr:
    """The expression without alias and parentheses around it."""
    while isinstance(node, exp.Alias | exp.Paren):
        node = node.this
    return node


def conjuncts(node: exp.Expr | None) -> list[exp.Expr]:
    """The terms of an AND."""
    if node is None:
        return []
    if isinstance(node, exp.Paren) and isinstance(node.this, exp.And | exp.Paren):
        return conjuncts(node.this)
    if isinstance(node, exp.And):
        return [*conjuncts(node.left), *conjuncts(node.right)]
    if isinstance(bare(node), exp.Or):
        return [*_common(bare(node)), node]
    return [node]


def _common(node: exp.Expr) -> list[exp.Expr]:
    """The terms that all branches of an OR have: they are true where it is."""
    branches = [conjuncts(branch) for branch in _branches(node)]
    return [term for term in branches[0] if all(term in branch for branch in branches[1:])]


def _branches(node: exp.Expr) -> list[exp.Expr]:
    node = bare(node)
    if isinstance(node, exp.Or):
        return [*_branches(node.left), *_branches(node.right)]
    return [node]
