"""Whether the constants that a function uses are the same wherever the function is loaded.

PySpark sends some functions by value, with the values that they use. A function of an importable
module it sends by name: the processes that call it import the module anew, so what this process
changed in the module meanwhile does not count there.
"""

from __future__ import annotations

import ast
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, FunctionType
from typing import Any

from symbolic.pyfunc.sources import is_definition, meanings


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
    if tree is None or not _is_defined(function, tree, getattr(module, "__file__", None)):
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


def _is_defined(function: FunctionType, tree: ast.Module, file: str | None) -> bool:
    """Whether a module's text defines a function as this process has it.

    A name that is bound twice, a decorator and a default that is no literal may each give another
    function, and so may this process: it can put any function in a module and call it anything.
    """
    *outer, name = function.__qualname__.split(".")
    scope: ast.AST | None = tree
    for each in outer:
        scope = _only_binding(scope, each, ast.ClassDef)
    found = _only_binding(scope, name, ast.FunctionDef)
    if not isinstance(found, ast.FunctionDef) or not all(map(_is_plain, found.decorator_list)):
        return False
    code = function.__code__
    if file is None or not os.path.exists(code.co_filename):
        return False
    same_place = os.path.samefile(file, code.co_filename) and is_definition(found, code)
    return same_place and _has_defaults(function, found.args)


def _only_binding(scope: ast.AST | None, name: str, kind: type[ast.stmt]) -> ast.stmt | None:
    """The statement of a kind that binds a name in a scope, if nothing else in it does."""
    if not isinstance(scope, (ast.Module, ast.ClassDef)):
        return None
    bound = [node for node in _statements_of(scope) if _binds(node, name)]
    found = [node for node in scope.body if isinstance(node, kind) and node in bound]
    return found[0] if len(found) == len(bound) == 1 else None


def _statements_of(scope: ast.Module | ast.ClassDef) -> Iterator[ast.AST]:
    """The nodes of a scope, and what the functions in it say of its names."""
    waiting: list[ast.AST] = list(scope.body)
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield from (inner for inner in ast.walk(node) if isinstance(inner, ast.Global))
        else:
            waiting.extend(ast.iter_child_nodes(node))


def _binds(node: ast.AST, name: str) -> bool:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return node.name == name
        case ast.Name(ctx=ast.Store() | ast.Del()):
            return node.id == name
        case ast.alias():
            return (node.asname or node.name.partition(".")[0]) in (name, "*")
        case ast.Global():
            return name in node.names
        case _:
            return False


def _is_plain(decorator: ast.expr) -> bool:
    """Whether a decorator leaves the function as it is."""
    return isinstance(decorator, ast.Name) and decorator.id == "staticmethod"


def _has_defaults(function: FunctionType, args: ast.arguments) -> bool:
    """Whether a function's defaults are the literals that its definition says."""
    keywords = {
        arg.arg: default
        for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True)
        if default is not None
    }
    try:
        places = tuple(map(ast.literal_eval, args.defaults))
        named = {name: ast.literal_eval(value) for name, value in keywords.items()}
    except (ValueError, TypeError, SyntaxError, MemoryError):
        return False
    # By their texts: 1, 1.0 and True are equal.
    given = (function.__defaults__ or (), function.__kwdefaults__ or {})
    return repr(given) == repr((places, named))


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
