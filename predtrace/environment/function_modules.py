"""The user's modules that the bytes of a function name: the bytes say nothing of what is in them.

PySpark sends a function of an importable module, and objects of classes of one, by name. The bytes
are the same whatever the module says. So the files of these modules are compared, and those of the
user's modules that they use.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickletools
import sys
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

from predtrace.environment.function_texts import is_of_library


def modules_digest(data: bytes) -> str:
    """What stands for the text of the modules behind a pickled function; empty if there are none.

    The bytes are read as a list of operations, and never loaded.
    """
    found: dict[str, str] = {}
    waiting = list(_named(data)) if data else []
    while waiting:
        name = waiting.pop()
        if name not in found:
            module = sys.modules[name]
            found[name] = _text_digest(module)
            waiting.extend(_used_by(module))
    content = "\n".join(f"{name} {text}" for name, text in sorted(found.items()))
    return hashlib.sha256(content.encode()).hexdigest() if found else ""


def _named(data: bytes) -> Iterator[str]:
    """The user's modules whose names are among the texts in a pickle."""
    for operation, argument, _ in pickletools.genops(data):
        if isinstance(argument, str):
            names = argument.split(" ") if operation.name == "GLOBAL" else [argument]
            yield from filter(_is_of_user, names)


def _used_by(module: ModuleType) -> Iterator[str]:
    for value in list(vars(module).values()):
        name = value.__name__ if isinstance(value, ModuleType) else _module_of(value)
        if isinstance(name, str) and _is_of_user(name):
            yield name


def _module_of(value: Any) -> Any:
    """The module of a function or class; no other object is asked for attributes."""
    return value.__module__ if isinstance(value, (type, FunctionType)) else None


def _is_of_user(name: str) -> bool:
    """Whether an imported module is neither a library's nor predtrace's own."""
    root = name.partition(".")[0]
    return name in sys.modules and root not in _NOBODYS and not _is_of_library(name)


_NOBODYS = ("__main__", "__mp_main__", __name__.partition(".")[0])
_is_of_library = functools.lru_cache(maxsize=4096)(is_of_library)


def _text_digest(module: ModuleType) -> str:
    file = getattr(module, "__file__", None)
    try:
        state = os.stat(file or "")
    except OSError:
        return ""
    return _file_digest(str(file), state.st_mtime_ns, state.st_size)


@functools.lru_cache(maxsize=4096)
def _file_digest(file: str, modified: int, size: int) -> str:
    with open(file, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
