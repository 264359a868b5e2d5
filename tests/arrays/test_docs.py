"""docs/arrays-capture.md: its code gives what it says, and its tables are the registry's."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from predtrace.arrays.capture.page import BEGIN, with_tables
from predtrace.errors import PredTraceError
from tests.arrays.bench.tracking import OPERATIONS, costs

PAGE = Path(__file__).parents[2] / "docs" / "arrays-capture.md"


def executed(code: str, names: dict[str, Any]) -> int:
    """Run a block; of expressions with a comment behind them, check it. How many there were."""
    lines, checked = code.splitlines(), 0
    for statement in ast.parse(code).body:
        if not isinstance(statement, ast.Expr):
            exec(compile(ast.Module([statement], []), str(PAGE), "exec"), names)
            continue
        value = eval(compile(ast.Expression(statement.value), str(PAGE), "eval"), names)
        _, found, comment = lines[statement.end_lineno - 1].partition("  # ")
        assert found, f"an expression without its value: {lines[statement.end_lineno - 1]}"
        assert str(value) == comment
        checked += 1
    return checked


def test_examples() -> None:
    names: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert sum(executed(block, names) for block in blocks) >= 12


def test_tables_are_current() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert with_tables(page) == page, "write them anew: make docs"
    with pytest.raises(PredTraceError, match="no place"):
        with_tables(page.replace(BEGIN, ""))


def test_costs_are_measured() -> None:
    rows = list(costs((4,), cells=5, steps=3, rounds=1))
    assert len(rows) == len(OPERATIONS) + 3
    assert all(float(row[3]) > 0 for row in rows)
