"""Copies of operators under other column ids: a graph may then hold a subplan twice."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from pushdown.operators import Operator, Origin
from symbolic.expr import Call, Column, Expr, Literal, transform

T = TypeVar("T")


class Numbers:
    """Ids that are not taken: of columns from `columns` on, of nodes from 1 on."""

    def __init__(self, columns: int) -> None:
        self._columns = itertools.count(columns)
        self._nodes = itertools.count(1)

    def column(self, like: Column) -> Column:
        """The column with an id of its own."""
        return replace(like, id=next(self._columns))

    def node(self) -> int:
        """The id of a new node."""
        return next(self._nodes)


class Names:
    """What the columns of a graph are called in one copy of it.

    Without `numbers` they keep their ids; else each gets a new one when it is first met.
    """

    def __init__(self, numbers: Numbers | None = None) -> None:
        self._numbers = numbers
        self._new: dict[int, int] = {}

    def __call__(self, value: T) -> T:
        """A column, an expression, an operator or a tuple of such, with the copy's ids."""
        return value if self._numbers is None else self._renamed(value)

    def _renamed(self, value: Any) -> Any:
        match value:
            case Column():
                return self._column(value)
            case Call():
                return transform(value, self._replacement)
            case tuple():
                return tuple(map(self._renamed, value))
            case Literal() | Origin():
                return value
            case msgspec.Struct():
                fields = {name: getattr(value, name) for name in value.__struct_fields__}
                return replace(value, **{name: self._renamed(v) for name, v in fields.items()})
            case _:
                return value

    def _replacement(self, expr: Expr) -> Expr | None:
        return self._column(expr) if isinstance(expr, Column) else None

    def _column(self, column: Column) -> Column:
        assert self._numbers is not None
        if column.id not in self._new:
            self._new[column.id] = self._numbers.column(column).id
        return replace(column, id=self._new[column.id])


def placed(operator: Operator, node: int, inputs: Sequence[int]) -> Operator:
    """The operator as another node of a graph, over other inputs."""
    fields = operator.__struct_fields__
    if "inputs" in fields:
        return replace(operator, id=node, inputs=tuple(inputs))
    sides = [name for name in ("input", "left", "right") if name in fields]
    return replace(operator, id=node, **dict(zip(sides, inputs, strict=True)))
