"""What a job keeps of a user's Python function: its text, and the constants that it uses.

Two functions with one signature are the same function: their texts, the constants that they use,
and the functions of the user that they call are the same. A function without a signature uses
something else.
"""

from __future__ import annotations

import datetime
import decimal
import functools
import hashlib
import re
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, NamedTuple

import msgspec

from symbolic.pyfunc.sources import NoSource, meanings, source_of

_PLAIN = (
    type(None), bool, int, float, complex, str, bytes, type(Ellipsis), range, re.Pattern,
    decimal.Decimal, datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo,
)  # fmt: skip
"""Types of constants, whose text says all of them."""
_MOST = 20_000
"""A constant with a longer text is not kept."""


class FunctionText(NamedTuple):
    """A function's source text, the constants that it uses, and its signature; empty if unknown."""

    source: str
    constants: tuple[tuple[str, str], ...]
    signature: str


class _Unknown(Exception):
    pass


def text_of(function: Callable[..., Any]) -> FunctionText:
    """What is known of a function without running it."""
    plain = function
    while isinstance(plain, functools.partial):
        plain = plain.func
    if not isinstance(plain, FunctionType):
        return FunctionText("", (), "")
    try:
        source = source_of(plain).text
    except NoSource:
        return FunctionText("", (), "")
    constants = tuple(_constants(meanings(plain)))
    try:
        parts = _Parts()
        parts.add(function)
    except _Unknown:
        return FunctionText(source, constants, "")
    signature = hashlib.sha256(msgspec.json.encode(parts.texts)).hexdigest()
    return FunctionText(source, constants, signature)


def _constants(names: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in sorted(names.items()):
        try:
            text = _constant(value)
        except _Unknown:
            continue
        if len(text) <= _MOST:
            yield name, text


def _constant(value: Any) -> str:
    """A constant's text, the same for equal constants. Raises _Unknown for another value."""
    if type(value) in (list, tuple):
        return f"{type(value).__name__}({', '.join(map(_constant, value))})"
    if type(value) in (set, frozenset):
        return f"{type(value).__name__}({', '.join(sorted(map(_constant, value)))})"
    if type(value) is dict:
        items = (f"{_constant(key)}: {_constant(each)}" for key, each in value.items())
        return f"{{{', '.join(items)}}}"
    if isinstance(value, _PLAIN) and type(value).__module__ in _OF_PLAIN:
        return repr(value)
    raise _Unknown


_OF_PLAIN = {"builtins", "re", "decimal", "datetime", "zoneinfo"}


class _Parts:
    """Collects the texts of a function and of all that it uses, in the order in which it meets
    them."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._places: dict[int, int] = {}

    def add(self, value: Any) -> None:
        """Add a value. Raises _Unknown for one whose text does not say all of it."""
        if isinstance(value, functools.partial):
            self.texts.append(f"partial of {len(value.args)} and {sorted(value.keywords)}")
            for part in (value.func, *value.args, *(v for _, v in sorted(value.keywords.items()))):
                self.add(part)
        elif isinstance(value, (FunctionType, BuiltinFunctionType, type, ModuleType)):
            name = value.__name__ if isinstance(value, ModuleType) else str(value.__module__)
            if is_of_library(name):
                self.texts.append(f"{name}.{getattr(value, '__qualname__', '')}")
            elif isinstance(value, FunctionType):
                self._add_function(value)
            else:
                raise _Unknown
        else:
            self.texts.append(_constant(value))

    def _add_function(self, function: FunctionType) -> None:
        met = id(function) in self._places
        place = self._places.setdefault(id(function), len(self._places))
        self.texts.append(f"function {place}")
        if met:
            return
        try:
            self.texts.append(source_of(function).text)
        except NoSource as error:
            raise _Unknown from error
        keywords = sorted((function.__kwdefaults__ or {}).items())
        defaults = [("", value) for value in function.__defaults__ or ()]
        for name, value in [*sorted(meanings(function).items()), *defaults, *keywords]:
            self.texts.append(name)
            self.add(value)


def is_of_library(module: str) -> bool:
    """Whether a module belongs to Python or to an installed package."""
    if module.partition(".")[0] in (*sys.stdlib_module_names, *sys.builtin_module_names):
        return module != "__main__"
    return is_library_file(getattr(sys.modules.get(module), "__file__", None) or "")


def is_library_file(file: str) -> bool:
    """Whether a file is one of the installed packages."""
    paths = (sysconfig.get_path(name) for name in ("purelib", "platlib"))
    return any(path is not None and file.startswith(path) for path in paths)
