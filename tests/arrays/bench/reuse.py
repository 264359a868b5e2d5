"""Lineage predicted from earlier calls: how often, how rightly, and what it saves.

The other half of Table IX (in the thesis, Table 6.2): every function is called with random
values at random sizes. All calls are captured, so that predictions can be compared.
"""

from __future__ import annotations

import math
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count, islice, product
from pathlib import Path
from typing import Any

import numpy as np

from predtrace.arrays.basis import Kind
from predtrace.arrays.calls import CallCapture
from predtrace.arrays.capture.capture import Captured, capture
from predtrace.arrays.capture.rule import Family
from predtrace.arrays.relation import LineageTable
from predtrace.arrays.reuse.predictor import Reuse
from predtrace.arrays.signatures import CallSignature
from predtrace.arrays.store import ArrayStore
from predtrace.packed.boxes import Shape
from tests.arrays.bench.arguments import MISFITS, attempts, functions, universal_functions
from tests.arrays.bench.figures import Predicted, Registered
from tests.arrays.bench.operations import SEED, side

RUNS = 20
"""Sizes that each function is called at, as in the paper."""

_REPEATED, _REPEATS = 3, 6
"""So many of the sizes are called so many times, for predictions at the same shapes."""

_ROUNDS = 5
_UNVERIFIED = 10**9
_LEAST, _MOST = 8, 40
_LARGEST = 20_000
"""Sizes of the arguments' axes, and cells of the results at the greatest of them."""

Tables = dict[tuple[int, int], LineageTable]


def predicted_functions() -> Iterator[Predicted | str]:
    """The predictions of each function, or the name of one that no arguments at hand fit."""
    for name, rule, function in (*universal_functions(), *functions()):
        counts = _predictions(name, function)
        if counts is None:
            yield name
            continue
        yield Predicted(
            function=name,
            elementwise=rule.family is Family.ELEMENTWISE,
            by_shape=rule.by_shape,
            calls=counts["calls"],
            dimensional=counts[Kind.DIMENSIONAL.value],
            generalised=counts[Kind.GENERALISED.value],
            errors=counts["errors"],
        )


def _predictions(name: str, function: Callable[..., Any]) -> Counter[str] | None:
    """How many calls there were, were wholly predicted by each kind, and wrongly."""
    rng = np.random.default_rng((SEED, *name.encode()))
    reuse, counts = Reuse(verify_every=_UNVERIFIED), Counter[str]()
    chosen = _fitting(function)
    if chosen is None:
        return None
    for run in range(RUNS):
        rows, columns = (int(size) for size in rng.integers(_LEAST, _MOST, 2))
        for repeat in range(_REPEATS if run < _REPEATED else 1):
            seed = (SEED, run, repeat)
            arguments = list(attempts(rows, columns, seed))[chosen]
            try:
                captured = _carried_out(function, arguments)
            except MISFITS:
                continue
            counts += _compared(reuse, name, captured, arguments)
    return counts


def _fitting(function: Callable[..., Any]) -> int | None:
    """Which arguments the function takes first, such that there is lineage, and not too much."""
    for number, arguments in enumerate(attempts(_MOST, _MOST - 1, (SEED,))):
        try:
            captured = _carried_out(function, arguments)
        except MISFITS:
            continue
        cells = sum(output.size for output in captured.outputs)
        if 0 < cells <= _LARGEST and any(len(edge.lineage) for edge in captured.edges):
            return number
    return None


def _carried_out(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Captured:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return capture(function, *arguments)


def _compared(
    reuse: Reuse, name: str, captured: Captured, arguments: tuple[Any, ...]
) -> Counter[str]:
    """Predict a call, compare, and learn from it."""
    operands = {edge.operand.position: edge.operand.shape for edge in captured.edges}
    args = {str(n): arg for n, arg in enumerate(arguments) if not _holds_arrays(arg)}
    signature = CallSignature.of(
        name,
        tuple(operands[position] for position in sorted(operands)),
        tuple(output.shape for output in captured.outputs),
        args,
    )
    tables: Tables = {
        (o, i): captured.lineage(position, o)
        for o in range(len(captured.outputs))
        for i, position in enumerate(sorted(operands))
    }
    kinds: set[str] = set()
    wrong = False
    for place, table in tables.items():
        found = reuse.predict(signature, *place)
        kinds.add("captured" if found is None else found.basis.kind.value)
        wrong |= found is not None and not _same(found.table, table)
    reuse.observe(signature, tables)
    counts = Counter({"calls": 1, "errors": int(wrong)})
    if len(kinds) == 1:
        counts[kinds.pop()] += 1
    return counts


def _same(one: LineageTable, other: LineageTable) -> bool:
    """Whether two tables hold the same pairs; equal rows need no unpacking to say so."""
    columns = zip(one.columns(), other.columns(), strict=True)
    if (one.out_shape, one.in_shape) == (other.out_shape, other.in_shape) and all(
        np.array_equal(*pair) for pair in columns
    ):
        return True
    return one.decompress().same_as(other.decompress())


def _holds_arrays(argument: Any) -> bool:
    if isinstance(argument, list | tuple):
        return any(map(_holds_arrays, argument))
    return isinstance(argument, np.ndarray)


Operation = tuple[str, Callable[..., Captured], dict[str, Any]]

OPERATIONS: tuple[Operation, ...] = (
    ("negative", partial(capture, np.negative), {}),
    ("sum", partial(capture, np.sum), {"axis": 1}),
    ("rot90", partial(capture, np.rot90), {}),
    ("roll", partial(capture, np.roll), {"shift": 1, "axis": 0}),
    ("repeat", partial(capture, np.repeat), {"repeats": 2, "axis": 0}),
    ("ravel", partial(capture, np.ravel), {}),
)


def registered(scale: float, folder: Path) -> Iterator[Registered]:
    """Seconds to register calls, their lineage being given as pairs, by a rule, or predicted.

    Predictions rest on calls with small arrays. Every round writes to a store of its own.
    """
    stores = (ArrayStore(folder / f"store {number}") for number in count())
    for operation in OPERATIONS:
        reuse = Reuse(folder / operation[0], verify_every=_UNVERIFIED)
        for rows, columns in product(range(8, 16), (20, 30)):
            reuse.observe(*_small_call(operation, (rows, columns + rows % 3)))
        for length in (100, 316, 1000):
            shape = side(length, scale), side(length * 6 // 5, scale)
            yield Registered(
                operation=operation[0],
                cells=math.prod(shape),
                seconds=_times(operation, shape, reuse, stores),
            )


def _small_call(operation: Operation, shape: Shape) -> tuple[CallSignature, Tables]:
    name, run, args = operation
    captured = run(np.ones(shape), **args)
    outputs = (captured.outputs[0].shape,)
    return CallSignature.of(name, (shape,), outputs, args), {(0, 0): captured.lineage()}


def _times(
    operation: Operation, shape: Shape, reuse: Reuse, stores: Iterator[ArrayStore]
) -> dict[str, float]:
    """The least seconds of some rounds, by where lineage comes from."""
    name, run, args = operation
    array = np.ones(shape)
    captured = run(array, **args)
    pairs = captured.lineage().decompress()

    def best(lineage: CallCapture | None, predictor: Reuse | None) -> float:
        times = []
        for store in islice(stores, _ROUNDS):
            ends = [store.array("in", shape)], [store.array("out", captured.outputs[0].shape)]
            start = time.perf_counter()
            store.register_operation(name, *ends, args, lineage, predictor)
            times.append(time.perf_counter() - start)
        return min(times)

    return {
        "pairs": best(lambda output, input: pairs, None),
        "rule": best(lambda output, input: run(array, **args).lineage(), None),
        "reuse": best(None, reuse),
    }
