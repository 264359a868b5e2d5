"""How many random examples of a test came to its end, and how many `assume` left out."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from hypothesis import settings
from hypothesis.errors import UnsatisfiedAssumption


@contextmanager
def enough_compared(test: Callable[..., None]) -> Iterator[None]:
    """Fail unless half of the test's examples, or of those that there were, came to its end.

    Hypothesis passes a test whose `assume` leaves out all examples but one.
    """
    handle: Any = test.hypothesis  # type: ignore[attr-defined]
    inner = handle.inner_test
    done = left_out = 0

    @functools.wraps(inner)
    def counted(*args: Any, **kwargs: Any) -> None:
        nonlocal done, left_out
        try:
            inner(*args, **kwargs)
        except UnsatisfiedAssumption:
            left_out += 1
            raise
        done += 1

    handle.inner_test = counted
    try:
        yield
    finally:
        handle.inner_test = inner
    most = getattr(test, "_hypothesis_internal_use_settings", settings.default).max_examples
    assert done >= min(most, done + left_out) / 2, (
        f"{done} examples of {most} were compared, and {left_out} left out"
    )
