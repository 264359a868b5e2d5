"""Writes the tables of `docs/arrays-capture.md` from the registry.

    python -m predtrace.arrays.capture.page docs/arrays-capture.md

The rules and the reasons for refusal are data; the tables show only that data.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from predtrace.arrays.capture.registry import RULES, SHAPE_ONLY, UNSUPPORTED
from predtrace.arrays.capture.rule import CaptureRule, Family
from predtrace.arrays.capture.rules.movement import GETITEM
from predtrace.arrays.capture.rules.writes import SETITEM
from predtrace.arrays.capture.ufuncs import UFUNC_RULES
from predtrace.errors import PredTraceError

BEGIN = "<!-- tables: written by python -m predtrace.arrays.capture.page -->"
END = "<!-- end of tables -->"


def tables() -> str:
    """The tables of captured functions and of refused functions, as Markdown."""
    lines = ["| functions | a cell comes from |", "|---|---|"]
    for family in Family:
        rows = [*_syntax(family), *_rules(family)]
        lines += [f"| **{family.value}** | |"] if rows else []
        lines += [f"| {names} | {meaning} |" for names, meaning in rows]
    lines += ["", "Refused:", "", "| functions | because |", "|---|---|"]
    lines += [f"| {_listed(names)} | {_escaped(why)} |" for why, names in UNSUPPORTED.items()]
    lines += [
        "",
        f"These get the plain arrays, since no cell matters to them: {_listed(SHAPE_ONLY)}.",
    ]
    return "\n".join(lines)


def with_tables(page: str) -> str:
    """The page with new tables. Raises PredTraceError if it has no place for them."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise PredTraceError(f"the page has no place for tables; put {BEGIN!r} and {END!r} there")
    return f"{before}{BEGIN}\n{tables()}\n{END}{after}"


def _syntax(family: Family) -> Iterator[tuple[str, str]]:
    """The rows outside numpy's namespace: indexing, and the methods of universal functions."""
    for shown, rule in (
        ("`a[key]`", GETITEM),
        ("`a[key] = value`", SETITEM),
        *((_ufunc(method), rule) for method, rule in UFUNC_RULES.items()),
    ):
        if rule.family is family:
            yield shown, _meaning(rule)


def _ufunc(method: str) -> str:
    return "universal functions" if method == "__call__" else f"their method `{method}`"


def _rules(family: Family) -> Iterator[tuple[str, str]]:
    """The rows of rules; rules with the same meaning share a row."""
    rules = [rule for rule in RULES if rule.family is family]
    for meaning, group in groupby(sorted(rules, key=_meaning), key=_meaning):
        yield _listed(" ".join(rule.names for rule in group)), meaning


def _meaning(rule: CaptureRule) -> str:
    label = "" if rule.quality.rank == 0 else f" (`{rule.quality.value}`)"
    return _escaped(rule.meaning) + label


def _listed(names: str) -> str:
    return ", ".join(f"`{name}`" for name in names.split())


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(with_tables(path.read_text(encoding="utf-8")), encoding="utf-8")
