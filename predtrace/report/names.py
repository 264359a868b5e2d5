"""Names and predicates for people: unambiguous, without column ids if possible."""

from __future__ import annotations

from collections import Counter, defaultdict

import msgspec

from pushdown.graph import OperatorGraph
from pushdown.operators import Scan
from symbolic.expr import FALSE, TRUE, Call, Column, Expr, Param, conjuncts, render, transform


def scan_name(scan: Scan, graph: OperatorGraph) -> str:
    """A scan's name within its graph: the table, numbered if it is read more than once."""
    several = sum(other.table == scan.table for other in graph.scans()) > 1
    return f"{scan.table}[{scan.occurrence}]" if several else scan.table


class ColumnNames:
    """Unambiguous names of a graph's columns: ``n_name``, or ``n1.n_name`` if names repeat."""

    def __init__(self, graph: OperatorGraph) -> None:
        columns = {c.id: c for node in graph.top_down() for c in graph.output(node)}
        owners = {column.id: scan for scan in graph.scans() for column in scan.columns}
        aliases = Counter(scan.alias or scan.table for scan in graph.scans())
        by_name: dict[str, list[int]] = defaultdict(list)
        for column in columns.values():
            by_name[column.name].append(column.id)
        self._names: dict[int, str] = {}
        for name, ids in by_name.items():
            for column_id in ids:
                self._names[column_id] = name
                if len(ids) > 1:
                    scan = owners.get(column_id)
                    self._names[column_id] = _qualified(name, column_id, scan, aliases, graph)

    def name(self, column: Column) -> str:
        """The column's name for people."""
        return self._names.get(column.id, column.name)

    def expression(self, expr: Expr) -> str:
        """An expression as text."""
        return render(transform(expr, self._renamed))

    def predicate(self, expr: Expr) -> str:
        """A predicate as text; row-selection predicates in a short form."""
        if expr == TRUE:
            return "every row"
        if expr == FALSE:
            return "no row"
        terms = conjuncts(expr)
        selected = [term for term in terms if _is_selection(term)]
        if len(selected) < 3:
            return self.expression(expr)
        # `a <=> :a AND b <=> :b AND …` only says which columns must agree.
        rest = [self._grouped(term) for term in terms if not _is_selection(term)]
        return " AND ".join([self._selection(selected), *rest])

    def _grouped(self, term: Expr) -> str:
        text = self.expression(term)
        return f"({text})" if isinstance(term, Call) and term.function == "or" else text

    def _selection(self, terms: list[Expr]) -> str:
        columns = [self.name(column) for column, _ in map(_sides, terms)]
        binding = _sides(terms[0])[1].binding
        row = "the target row" if binding == 0 else f"the row of intermediate {binding}"
        return f"equal to {row} in ({', '.join(columns)})"

    def _renamed(self, expr: Expr) -> Expr | None:
        if isinstance(expr, Column):
            return msgspec.structs.replace(expr, name=self.name(expr))
        if isinstance(expr, Param):
            name = self._names.get(expr.column, expr.name)
            return msgspec.structs.replace(expr, name=name)
        return None


def _sides(term: Expr) -> tuple[Column, Param]:
    assert isinstance(term, Call)
    left, right = term.args
    column, param = (left, right) if isinstance(left, Column) else (right, left)
    assert isinstance(column, Column)
    assert isinstance(param, Param)
    return column, param


def _is_selection(term: Expr) -> bool:
    """Whether a term compares a column, null-safe, with the bound row's value of that column."""
    if not (isinstance(term, Call) and term.function == "nullsafe_eq"):
        return False
    kinds = {type(arg) for arg in term.args}
    if kinds != {Column, Param}:
        return False
    column, param = _sides(term)
    return column.id == param.column


def _qualified(
    name: str, column_id: int, scan: Scan | None, aliases: Counter[str], graph: OperatorGraph
) -> str:
    if scan is None:
        return f"{name}#{column_id}"
    alias = scan.alias or scan.table
    return f"{alias if aliases[alias] == 1 else scan_name(scan, graph)}.{name}"
