"""Table functions that users wrote in Python: whether the rows of a call depend on its arguments
alone.

Their classes may keep state from call to call, and give rows at the end. A class counts as keeping
none only if that shows.
"""

from __future__ import annotations

import dis
import gc
import re
from collections.abc import Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from predtrace.environment.function_texts import is_of_library
from predtrace.environment.python_functions import digest, pickled
from symbolic.pyfunc.sources import meanings


def keeps_no_state(sent: bytes) -> bool:
    """Whether the class with these bytes in a plan is in this process, and keeps no state."""
    wanted = digest(sent)
    return any(
        _is_plain(candidate) and digest(pickled(candidate)) == wanted for candidate in _classes()
    )


def _classes() -> Iterator[type]:
    """The user's classes in this process that may be table functions, wherever they are kept."""
    for value in gc.get_objects():
        if type(value) is not type or "eval" not in vars(value):
            continue
        if not is_of_library(str(vars(value).get("__module__"))):
            yield value


def _is_plain(cls: type) -> bool:
    """Whether a class has nothing but `eval`, which neither reads nor sets what outlives a call."""
    own = {name for name in vars(cls) if name not in _OF_ALL_CLASSES}
    function = vars(cls).get("eval")
    return (
        type(cls) is type
        and cls.__bases__ == (object,)
        and own == {"eval"}
        and isinstance(function, FunctionType)
        and not function.__defaults__
        and not function.__kwdefaults__
        and bool(function.__code__.co_argcount)
        and not any(map(_reaches_out, _codes(function.__code__, function.__code__.co_varnames[0])))
        and all(map(_is_constant, meanings(function).values()))
    )


_OF_ALL_CLASSES = {
    "__module__", "__doc__", "__dict__", "__weakref__", "__qualname__", "__firstlineno__",
    "__static_attributes__", "__annotations__",
}  # fmt: skip


def _codes(code: CodeType, itself: str) -> Iterator[tuple[CodeType, str]]:
    """The code of a function and of those inside, with the name of the object."""
    yield code, itself
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant, itself)


def _reaches_out(given: tuple[CodeType, str]) -> bool:
    """Whether code names the object, or sets variables that are not its own."""
    code, itself = given
    return any(
        found.argval == itself or found.opname in ("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR")
        for found in dis.get_instructions(code)
    )


def _is_constant(value: Any) -> bool:
    """Whether nothing that a call does to a value is seen by the next call."""
    if isinstance(value, tuple | frozenset):
        return all(map(_is_constant, value))
    if isinstance(value, (ModuleType, FunctionType, BuiltinFunctionType, type)):
        name = value.__name__ if isinstance(value, ModuleType) else str(value.__module__)
        return is_of_library(name)
    return value is None or type(value) in (bool, int, float, complex, str, bytes, re.Pattern)
