"""Deep pipelines: hundreds of stacked operators, thousands of nested expressions.

Catalyst accepts them. Python stops at a thousand nested calls by default. This module raises that
limit while a tree is read; deeper trees are refused by name.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

from predtrace.errors import UnsupportedOperatorError

_CALLS = 6_000
"""The nested calls that fit into a thread's 8 MB, even if C code calls Python."""

_TOO_DEEP = (
    "the pipeline is nested too deeply to be traced (operators on top of each other, or "
    "expressions in each other); store an intermediate result as Parquet and go on from that, or "
    "write a chain of conditions as IN or as a join"
)

_lock = threading.Lock()
_inside = 0
_before = 0

P = ParamSpec("P")
R = TypeVar("R")


def reads_deep_trees(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function read deep trees (see `deep_trees`)."""

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        with deep_trees():
            return function(*args, **kwargs)

    return wrapper


@contextmanager
def deep_trees() -> Iterator[None]:
    """Allow more nested calls inside the block, and restore the limit afterwards.

    Raises UnsupportedOperatorError for deeper nesting.
    """
    _allow()
    try:
        yield
    except RecursionError as error:
        raise UnsupportedOperatorError(_TOO_DEEP) from error
    except Exception as error:
        # Py4JJavaError, without importing it.
        if "StackOverflowError" in str(getattr(error, "java_exception", "")):
            raise UnsupportedOperatorError(_TOO_DEEP) from error
        raise
    finally:
        _disallow()


def _allow() -> None:
    global _inside, _before
    with _lock:
        if _inside == 0:
            _before = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_before, _CALLS))
        _inside += 1


def _disallow() -> None:
    global _inside
    with _lock:
        _inside -= 1
        if _inside == 0:
            sys.setrecursionlimit(_before)
