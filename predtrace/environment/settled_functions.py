"""Whether the constants that a function uses are the same wherever the function is loaded.

PySpark sends some functions by value, with the values that they use. A function of an importable
module it sends by name: the processes that call it import the module anew, so what this process
changed in the module meanwhile does not count there.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType
from typing import Any

from symbolic.pyfunc.sources import meanings


def is_settled(function: Callable[..., Any]) -> bool:
    """Whether this process sees what the processes see that Spark calls the function in."""
    seen: set[int] = set()
    waiting: list[Any] = [function]
    while waiting:
        current = waiting.pop()
        if not isinstance(current, FunctionType) or id(current) in seen:
            continue
        seen.add(id(current))
        used = meanings(current)
        if _is_sent_by_name(current) and not _is_as_written(current, used):
            return False
        waiting.extend(used.values())
    return True


def _is_sent_by_name(function: FunctionType) -> bool:
    from pyspark.cloudpickle.cloudpickle import _should_pickle_by_reference

    return bool(_should_pickle_by_reference(function))


def _is_as_written(function: FunctionType, used: dict[str, Any]) -> bool:
    """Whether the globals that a function uses are what its module's text says."""
    module = sys.modules.get(function.__module__)
    try:
        tree = ast.parse(inspect.getsource(module)) if module is not None else None
    except (OSError, TypeError, SyntaxError):
        tree = None
    if tree is None:
        return False
    written = _constants(tree)
    for name, value in used.items():
        if name not in function.__globals__ or function.__globals__[name] is not value:
            continue
        if inspect.ismodule(value) or isinstance(value, (type, BuiltinFunctionType)):
            continue
        if isinstance(value, FunctionType):
            home = sys.modules.get(value.__module__)
            if value.__name__ != name or getattr(home, name, None) is not value:
                return False
        elif name not in written or written[name] != repr(value):
            return False
    return True


def _constants(tree: ast.Module) -> dict[str, str]:
    """The literal constants that a module assigns once, at its top."""
    found: dict[str, str] = {}
    counts: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            counts[node.id] = counts.get(node.id, 0) + 1
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if counts[name] == 1:
                try:
                    found[name] = repr(ast.literal_eval(value))
                except (ValueError, TypeError, SyntaxError, MemoryError):
                    continue
    return found
