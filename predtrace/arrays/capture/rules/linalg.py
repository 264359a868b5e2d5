"""Linear algebra: shape rules over the matrices in the last two axes.

Leading axes are a batch: each matrix has its own result. Where LAPACK reads one triangle only
(`cholesky`, `eigh`), the lineage is that triangle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from predtrace.arrays.capture.call import Call, Edges, Operand, edge, shape_of
from predtrace.arrays.capture.regions import (
    Limit,
    Piece,
    aligned,
    constant,
    everything,
    follow,
    no_lineage,
    separable,
    span,
    union,
    whole,
)
from predtrace.arrays.capture.rule import CaptureRule, Family
from predtrace.arrays.quality import Quality
from predtrace.arrays.relation import LineageTable
from predtrace.packed.boxes import Shape


def batched(
    out_shape: Shape, in_shape: Shape, own: Sequence[Piece], core: int, *limits: Limit
) -> LineageTable:
    """Pieces of the last axes, after leading axes that are broadcast.

    `core` is the number of the output's last axes that are not batch axes.
    """
    lead = len(in_shape) - len(own)
    first = len(out_shape) - core - lead
    batch = [aligned(size, first + k) for k, size in enumerate(in_shape[:lead])]
    return separable(out_shape, in_shape, [*batch, *own], *limits)


def _matrix(out_shape: Shape, in_shape: Shape) -> LineageTable:
    """All cells of the matrix, whatever the output's own axes are."""
    core = len(out_shape) - (len(in_shape) - 2)
    return batched(out_shape, in_shape, [whole(n) for n in in_shape[-2:]], core)


def whole_matrix(call: Call, a: Any, *arguments: Any, **options: Any) -> Edges:
    """Every output takes the matrix whole."""
    for output, result in enumerate(call.outputs):
        yield from edge(a, _matrix, result.shape, shape_of(a), output=output)


def _tolerant(call: Call, a: Any, *tolerance: Any, **options: Any) -> Edges:
    for name, value in (*enumerate(tolerance, 2), *options.items()):
        if isinstance(value, Operand):
            raise call.refuse(f"with a tracked tolerance (argument {name})")
    is_hermitian = options.get("hermitian", tolerance[1] if len(tolerance) > 1 else False)
    return _triangular(call, a) if is_hermitian else whole_matrix(call, a)


def _triangular(call: Call, a: Any, UPLO: str = "L") -> Edges:
    for output, result in enumerate(call.outputs):
        yield from edge(a, _triangle, result.shape, shape_of(a), UPLO.upper(), output=output)


def _triangle(out_shape: Shape, in_shape: Shape, uplo: str) -> LineageTable:
    """One triangle of the matrix, a row of the table for every one of its rows."""
    size = in_shape[-1]
    core = len(out_shape) - (len(in_shape) - 2)
    tables = [no_lineage(out_shape, in_shape)]
    for row in range(size):
        columns = span(0, row) if uplo == "L" else span(row, size - 1)
        tables.append(batched(out_shape, in_shape, [constant(row), columns], core))
    return union(*tables)


def _cholesky(call: Call, a: Any, /, *, upper: bool = False) -> Edges:
    yield from edge(a, _cholesky_table, call.shape, shape_of(a), upper)


def _cholesky_table(out_shape: Shape, in_shape: Shape, upper: bool) -> LineageTable:
    """Cell (i, j) of the lower factor: row i up to j, and the lower triangle up to row j.

    The upper factor is the mirror image, computed from the upper triangle.
    """
    size, ndim = in_shape[-1], len(out_shape)
    row, column = (ndim - 1, ndim - 2) if upper else (ndim - 2, ndim - 1)
    tables = [no_lineage(out_shape, in_shape)]

    def add(cells: Sequence[Piece], *limits: Limit) -> None:
        own = list(reversed(cells)) if upper else list(cells)
        tables.append(batched(out_shape, in_shape, own, 2, *limits))

    for j in range(size):
        below = (Limit(column, j, j), Limit(row, j, size - 1))
        add([follow(row), span(0, j)], *below)
        for p in range(j + 1):
            add([constant(p), span(0, p)], *below)
    return union(*tables)


def _qr(call: Call, a: Any, mode: str = "reduced") -> Edges:
    """Column j of Q comes from the columns up to j; R's column j from those and its own."""
    if mode == "raw":
        raise call.refuse("in mode 'raw'")
    if mode == "r":
        yield from edge(a, _r_factor, call.shape, shape_of(a))
        return
    yield from edge(a, _q_factor, call.outputs[0].shape, shape_of(a))
    yield from edge(a, _r_factor, call.outputs[1].shape, shape_of(a), output=1)


def _q_factor(out_shape: Shape, in_shape: Shape) -> LineageTable:
    rows, columns = in_shape[-2:]
    axis, used = len(out_shape) - 1, min(rows, columns)
    scan = Piece(span(0, 0).low, follow(axis).high)
    tables = [
        batched(out_shape, in_shape, [whole(rows), scan], 2, Limit(axis, 0, used - 1)),
        batched(
            out_shape,
            in_shape,
            [whole(rows), whole(columns)],
            2,
            Limit(axis, used, out_shape[axis] - 1),
        ),
    ]
    return union(*tables)


def _r_factor(out_shape: Shape, in_shape: Shape) -> LineageTable:
    """Row i, from the diagonal on; cells below the diagonal are zero."""
    row, column = len(out_shape) - 2, len(out_shape) - 1
    tables = [no_lineage(out_shape, in_shape)]
    for i in range(min(out_shape[row], in_shape[-1])):
        limits = (Limit(row, i, i), Limit(column, i, out_shape[column] - 1))
        for columns in (span(0, i), follow(column)):
            cells = [whole(in_shape[-2]), columns]
            tables.append(batched(out_shape, in_shape, cells, 2, *limits))
    return union(*tables)


def _svd(
    call: Call,
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
) -> Edges:
    if hermitian:
        return _triangular(call, a)
    return whole_matrix(call, a)


def _svdvals(call: Call, x: Any, /) -> Edges:
    return whole_matrix(call, x)


def _solve(call: Call, a: Any, b: Any) -> Edges:
    """A column of the solution comes from the whole matrix and its own right-hand side."""
    core = 1 if len(shape_of(b)) == 1 else 2
    own = [whole(shape_of(a)[-2]), whole(shape_of(a)[-1])]
    yield from edge(a, batched, call.shape, shape_of(a), own, core)
    yield from edge(b, _right_side, call.shape, shape_of(b), core)


def _right_side(out_shape: Shape, in_shape: Shape, core: int) -> LineageTable:
    if core == 1:
        return batched(out_shape, in_shape, [whole(in_shape[-1])], 1)
    column = aligned(in_shape[-1], len(out_shape) - 1)
    return batched(out_shape, in_shape, [whole(in_shape[-2]), column], 2)


def _lstsq(call: Call, a: Any, b: Any, rcond: Any = None) -> Edges:
    """Solution, residuals, rank and singular values; the last two do not depend on the right-hand
    side."""
    solution, residuals, *rest = call.outputs
    for output, result in enumerate(call.outputs):
        yield from edge(a, everything, result.shape, shape_of(a), output=output)
    if len(shape_of(b)) == 1:
        yield from edge(b, everything, solution.shape, shape_of(b))
        yield from edge(b, everything, residuals.shape, shape_of(b), output=1)
    else:
        columns = [whole(shape_of(b)[0]), follow(1)]
        yield from edge(b, separable, solution.shape, shape_of(b), columns)
        columns = [whole(shape_of(b)[0]), follow(0)]
        yield from edge(b, separable, residuals.shape, shape_of(b), columns, output=1)
    for output, result in enumerate(rest, 2):
        yield from edge(b, no_lineage, result.shape, shape_of(b), output=output)


def _tensor(call: Call, a: Any, *arguments: Any, **options: Any) -> Edges:
    for operand in (a, *arguments):
        yield from edge(operand, everything, call.shape, shape_of(operand))


def _batch_shapes(call: Call, x: Any, p: Any = None) -> Edges:
    return whole_matrix(call, x)


_MATRIX = "all cells of the matrix"

RULES = (
    CaptureRule(
        Family.LINALG,
        "linalg.inv linalg.det linalg.slogdet linalg.eig linalg.eigvals",
        whole_matrix,
        _MATRIX,
    ),
    CaptureRule(Family.LINALG, "linalg.pinv linalg.matrix_rank", _tolerant, _MATRIX),
    CaptureRule(Family.LINALG, "linalg.cond", _batch_shapes, _MATRIX),
    CaptureRule(Family.LINALG, "linalg.svd", _svd, _MATRIX),
    CaptureRule(Family.LINALG, "linalg.svdvals", _svdvals, _MATRIX),
    CaptureRule(
        Family.LINALG, "linalg.eigh linalg.eigvalsh", _triangular, "the triangle that UPLO names"
    ),
    CaptureRule(
        Family.LINALG,
        "linalg.cholesky",
        _cholesky,
        "row i up to column j, and the triangle up to row j; zeros have no lineage",
    ),
    CaptureRule(
        Family.LINALG,
        "linalg.qr",
        _qr,
        "the columns up to the same one; for R, also the column itself",
        quality=Quality.SUPERSET,
    ),
    CaptureRule(
        Family.LINALG, "linalg.solve", _solve, "the matrix, and the column of the right-hand side"
    ),
    CaptureRule(
        Family.LINALG, "linalg.lstsq", _lstsq, "the matrix, and the column of the right-hand side"
    ),
    CaptureRule(Family.LINALG, "linalg.tensorsolve linalg.tensorinv", _tensor, "all cells"),
)
