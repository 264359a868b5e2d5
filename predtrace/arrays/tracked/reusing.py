"""Lineage of tracked calls that is predicted from earlier calls instead of captured.

A call qualifies if its shapes and its other arguments determine its lineage: a rule says so, no
array except the operands is among the arguments, and operands hold floating-point numbers, so that
none of them is an index, a count or a mask. Section 5 of docs/arrays.md says what `Reuse` learns
from such calls, when it predicts others, and how it finds out that it was wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from predtrace.arrays.calls import Predictor
from predtrace.arrays.capture.call import Operand, operands_of
from predtrace.arrays.capture.capture import CarriedOut
from predtrace.arrays.quality import Quality
from predtrace.arrays.recording import Flow
from predtrace.arrays.signatures import CallSignature

_FLOATING = "fc"


class _Undescribed(Exception):
    """The description of an argument does not determine it."""


class Foreseen:
    """A call to be predicted, or learnt from."""

    def __init__(self, reuse: Predictor, signature: CallSignature, operands: Sequence[int]) -> None:
        self._reuse = reuse
        self._signature = signature
        self._operands = tuple(operands)

    def predicted(self) -> tuple[Flow, ...] | None:
        """The lineage of all outputs, if all of it can be predicted."""
        flows = []
        for output in range(len(self._signature.out_shapes)):
            for place, operand in enumerate(self._operands):
                found = self._reuse.predict(self._signature, output, place, verifiable=True)
                if found is None:
                    return None
                name = self._signature.name
                reason = f"{name} was {found.basis}"
                flow = Flow(
                    output, operand, found.table, Quality.OBSERVED, reason, basis=found.basis
                )
                flows.append(flow)
        return tuple(flows)

    def learn(self, flows: Sequence[Flow]) -> None:
        """Learn from captured lineage, if there is one precise table for each pair of arrays."""
        outputs = len(self._signature.out_shapes)
        places = {operand: place for place, operand in enumerate(self._operands)}
        tables = {(flow.output, places[flow.input]): flow.table for flow in flows}
        single = len(flows) == len(tables) == outputs * len(places)
        if single and all(flow.quality is Quality.PRECISE for flow in flows):
            self._reuse.observe(self._signature, tables)


def foreseen(reuse: Predictor | None, call: CarriedOut) -> Foreseen | None:
    """The call to predict or learn from; None if it does not qualify."""
    operands = operands_of((call.call.args, call.call.kwargs))
    floating = all(operand.value.dtype.kind in _FLOATING for operand in operands)
    if reuse is None or not call.rule.by_shape or call.rule.writes or call.call.out or not floating:
        return None
    try:
        numbered = {str(place): _described(arg) for place, arg in enumerate(call.call.args)}
        args = {**numbered, **{name: _described(arg) for name, arg in call.call.kwargs.items()}}
    except _Undescribed:
        return None
    signature = CallSignature.of(
        call.name,
        tuple(operand.shape for operand in operands),
        tuple(output.shape for output in call.outputs),
        args,
    )
    return Foreseen(reuse, signature, [operand.position for operand in operands])


def _described(tree: Any) -> Any:
    """An argument as JSON. Raises _Undescribed if lineage may depend on what that leaves out."""
    match tree:
        case None | bool() | str() | int():
            return tree
        case float() | complex() | np.floating() | np.complexfloating():
            return {"float": True}  # neither an axis nor a count
        case Operand(value=value, is_number=is_number):
            return {"array": value.dtype.kind, "number": is_number}
        case list() | tuple():
            return [_described(item) for item in tree]
        case np.bool_() | np.integer():
            return tree.item()
        case type() | np.dtype():
            return {"type": str(np.dtype(tree))}
        case _ if tree is Ellipsis:
            return {"ellipsis": True}
        case _:
            raise _Undescribed
