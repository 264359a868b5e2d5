"""The base of operators, with their traits.

An operator is a frozen struct that names its inputs by node id and carries what SEMANTICS needs.
Column ids are unique in a graph: an operator that computes a column makes a new id, and an operator
that passes a column on keeps its id.

Every trait that other modules read is an abstract member here: there are no defaults.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, Protocol, Self

import msgspec

from symbolic.expr import Column, Expr, ExprBase
from symbolic.types import DataType

Columns = tuple[Column, ...]
Ids = frozenset[int]


class Origin(msgspec.Struct, frozen=True):
    """The place in the user's code that an operator came from: the text, and its line if known."""

    text: str
    line: int | None = None


class Assignment(msgspec.Struct, frozen=True):
    """A computed column: `column` takes the value of `value`.

    A column passed on has itself as its value, with the same id.
    """

    column: Column
    value: Expr


class Repeats(Enum):
    """Whether another run of an operator, on the same rows, gives the same rows."""

    ALWAYS = "always"
    BY_DATA = "by data"
    """It depends on the data: engines check before they replay."""
    NEVER = "never"


class Guesses(Protocol):
    """The guesses that estimates of row counts may use."""

    def scanned(self, scan: int) -> float:
        """The rows of a scan's source."""

    def selectivity(self, condition: Expr) -> float:
        """The share of rows for which a condition is true."""

    def groups(self, rows: float, keys: Sequence[Expr]) -> float:
        """The number of groups of so many rows."""


class _OperatorMeta(msgspec.StructMeta, ABCMeta):
    pass


class OperatorBase(
    msgspec.Struct, metaclass=_OperatorMeta, frozen=True, kw_only=True, tag_field="operator"
):
    """The base of all operators: `id` is the node's number in its graph.

    Where a member takes `inputs`, these are the output columns of the operator's inputs.
    """

    id: int
    origin: Origin | None = None

    @property
    @abstractmethod
    def inputs(self) -> tuple[int, ...]:
        """The ids of the inputs, left to right."""

    @abstractmethod
    def with_inputs(self, *ids: int) -> Self:
        """The operator over other inputs."""

    @abstractmethod
    def output(self, *inputs: Columns) -> Columns:
        """The output columns."""

    @property
    @abstractmethod
    def expressions(self) -> tuple[Expr, ...]:
        """All expressions that it evaluates."""

    @abstractmethod
    def made_of(self, *inputs: Columns) -> Mapping[int, Ids]:
        """For each output column, the input columns that its value is made of."""

    @abstractmethod
    def needs(self, needed: Ids, *inputs: Columns) -> tuple[Ids, ...]:
        """For each input, the columns that the `needed` output columns depend on.

        The rows must stay the same, too, equally often.
        """

    @abstractmethod
    def pruned(self, needed: Ids) -> Self:
        """The operator, computing only the `needed` output columns."""

    @abstractmethod
    def compared(self, *inputs: Columns) -> tuple[DataType, ...]:
        """The types of values that it compares or sorts, in addition to comparisons in its
        expressions."""

    @property
    @abstractmethod
    def repeats(self) -> Repeats:
        """Whether another run gives the same rows."""

    @property
    @abstractmethod
    def keeps_apart(self) -> tuple[int, ...]:
        """The inputs, by position, that give at most one row to each output row."""

    @property
    @abstractmethod
    def padded(self) -> tuple[int, ...]:
        """The inputs, by position, whose columns are NULL in output rows made of none of their
        rows.

        This concerns columns that the output has under the same ids.
        """

    @property
    @abstractmethod
    def keeps_order(self) -> bool:
        """Whether its rows come in the order of its input's."""

    @abstractmethod
    def pins(self, *inputs: Columns) -> Ids:
        """The output columns that usually must be pinned for precise pushdown."""

    @property
    @abstractmethod
    def equalities(self) -> tuple[Expr, ...]:
        """Terms that are true of every output row and the rows that it is made of."""

    @abstractmethod
    def estimate(self, rows: Sequence[float], guesses: Guesses) -> float:
        """A guess of the number of output rows, from the numbers of input rows."""


class Leaf(OperatorBase, frozen=True, kw_only=True):
    """An operator without inputs."""

    @property
    def inputs(self) -> tuple[int, ...]:
        """No inputs."""
        return ()

    def with_inputs(self, *ids: int) -> Self:
        """The operator itself."""
        return self

    @property
    def padded(self) -> tuple[int, ...]:
        """No inputs, since it has none."""
        return ()


class OneInput(OperatorBase, frozen=True, kw_only=True):
    """An operator over one input."""

    input: int

    @property
    def inputs(self) -> tuple[int, ...]:
        """The one input."""
        return (self.input,)

    def with_inputs(self, *ids: int) -> Self:
        """The operator over another input."""
        (only,) = ids
        return msgspec.structs.replace(self, input=only)


class SameColumns(OneInput, frozen=True, kw_only=True):
    """An operator whose output has its input's columns, unchanged."""

    def output(self, *inputs: Columns) -> Columns:
        """The input's columns."""
        return inputs[0]

    def made_of(self, *inputs: Columns) -> Mapping[int, Ids]:
        """The columns themselves."""
        return itself(inputs[0])

    def pruned(self, needed: Ids) -> Self:
        """The operator itself: it computes no column that could be left out."""
        return self


class TwoInputs(OperatorBase, frozen=True, kw_only=True):
    """An operator over a left and a right input."""

    left: int
    right: int

    @property
    def inputs(self) -> tuple[int, ...]:
        """The left and the right input."""
        return (self.left, self.right)

    def with_inputs(self, *ids: int) -> Self:
        """The operator over other inputs."""
        left, right = ids
        return msgspec.structs.replace(self, left=left, right=right)


def ids_of(columns: Columns) -> Ids:
    """The columns' ids."""
    return frozenset(column.id for column in columns)


def itself(columns: Columns) -> dict[int, Ids]:
    """The sources of columns that are passed on: the columns themselves."""
    return {column.id: frozenset((column.id,)) for column in columns}


def pruned_to(assignments: tuple[Assignment, ...], needed: Ids) -> tuple[Assignment, ...]:
    """The assignments of needed columns."""
    return tuple(a for a in assignments if a.column.id in needed)


def rebuilt(operator: Any, change: Callable[[Expr], Expr]) -> Any:
    """The operator with all of its expressions and columns replaced."""
    return msgspec.structs.replace(
        operator,
        **{name: _rebuilt(getattr(operator, name), change) for name in operator.__struct_fields__},
    )


def _rebuilt(value: Any, change: Callable[[Any], Expr]) -> Any:
    if isinstance(value, ExprBase):
        return change(value)
    if isinstance(value, tuple):
        return tuple(_rebuilt(item, change) for item in value)
    return rebuilt(value, change) if isinstance(value, msgspec.Struct) else value
