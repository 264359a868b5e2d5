"""Histograms: a bin's count comes from the cells that were counted in it.

With `density`, every bin is divided by the number of all cells that were counted, so all of
them contribute to every bin. Edges that numpy chose itself come from all cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from predtrace.arrays.capture.call import (
    Array,
    Call,
    Edges,
    Operand,
    edge,
    plain,
    shape_of,
)
from predtrace.arrays.capture.regions import (
    broadcast,
    constant,
    everything,
    no_lineage,
    separable,
    whole,
    window,
)
from predtrace.arrays.capture.rule import CaptureRule, Family
from predtrace.arrays.capture.sources import pairs
from predtrace.arrays.relation import CellRelation, LineageTable
from predtrace.packed.boxes import Shape


def _bincount(call: Call, x: Any, /, weights: Any = None, minlength: int = 0) -> Edges:
    values = np.asarray(plain(x))
    for operand in (x, weights):
        yield from edge(
            operand,
            pairs,
            call.shape,
            values.shape,
            [values],
            [np.arange(len(values))],
        )


def _histogram(
    call: Call,
    a: Any,
    bins: Any = 10,
    range: Any = None,
    density: Any = None,
    weights: Any = None,
) -> Edges:
    edges = call.outputs[1]
    yield from edge(bins, _between, call.shape, shape_of(bins), bool(density))
    yield from edge(bins, broadcast, edges.shape, shape_of(bins), output=1)
    samples = [np.asarray(plain(a)).reshape(-1)]
    for operand in (a, weights):
        yield from edge(
            operand,
            _counted,
            call.shape,
            samples,
            [edges],
            shape_of(operand),
            bool(density),
        )
    yield from edge(a, _chosen_edges, edges.shape, shape_of(a), bins, range, output=1)


def _between(out_shape: Shape, in_shape: Shape, density: bool) -> LineageTable:
    """The two edges of every bin; with `density`, all edges."""
    if density or len(in_shape) != 1:
        return everything(out_shape, in_shape)
    return separable(out_shape, in_shape, [window(0, out_shape[0], 0, 1, in_shape[0])])


def _histogram_bin_edges(
    call: Call, a: Any, bins: Any = 10, range: Any = None, weights: Any = None
) -> Edges:
    yield from edge(a, _chosen_edges, call.shape, shape_of(a), bins, range)
    yield from edge(bins, broadcast, call.shape, shape_of(bins))
    yield from edge(weights, no_lineage, call.shape, shape_of(weights))


def _histogram2d(
    call: Call,
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Any = None,
    density: Any = None,
    weights: Any = None,
) -> Edges:
    samples = [np.asarray(plain(value)) for value in (x, y)]
    edges = call.outputs[1:]
    for operand in (x, y, weights):
        yield from edge(
            operand,
            _counted,
            call.shape,
            samples,
            edges,
            shape_of(operand),
            bool(density),
        )
    for output, operand in enumerate((x, y), 1):
        shape = call.outputs[output].shape
        yield from edge(
            operand, _chosen_edges, shape, shape_of(operand), bins, range, output=output
        )


def _histogramdd(
    call: Call,
    sample: Any,
    bins: Any = 10,
    range: Any = None,
    density: Any = None,
    weights: Any = None,
) -> Edges:
    columns = plain(sample)
    samples = list(columns.T) if isinstance(columns, np.ndarray) else [*map(np.asarray, columns)]
    edges = call.outputs[1:]
    if isinstance(sample, Operand):
        yield from edge(sample, _by_column, call.shape, samples, edges, sample.shape, bool(density))
        for output, found in enumerate(edges, 1):
            yield from edge(
                sample,
                _column_edges,
                found.shape,
                sample.shape,
                output - 1,
                bins,
                range,
                output=output,
            )
    elif isinstance(sample, list | tuple):
        for k, operand in enumerate(sample):
            yield from edge(
                operand,
                _counted,
                call.shape,
                samples,
                edges,
                shape_of(operand),
                bool(density),
            )
            yield from edge(
                operand, _chosen_edges, edges[k].shape, shape_of(operand), bins, range, output=k + 1
            )
    yield from edge(weights, _counted, call.shape, samples, edges, shape_of(weights), bool(density))


def _bin_numbers(sample: Array, edges: Array) -> Array:
    """The bin of every cell, -1 for none; the last bin holds its right edge, too."""
    number = np.searchsorted(edges, sample, side="right") - 1
    number = np.where(sample == edges[-1], len(edges) - 2, number)
    return np.where((sample >= edges[0]) & (sample <= edges[-1]), number, -1)


def _counted(
    out_shape: Shape,
    samples: Sequence[Array],
    edges: Sequence[Array],
    in_shape: Shape,
    density: bool,
) -> CellRelation:
    numbers = [_bin_numbers(sample, found) for sample, found in zip(samples, edges, strict=True)]
    cells = np.flatnonzero(np.all([number >= 0 for number in numbers], axis=0))
    inputs = list(np.unravel_index(cells, in_shape)) if in_shape else []
    out = [number[cells] for number in numbers]
    if density:
        bins = np.indices(out_shape).reshape(len(out_shape), -1)
        out = [np.repeat(index, len(cells)) for index in bins]
        inputs = [np.tile(index, bins.shape[1]) for index in inputs]
    return pairs(out_shape, in_shape, out, inputs)


def _by_column(
    out_shape: Shape,
    samples: Sequence[Array],
    edges: Sequence[Array],
    in_shape: Shape,
    density: bool,
) -> CellRelation:
    """Every coordinate of a counted sample contributes; samples are the rows of the input."""
    rows = _counted(out_shape, samples, edges, in_shape[:1], density).pairs
    each = np.repeat(rows, in_shape[1], axis=0)
    column = np.tile(np.arange(in_shape[1]), len(rows))[:, None]
    return CellRelation(out_shape, in_shape, np.concatenate([each, column], axis=1))


def _chosen_edges(out_shape: Shape, in_shape: Shape, bins: Any, range: Any) -> Any:
    """Edges depend on the cells unless the caller gave them, or their range."""
    given = range is not None or not isinstance(bins, (int, np.integer, str))
    return (no_lineage if given else everything)(out_shape, in_shape)


def _column_edges(out_shape: Shape, in_shape: Shape, column: int, bins: Any, range: Any) -> Any:

    if _chosen_edges(out_shape, in_shape[:1], bins, range).pair_count() == 0:
        return no_lineage(out_shape, in_shape)
    return separable(out_shape, in_shape, [whole(in_shape[0]), constant(column)])


_COUNTED = "the cells that are counted in the bin, and their weights"

RULES = (
    CaptureRule(Family.GROUP, "bincount", _bincount, _COUNTED, by_shape=False),
    CaptureRule(Family.GROUP, "histogram", _histogram, _COUNTED, by_shape=False),
    CaptureRule(
        Family.GROUP,
        "histogram_bin_edges",
        _histogram_bin_edges,
        "all cells, for chosen edges",
    ),
    CaptureRule(Family.GROUP, "histogram2d", _histogram2d, _COUNTED, by_shape=False),
    CaptureRule(Family.GROUP, "histogramdd", _histogramdd, _COUNTED, by_shape=False),
)
