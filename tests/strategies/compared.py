"""Counts how many random examples of a test compared something, and how many did not."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from hypothesis import settings
from hypothesis.errors import UnsatisfiedAssumption

_said: list[int] = []
"""What the example that runs has compared, as far as it said so."""


def compared(number: int) -> None:
    """Say how much was compared; for an example that compared nothing another one is drawn.

    Unlike `assume`, which ends the example at once.
    """
    _said.append(number)


@contextmanager
def enough_compared(test: Callable[..., None]) -> Iterator[None]:
    """Fail unless half of the test's examples, or of those that there were, compared something.

    Hypothesis passes a test whose `assume` leaves out all examples but one.
    """
    handle: Any = test.hypothesis  # type: ignore[attr-defined]
    inner = handle.inner_test
    done = left_out = 0

    @functools.wraps(inner)
    def counted(*args: Any, **kwargs: Any) -> None:
        nonlocal done, left_out
        _said.clear()
        try:
            inner(*args, **kwargs)
        except UnsatisfiedAssumption:
            left_out += 1
            raise
        if _said and not any(_said):
            left_out += 1
            raise UnsatisfiedAssumption
        done += 1

    handle.inner_test = counted
    try:
        yield
    finally:
        handle.inner_test = inner
    most = getattr(test, "_hypothesis_internal_use_settings", settings.default).max_examples
    assert done >= min(most, done + left_out) / 2, (
        f"{done} examples of {most} compared something, {left_out} did not: change what is drawn "
        "(the tables, or the weights of kinds in tests/strategies/graphs.py), or how much the test "
        "leaves out"
    )
