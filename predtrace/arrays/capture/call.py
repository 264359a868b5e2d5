"""The input of rules, a call of an array operation, and their output: edges.

A rule is a function with the parameters of the numpy function it stands for, preceded by the
`Call`. The arrays whose lineage is wanted arrive wrapped as `Operand`; all other arguments arrive
as the caller passed them. For every operand and every output that it contributes to, the rule
yields an `Edge`. Arguments that a rule does not name, and operands without an edge, are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from predtrace.arrays.quality import Quality
from predtrace.arrays.relation import CellRelation, LineageTable
from predtrace.errors import ArrayLineageError
from predtrace.packed.boxes import Shape

Array: TypeAlias = npt.NDArray[Any]
Lineage: TypeAlias = LineageTable | CellRelation
"""A compressed table, or pairs that are still to be compressed."""


class UntrackedCallError(ArrayLineageError):
    """An operation, or an argument of it, whose lineage is not known."""


@dataclass(frozen=True, eq=False)
class Operand:
    """An array argument whose cells are tracked; its place among the call's operands.

    `is_number` marks an array without axes that stands for one of numpy's numbers.
    """

    position: int
    value: Array
    is_number: bool = False

    @property
    def shape(self) -> Shape:
        """The array's shape."""
        return self.value.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.value.ndim


@dataclass(frozen=True)
class Edge:
    """Lineage between one operand and one output of a call.

    `quality` None is the quality of the operation's rule.
    """

    operand: Operand
    lineage: Lineage
    output: int = 0
    quality: Quality | None = None


Edges: TypeAlias = Iterator[Edge]


@dataclass(frozen=True, eq=False)
class Call:
    """A call that numpy has carried out: `outputs` are the arrays of its result, in order.

    If an operation writes into its first argument, that array's new state is the only output, and
    operands have their old values. `out` are the arrays that outputs are written into, if the
    caller gave any, with their old values.
    """

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    outputs: tuple[Array, ...]
    out: tuple[Operand | None, ...] = ()

    @property
    def shape(self) -> Shape:
        """The shape of the first output."""
        return self.outputs[0].shape

    def refuse(self, reason: str) -> UntrackedCallError:
        """The error to raise for a call that cannot be tracked as it stands."""
        return UntrackedCallError(
            f"{self.name} is not tracked {reason}; compute it outside and track the result"
        )

    def rerun(self, operand: Operand, value: Any) -> tuple[Array, ...]:
        """The outputs of the same call with one operand's array replaced by another."""
        args, kwargs = mapped(
            (self.args, self.kwargs), lambda one: value if one is operand else plain(one)
        )
        return tuple(arrays_of(self.function(*args, **kwargs)))


def mapped(tree: Any, change: Callable[[Operand], Any]) -> Any:
    """Nested tuples, lists and dicts with every operand replaced."""
    if isinstance(tree, Operand):
        return change(tree)
    if isinstance(tree, tuple):
        return tuple(mapped(item, change) for item in tree)
    if isinstance(tree, list):
        return [mapped(item, change) for item in tree]
    if isinstance(tree, dict):
        return {key: mapped(item, change) for key, item in tree.items()}
    return tree


def plain(tree: Any) -> Any:
    """Nested arguments with every operand replaced by its array or number."""
    return mapped(tree, lambda operand: operand.value[()] if operand.is_number else operand.value)


def operands_of(tree: Any) -> list[Operand]:
    """All operands of nested arguments, in order of appearance."""
    found: list[Operand] = []
    mapped(tree, found.append)
    return found


def arrays_of(result: Any) -> list[Array]:
    """The arrays of a numpy function's result; numpy's scalars are arrays without axes."""
    if isinstance(result, (tuple, list)):
        return [array for item in result for array in arrays_of(item)]
    return [np.asarray(result)]


def shape_of(value: Any) -> Shape:
    """The shape of an operand or of anything that numpy makes an array of."""
    return value.shape if isinstance(value, Operand) else np.shape(value)


def size_of(value: Any) -> int:
    """The number of cells."""
    return int(np.prod(shape_of(value), dtype=np.int64))


def edge(
    value: Any,
    lineage: Callable[..., Lineage],
    *arguments: Any,
    output: int = 0,
    quality: Quality | None = None,
) -> Edges:
    """The edge of an argument if it is an operand; else no edge, and no lineage is computed."""
    if isinstance(value, Operand):
        yield Edge(value, lineage(*arguments), output, quality)
