"""The user's modules that the bytes of a function name: the bytes say nothing of what is in them.

PySpark sends a function of an importable module, and objects of classes of one, by name. The bytes
are the same whatever the module says. So the files of these modules are compared, and those of the
user's modules that they use or import, also inside of functions. None is imported for that.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import os
import pickletools
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from types import FunctionType, ModuleType
from typing import Any

from predtrace.environment.function_texts import is_library_file, is_of_library


def modules_digest(data: bytes) -> str:
    """What stands for the text of the modules behind a pickled function; empty if there are none.

    The bytes are read as a list of operations, and never loaded.
    """
    found: dict[str, str] = {}
    waiting = list(_named(data)) if data else []
    while waiting:
        name = waiting.pop()
        if name not in found:
            file = _file_of(name)
            found[name] = _text_digest(file)
            waiting.extend(filter(_is_of_user, (*_used_by(name), *_imported(name, file))))
    content = "\n".join(f"{name} {text}" for name, text in sorted(found.items()))
    return hashlib.sha256(content.encode()).hexdigest() if found else ""


def _named(data: bytes) -> Iterator[str]:
    """The user's modules whose names are among the texts in a pickle."""
    for operation, argument, _ in pickletools.genops(data):
        if isinstance(argument, str):
            names = argument.split(" ") if operation.name == "GLOBAL" else [argument]
            yield from filter(_is_of_user, names)


def _used_by(name: str) -> Iterator[str]:
    """The modules of the values in a module, if it is imported."""
    for value in list(vars(sys.modules[name]).values()) if name in sys.modules else ():
        used = value.__name__ if isinstance(value, ModuleType) else _module_of(value)
        if isinstance(used, str):
            yield used


def _imported(name: str, file: str | None) -> Iterator[str]:
    """The modules that a module's text imports, and the names that it takes from them: they may be
    modules, too."""
    state = _state(file)
    if file is None or state is None:
        return
    is_package = os.path.basename(file).startswith("__init__.")
    package = name.split(".") if is_package else name.split(".")[:-1]
    for level, module in _imports(file, *state):
        outer = package[: len(package) - level + 1] if level else []
        yield ".".join((*outer, *filter(None, [module])))


@functools.lru_cache(maxsize=1024)
def _imports(file: str, modified: int, size: int) -> tuple[tuple[int, str], ...]:
    """The imports in a file: how many dots, and the name behind them."""
    try:
        with open(file, "rb") as content:
            tree = ast.parse(content.read())
    except (OSError, SyntaxError, ValueError):
        return ()
    found: list[tuple[int, str]] = []
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found.extend((0, each.name) for each in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                inside = [".".join(filter(None, (module, each.name))) for each in names]
                found.extend((level, each) for each in (module or "", *inside))
    return tuple(dict.fromkeys(found))


def _module_of(value: Any) -> Any:
    """The module of a function or class; no other object is asked for attributes."""
    return value.__module__ if isinstance(value, (type, FunctionType)) else None


def _is_of_user(name: str) -> bool:
    """Whether a module is neither a library's nor predtrace's own, and can be had."""
    root = name.partition(".")[0]
    if root in _NOBODYS or not all(map(str.isidentifier, name.split("."))):
        return False
    if name in sys.modules:
        return not _is_of_library(name)
    file = None if root in _OF_PYTHON else _file_of(name)
    return file is not None and not is_library_file(file)


_NOBODYS = ("__main__", "__mp_main__", __name__.partition(".")[0])
_OF_PYTHON = frozenset((*sys.stdlib_module_names, *sys.builtin_module_names))
_is_of_library = functools.lru_cache(maxsize=4096)(is_of_library)


def _file_of(name: str) -> str | None:
    """The file of a module, which need not be imported; nothing is."""
    if name in sys.modules:
        file = getattr(sys.modules[name], "__file__", None)
        return None if file is None else str(file)
    places: list[str] | None = None
    origin = None
    parts = name.split(".")
    for depth in range(1, len(parts) + 1):
        spec = PathFinder.find_spec(".".join(parts[:depth]), places)
        if spec is None:
            return None
        places, origin = spec.submodule_search_locations or [], spec.origin
    return origin


def _state(file: str | None) -> tuple[int, int] | None:
    try:
        state = os.stat(file or "")
    except OSError:
        return None
    return state.st_mtime_ns, state.st_size


def _text_digest(file: str | None) -> str:
    state = _state(file)
    return "" if file is None or state is None else _file_digest(file, *state)


@functools.lru_cache(maxsize=4096)
def _file_digest(file: str, modified: int, size: int) -> str:
    with open(file, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
