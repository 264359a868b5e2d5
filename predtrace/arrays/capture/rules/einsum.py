"""`einsum`: every axis has a label, and follows the output's axis of the same label."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

from predtrace.arrays.capture.call import Call, Edges, edge, shape_of
from predtrace.arrays.capture.regions import (
    Piece,
    aligned,
    constant,
    no_lineage,
    separable,
    union,
    whole,
)
from predtrace.arrays.capture.rule import CaptureRule, Family
from predtrace.arrays.capture.rules.products import placed
from predtrace.arrays.relation import LineageTable
from predtrace.packed.boxes import Shape


def _einsum(call: Call, subscripts: Any, *operands: Any, **options: Any) -> Edges:
    if not isinstance(subscripts, str):
        raise call.refuse("with subscripts that are not a string")
    inputs, output = parse_subscripts(subscripts, [len(shape_of(item)) for item in operands])
    for labels, operand in zip(inputs, operands, strict=True):
        yield from edge(operand, labelled, call.shape, shape_of(operand), output, labels)


def parse_subscripts(subscripts: str, ndims: Sequence[int]) -> tuple[list[str], str]:
    """The labels of every operand and of the output, with an ellipsis replaced by labels."""
    left, arrow, output = subscripts.replace(" ", "").partition("->")
    inputs = left.split(",")
    spare = [letter for letter in string.ascii_letters if letter not in subscripts]
    lengths = [
        ndim - len(labels.replace("...", "")) if "..." in labels else 0
        for labels, ndim in zip(inputs, ndims, strict=True)
    ]
    extra = "".join(spare[: max(lengths, default=0)])
    inputs = [
        labels.replace("...", extra[len(extra) - length :])
        for labels, length in zip(inputs, lengths, strict=True)
    ]
    if not arrow:
        joined = "".join(inputs)
        once = sorted(label for label in set(joined) if joined.count(label) == 1)
        output = extra + "".join(label for label in once if label not in extra)
    return inputs, output.replace("...", extra)


def labelled(out_shape: Shape, in_shape: Shape, output: str, labels: str) -> LineageTable:
    """The table of an `einsum` operand.

    A label that stands twice in an operand and not in the output selects a diagonal: a row for
    every cell on it.
    """
    diagonal = next((x for x in labels if labels.count(x) > 1 and x not in output), None)
    if diagonal is None:
        places = [output.index(label) if label in output else None for label in labels]
        return placed(out_shape, in_shape, places)
    size = max(n for n, label in zip(in_shape, labels, strict=True) if label == diagonal)
    rows = [no_lineage(out_shape, in_shape)]
    for index in range(size):
        axes: list[Piece] = []
        for n, label in zip(in_shape, labels, strict=True):
            if label == diagonal:
                axes.append(constant(min(index, n - 1)))
            else:
                axes.append(aligned(n, output.index(label)) if label in output else whole(n))
        rows.append(separable(out_shape, in_shape, axes))
    return union(*rows)


RULES = (CaptureRule(Family.PRODUCT, "einsum", _einsum, "the cells with the output's labels"),)
