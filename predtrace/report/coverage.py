"""Writes `docs/coverage.md` from the registries: ``python -m predtrace.report.coverage``.

Support is data (rules, function tables, translations, reasons for refusal). The page shows only
that data, so it cannot promise anything that the code does not do.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from predtrace.cells.functions import EACH, UNKNOWN
from predtrace.cells.functions import RULES as CELL_RULES
from predtrace.engines.duckdb.aggregates import DUCKDB_AGGREGATES
from predtrace.engines.duckdb.functions import DUCKDB
from predtrace.engines.duckdb.windows import DUCKDB_WINDOWS
from predtrace.engines.sql.functions import Evaluated, Refused
from predtrace.frontends.spark import (
    expressions,
    functions_table,
    operators,
    sources,
    variables,
)
from predtrace.frontends.spark.expressions import Reads
from predtrace.frontends.spark.functions_table import CatalystClass
from predtrace.jobs.builtins import FOLDED, GENERATED, OF_FILES_READ, SCALAR, Builtin, builtins
from predtrace.vocabulary import PRECISE, SUPERSET
from pushdown.operators import Operator
from pushdown.rules import LEAVES, RULES, UNDEFINED, UNSUPPORTED
from symbolic.functions import (
    AGGREGATES,
    COMBINES,
    FUNCTIONS,
    TRY_FORMS,
    WINDOW_ONLY,
    Combines,
    Encoding,
)

_INTRODUCTION = """\
# Coverage

Generated from the registries by `make docs`; do not edit. The front end refuses everything that
these tables do not list, with an error that names it and its place in the query. Functions of Spark
without a row in the table of functions are carried by name where the table of built-in functions
says so.

A scan's label is `precise` if every operator between it and the output was proved exact, by rule
or by storing an intermediate result. Otherwise it is `superset`, and the answer names the operator.
"""
_KNOWS = {
    Encoding.INTERPRETED: "meaning",
    Encoding.UNINTERPRETED: "equal in, equal out; NULLs",
}


_SUPPORT = {"own": "own row", "carried": "carried"}
_OF_KIND = {"window": "WindowExpression"}
"""The expression class around all functions of a kind, or like them."""
_WHY = {
    Combines.PICKS: "the order of the rows decides whose value it takes",
    Combines.COLLECTS: "the order of the rows decides the order of its elements",
    Combines.MERGES: "how its parts are merged decides the result",
}
"""Why only the run knows the results of an aggregate."""
_REWRITTEN = frozenset({"grouping", "grouping_id"})
"""Functions that the analyzer writes with others, which have rows."""
_NOWHERE = {"measure": "it is for metric views, which Spark rewrites before"}
MADE_BY = {
    "MaxByBuilder": "MaxBy",
    "MinByBuilder": "MinBy",
    "TryAverageExpressionBuilder": "Average",
    "TrySumExpressionBuilder": "Sum",
}
"""Aggregates by the class that builds them."""


def coverage() -> str:
    """The whole page as Markdown."""
    sections = (
        ("Operators", _operators()),
        ("Spark plan nodes", _plan_nodes()),
        ("Sources", _sources()),
        ("Functions", _functions()),
        ("Spark's built-in functions", _builtins()),
        ("Cells of arrays", _cells()),
        ("Aggregate functions", _aggregates()),
        ("Functions that only windows have", _window_only()),
        ("Spark expressions with a reader of their own", _readers()),
        ("Spark expressions that are refused", _refused()),
    )
    parts = [_INTRODUCTION]
    for title, lines in sections:
        parts += [f"## {title}", "\n".join(lines), ""]
    return "\n".join(parts).rstrip() + "\n"


def _operators() -> list[str]:
    rows = []
    for operator in get_args(Operator):
        name = operator.__name__.rstrip("_")
        if operator in RULES:
            label = SUPERSET if operator in UNDEFINED else PRECISE
            rows.append((name, "traced", label, RULES[operator].lineage))
        elif operator in LEAVES:
            rows.append((name, "traced", "precise", LEAVES[operator]))
        else:
            rows.append((name, "refused", "", UNSUPPORTED[operator]))
    return _table(("operator", "support", "label", "lineage of an output row"), rows)


def _plan_nodes() -> list[str]:
    rows = [(f"`{name}`", f"becomes {becomes}") for name, becomes in operators.BECOMES.items()]
    for table in (operators.UNSUPPORTED, operators.NON_DETERMINISTIC):
        rows += [(f"`{name}`", f"refused: {reason}") for name, reason in table.items()]
    return _table(("Catalyst node", "support"), sorted(rows))


def _sources() -> list[str]:
    found = defaultdict(list)
    for name, kind in sources.FILE_FORMATS.items():
        found[kind].append(f"`{name}`")
    return [
        *_table(("format", "Spark classes"), [(k, ", ".join(v)) for k, v in found.items()]),
        "",
        *_table(
            ("the program's own rows", "what becomes of them"),
            [(f"`{name}`", fate) for name, fate in variables.BROUGHT.items()],
        ),
    ]


def _functions() -> list[str]:
    classes = _by_function(functions_table.SCALAR, expressions.READS)
    rows = [
        (
            f"`{f.id}`",
            f.meaning,
            classes.get(f.id, ""),
            "precise",
            _KNOWS[f.encoding],
            _duckdb(DUCKDB[f.id]),
        )
        for f in FUNCTIONS.values()
        if f.id in DUCKDB
    ]
    heads = ("function", "meaning", "from Spark's", "label", "the solver knows", "on DuckDB")
    return _table(heads, rows)


def _builtins() -> list[str]:
    supports = {row.name: _builtin_support(row) for row in builtins().values()}
    counts = Counter(support.partition(":")[0] for support in supports.values())
    total = ", ".join(f"{support} {number}" for support, number in counts.most_common())
    rows = [
        (f"`{row.name}`", f"`{row.expression}`" if row.expression else "", supports[row.name])
        for row in builtins().values()
    ]
    return [
        f"Of {len(rows)} built-in functions: {total}. A carried function has",
        "a documented call without a row above: Spark evaluates that call by the function's name,",
        "and the solver knows that equal arguments give equal results.",
        "What becomes of a scalar function or an aggregate was tried on the examples that Spark",
        "documents for it. An opaque one is stored when the job runs, if its value is needed.",
        "",
        *_table(("function", "class, or its builder", "support"), rows),
    ]


def _builtin_support(row: Builtin) -> str:
    if row.name in FOLDED:
        return "folded: the value that the job saw stands in it"
    if row.name in OF_FILES_READ:
        return "a hidden column of the source, right above its read; else refused"
    if row.kind == SCALAR:
        return _SUPPORT.get(row.support) or row.support
    expression = MADE_BY.get(row.expression, row.expression)
    own = functions_table.WINDOW if row.kind == "window" else functions_table.AGGREGATE
    if expression in own:
        return _SUPPORT["own"]
    if row.name in _REWRITTEN:
        return _SUPPORT["own"]
    if row.support == "opaque":
        return f"opaque: {_WHY.get(COMBINES[row.name], 'it cannot be called by name')}"
    if row.support:
        return _SUPPORT[row.support]
    reason = functions_table.UNSUPPORTED.get(expression)
    if row.kind == "generator" and (rows := GENERATED.get(row.name.removesuffix("_outer"))):
        return "traced: its output is stored" if rows == "opaque" else f"traced: {rows}"
    if row.kind in _OF_KIND:
        reason = reason or functions_table.UNSUPPORTED.get(_OF_KIND[row.kind])
    reason = reason or _NOWHERE.get(row.name)
    return f"refused: {reason}" if reason else f"{row.kind}: see the operators"


def _cells() -> list[str]:
    heads = ("function of arrays", "a cell of the result comes from")
    rows = [(f"`{function}`", rule.says) for function, rule in CELL_RULES.items()]
    rows += [("others, without arrays", EACH.says), ("others", UNKNOWN.says)]
    return _table(heads, rows)


def _duckdb(row: Evaluated[Any, Any] | Refused) -> str:
    if isinstance(row, Evaluated):
        return f"exact {row.exact.says}"
    return f"left to Spark: {row.reason}"


def _aggregates() -> list[str]:
    classes = _by_function(functions_table.AGGREGATE)
    rows = [
        (
            f"`{aggregate.id}`",
            aggregate.meaning,
            classes.get(aggregate.id, ""),
            "precise",
            "rows that attain the value, or the group" if aggregate.attained else "the group",
            _duckdb(DUCKDB_AGGREGATES[aggregate.id]),
        )
        for aggregate in AGGREGATES.values()
    ]
    return _table(("aggregate", "meaning", "from Spark's", "label", "lineage", "on DuckDB"), rows)


def _window_only() -> list[str]:
    classes = defaultdict(list)
    for name, function in functions_table.WINDOW.items():
        classes[function].append(f"`{name}`")
    rows = [
        (
            f"`{f.id}`",
            f.meaning,
            ", ".join(classes[f.id]),
            f.draws.value,
            _duckdb(DUCKDB_WINDOWS[f.id]),
        )
        for f in WINDOW_ONLY.values()
    ]
    heads = ("function", "meaning", "from Spark's", "lineage beside the own row", "on DuckDB")
    return _table(heads, rows)


def _readers() -> list[str]:
    rows = [(f"`{name}`", reads.says) for name, reads in expressions.READS.items()]
    rows += [(f"`{name}`", "its argument") for name in functions_table.TRANSPARENT]
    return _table(("Catalyst expression", "becomes"), sorted(rows))


def _refused() -> list[str]:
    rows = [(f"`{name}`", reason) for name, reason in functions_table.UNSUPPORTED.items()]
    another = "another run need not give the same value"
    rows += [(f"`{name}`", another) for name in functions_table.NON_DETERMINISTIC]
    return _table(("Catalyst expression", "reason"), sorted(rows))


def _by_function(*tables: Mapping[str, CatalystClass] | Mapping[str, Reads]) -> dict[str, str]:
    found = defaultdict(list)
    for name, row in (item for table in tables for item in table.items()):
        if row.function is None:
            continue
        found[row.function].append(f"`{name}`")
        if row.function in TRY_FORMS:
            found[TRY_FORMS[row.function]].append(f"`{name}` in TRY mode")
    return {function: ", ".join(sorted(classes)) for function, classes in found.items()}


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for row in rows:
        cells = (cell.replace("|", "\\|").replace("\n", " ") for cell in row)
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def main() -> None:
    """Write the page to the file that the command line names, else to stdout."""
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(coverage(), encoding="utf-8")
    else:
        sys.stdout.write(coverage())


if __name__ == "__main__":
    main()
