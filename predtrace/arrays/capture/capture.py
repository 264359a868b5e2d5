"""Captures one call: numpy computes it, and the rule says where the cells came from."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from predtrace.arrays.capture.call import (
    Array,
    Call,
    Edge,
    Lineage,
    Operand,
    UntrackedCallError,
    arrays_of,
    operands_of,
    plain,
)
from predtrace.arrays.capture.registry import find_rule, reason_against, signature_of
from predtrace.arrays.capture.rule import CaptureRule
from predtrace.arrays.capture.rules.movement import GETITEM
from predtrace.arrays.capture.rules.writes import SETITEM
from predtrace.arrays.quality import Quality
from predtrace.arrays.relation import CellRelation, LineageTable

_INDEXING = {operator.getitem: ("getitem", GETITEM), operator.setitem: ("setitem", SETITEM)}


@dataclass(frozen=True, eq=False)
class CarriedOut:
    """A call that numpy carried out, and the rule that says where its cells came from."""

    name: str
    rule: CaptureRule
    result: Any
    call: Call

    @property
    def outputs(self) -> tuple[Array, ...]:
        """The arrays of the result, in order."""
        return self.call.outputs

    def edges(self) -> tuple[Edge, ...]:
        """The rule's edges. Raises UntrackedCallError for arguments that it does not know."""
        args, kwargs = self.call.args, self.call.kwargs
        edges = tuple(self.rule.capture(self.call, *args, **kwargs))
        for edge in edges:
            shapes = (self.call.outputs[edge.output].shape, edge.operand.shape)
            if (edge.lineage.out_shape, edge.lineage.in_shape) != shapes:
                raise self.call.refuse("with arguments of these shapes")
        found = {edge.operand.position for edge in edges}
        for operand in operands_of((args, kwargs)):
            if operand.position not in found:
                raise self.call.refuse(f"with a tracked array as argument {operand.position + 1}")
        return edges


@dataclass(frozen=True, eq=False)
class Captured:
    """A call's result as numpy gives it, its arrays in order, and their lineage."""

    name: str
    rule: CaptureRule
    result: Any
    outputs: tuple[Array, ...]
    edges: tuple[Edge, ...]

    def lineage(self, operand: int = 0, output: int = 0) -> LineageTable:
        """The compressed lineage between an output and one operand, by their positions."""
        return as_table(self.raw(operand, output))

    def raw(self, operand: int = 0, output: int = 0) -> Lineage:
        """The same as the rule returned it; without an edge, no cell contributed."""
        for edge in self.edges:
            if (edge.operand.position, edge.output) == (operand, output):
                return edge.lineage
        shape = next(e.operand.shape for e in self.edges if e.operand.position == operand)
        return LineageTable.empty(self.outputs[output].shape, shape)

    def quality(self, operand: int = 0, output: int = 0) -> Quality:
        """How far the lineage between an output and an operand can be trusted."""
        for edge in self.edges:
            if (edge.operand.position, edge.output) == (operand, output):
                return edge.quality or self.rule.quality
        return self.rule.quality


def as_table(lineage: Lineage) -> LineageTable:
    """Compressed lineage."""
    if isinstance(lineage, CellRelation):
        from predtrace.arrays.provrc import compress

        return compress(lineage)
    return lineage


def capture(
    function: Callable[..., Any], *args: Any, method: str = "__call__", **kwargs: Any
) -> Captured:
    """Carry out a numpy function and capture the lineage of all its array arguments.

    Arrays among the arguments, also in lists and tuples, are operands 0, 1, … in order of
    appearance; `method` names a method of a universal function. No argument is written to: the
    new state of an array is an output. Raises UntrackedCallError for functions and arguments
    whose lineage is not known.
    """
    count = 0

    def wrap(tree: Any) -> Any:
        nonlocal count
        if isinstance(tree, np.ndarray):
            count += 1
            return Operand(count - 1, tree)
        if isinstance(tree, (list, tuple)):
            return type(tree)(wrap(item) for item in tree)
        return tree

    if method != "__call__" and not isinstance(function, np.ufunc):
        method, kwargs["method"] = "__call__", method
    wrapped = tuple(wrap(arg) for arg in args)
    return capture_call(function, method, wrapped, {k: wrap(v) for k, v in kwargs.items()})


def capture_call(
    function: Callable[..., Any],
    method: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    out: tuple[Operand | None, ...] = (),
) -> Captured:
    """The same with the operands chosen by the caller; other arrays are constants (`carry_out`)."""
    done = carry_out(function, method, args, kwargs, out)
    return Captured(done.name, done.rule, done.result, done.outputs, done.edges())


def carry_out(
    function: Callable[..., Any],
    method: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    out: tuple[Operand | None, ...] = (),
) -> CarriedOut:
    """Have numpy carry out a call, without asking for its lineage yet.

    `out` has, for some outputs, the array in which the caller wants them. Copies of these are
    written, so types, and cells that `where` leaves out, are as in numpy. Raises UntrackedCallError
    for functions without a rule.
    """
    name, rule = _rule_of(function, method)
    called = function if method == "__call__" else getattr(function, method)
    _check_arguments(name, rule, args, kwargs)
    values, options = plain(args), plain(kwargs)
    if out:
        scratch = tuple(None if target is None else target.value.copy() for target in out)
        options["out"] = scratch if isinstance(function, np.ufunc) else scratch[0]
    if rule.writes:
        if not args:
            raise UntrackedCallError(f"{name} needs the array that it writes to as first argument")
        target = args[0]
        if not isinstance(target, Operand):
            raise UntrackedCallError(
                f"{name} writes tracked cells into an array that is not tracked: track that, too"
            )
        state = target.value.copy()
        called(state, *values[1:], **options)
        result = None
        outputs: tuple[Array, ...] = (state,)
    else:
        result = called(*values, **options)
        outputs = tuple(arrays_of(result))
    return CarriedOut(name, rule, result, Call(name, called, args, kwargs, outputs, out))


def _rule_of(function: Callable[..., Any], method: str) -> tuple[str, CaptureRule]:
    found = _INDEXING.get(function) or find_rule(function, method)
    if found is None:
        name = getattr(function, "__name__", str(function))
        if method != "__call__":
            name += f".{method}"
        why = reason_against(name) or "it has no rule"
        raise UntrackedCallError(
            f"numpy.{name} is not tracked: {why}; compute it outside and track the result"
        )
    return found


def _check_arguments(
    name: str, rule: CaptureRule, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    signature = signature_of(rule.capture)
    try:
        bound = signature.bind(None, *args, **kwargs)
    except TypeError as error:
        raise UntrackedCallError(
            f"{name} is not tracked with these arguments ({error}); compute it outside and track "
            "the result"
        ) from error
    given = {**bound.arguments, **bound.arguments.get("options", {})}
    if given.get("out") is not None:
        raise UntrackedCallError(
            f"{name} is not tracked with an 'out' argument; assign its result instead"
        )
