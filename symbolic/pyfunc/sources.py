"""The source of a Python function: its text, its syntax tree, and what its names mean.

A lambda is found in its line by the positions of its code, since a line may have several.
"""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import textwrap
import warnings
from collections.abc import Iterator, Mapping
from types import CodeType, FunctionType
from typing import Any

import msgspec

Definition = ast.FunctionDef | ast.Lambda


class Source(msgspec.Struct, frozen=True):
    """A function's text, without the indentation around it, and its definition."""

    text: str
    definition: Definition


class NoSource(Exception):
    """A function whose source cannot be had; says why."""


def source_of(function: FunctionType) -> Source:
    """The source of a function that was written with ``def`` or ``lambda``.

    Raises NoSource, also if the file is no longer what the function was made from.
    """
    code = function.__code__
    try:
        whole = "".join(inspect.findsource(code)[0])
        tree, codes = _read(whole)
    except (OSError, TypeError, IndexError, SyntaxError, ValueError) as error:
        raise NoSource(f"its source cannot be had ({error})") from error
    if code not in codes:
        raise NoSource("its source changed since it was loaded")
    found = [node for node in ast.walk(tree) if is_definition(node, code)]
    if len(found) != 1:
        raise NoSource(f"{len(found)} functions stand where its code says")
    (definition,) = found
    assert isinstance(definition, (ast.FunctionDef, ast.Lambda))
    lines = whole.splitlines(keepends=True)
    if isinstance(definition, ast.Lambda):
        return Source(ast.get_source_segment(whole, definition) or "", definition)
    text = "".join(lines[_first_line(definition) - 1 : definition.end_lineno])
    return Source(textwrap.dedent(text), definition)


@functools.lru_cache(maxsize=64)
def _read(text: str) -> tuple[ast.Module, frozenset[CodeType]]:
    """The tree of a file, and the codes of all functions in it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text)
        module = compile(text, "<source>", "exec", dont_inherit=True)
    found: set[CodeType] = set()
    pending = [module]
    while pending:
        inside = [each for each in pending.pop().co_consts if isinstance(each, CodeType)]
        found.update(inside)
        pending.extend(inside)
    return tree, frozenset(found)


def is_definition(node: ast.AST, code: CodeType) -> bool:
    """Whether a node is the definition that a code was compiled from."""
    if isinstance(node, ast.FunctionDef):
        return node.name == code.co_name and _first_line(node) == code.co_firstlineno
    if not isinstance(node, ast.Lambda) or code.co_name != "<lambda>":
        return False
    body = (node.body.lineno, node.body.col_offset)
    return node.lineno == code.co_firstlineno and body in {
        (spot[0], spot[2]) for spot in code.co_positions()
    }


def _first_line(node: ast.FunctionDef) -> int:
    return min(node.lineno, *(each.lineno for each in node.decorator_list), node.lineno)


def meanings(function: FunctionType) -> dict[str, Any]:
    """The values of the names that a function does not define itself; names without one are left
    out."""
    found: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            # The cell is filled later.
            continue
    builtins: Mapping[str, Any] = getattr(function, "__builtins__", {})
    for name in _global_names(function.__code__):
        if name in found:
            continue
        if name in function.__globals__:
            found[name] = function.__globals__[name]
        elif name in builtins:
            found[name] = builtins[name]
    return found


def _global_names(code: CodeType) -> Iterator[str]:
    """The global names that a function's code reads, with that of functions inside."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield str(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _global_names(constant)
