"""Estimated sizes of intermediate results, to choose the smallest suitable one.

The row counts of the leaves are Spark's own; above them the textbook guesses of `costs` apply.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from predtrace.inference.costs import (
    DEFAULT_ROWS,
    DEFAULT_SELECTIVITY,
    GROUPS_A_ROW,
    SELECTIVITY,
)
from pushdown.graph import OperatorGraph
from pushdown.operators.base import ids_of
from symbolic.expr import Call, Column, Expr, conjuncts
from symbolic.types import (
    Binary,
    Boolean,
    DataType,
    Date,
    Decimal,
    Float,
    Integer,
    String,
    Timestamp,
)


class Sizes:
    """Estimated rows and bytes of every node's output.

    `scan_rows` gives the row count of scans by node id; others get `DEFAULT_ROWS`.
    """

    def __init__(self, graph: OperatorGraph, scan_rows: Mapping[int, float]) -> None:
        self._graph = graph
        self._rows: dict[int, float] = {}
        self._base: dict[int, tuple[int, float]] = {}
        self._scan_rows = scan_rows
        for scan in graph.scans():
            base = (scan.id, self.scanned(scan.id))
            self._base.update(dict.fromkeys((column.id for column in scan.columns), base))
        for node in graph.bottom_up():
            self._inherit_bases(node)
            inputs = [self._rows[child] for child in graph.inputs(node)]
            self._rows[node] = max(1.0, graph[node].estimate(inputs, self))

    def rows(self, node: int) -> float:
        """Estimated rows of the node's output."""
        return self._rows[node]

    def bytes(self, node: int, columns: Iterable[Column]) -> float:
        """Estimated bytes of the node's output, projected to `columns`."""
        return self._rows[node] * max(1.0, sum(width(column.type) for column in columns))

    def _inherit_bases(self, node: int) -> None:
        """Let a column that only renames another column inherit its base table."""
        made = ids_of(self._graph.output(node))
        made -= ids_of(sum(self._graph.input_columns(node), ()))
        for term in self._graph[node].equalities:
            match term:
                case Call(function="nullsafe_eq", args=(Column(id=own), Column(id=source))):
                    if own in made and source in self._base:
                        self._base.setdefault(own, self._base[source])

    def scanned(self, scan: int) -> float:
        """The rows of a scan's source."""
        return self._scan_rows.get(scan, DEFAULT_ROWS)

    def groups(self, rows: float, keys: Sequence[Expr]) -> float:
        """The number of groups: half of the rows, or half of the rows of a key's table."""
        if not keys:
            return 1.0
        bases = [
            self._base[key.id][1]
            for key in keys
            if isinstance(key, Column) and key.id in self._base
        ]
        return min([rows, *bases[:1]]) * GROUPS_A_ROW

    def selectivity(self, condition: Expr) -> float:
        """The share of rows, or pairs, for which a condition is true."""
        result = 1.0
        joined: dict[frozenset[int], float] = {}
        for term in conjuncts(condition):
            pair = self._joined_scans(term)
            if pair is None:
                result *= _selectivity(term)
            else:
                # Several equalities between two tables make one (composite) key.
                scans, selectivity = pair
                joined[scans] = min(joined.get(scans, 1.0), selectivity)
        for selectivity in joined.values():
            result *= selectivity
        return result

    def _joined_scans(self, term: Expr) -> tuple[frozenset[int], float] | None:
        match term:
            case Call(function="eq", args=(Column(id=left), Column(id=right))) if (
                left in self._base and right in self._base
            ):
                (left_scan, left_rows), (right_scan, right_rows) = (
                    self._base[left],
                    self._base[right],
                )
                if left_scan != right_scan:
                    smaller = max(1.0, min(left_rows, right_rows))
                    return frozenset((left_scan, right_scan)), 1.0 / smaller
        return None


def width(data_type: DataType) -> int:
    """Assumed bytes of one value."""
    match data_type:
        case Boolean():
            return 1
        case Integer(bits) | Float(bits):
            return bits // 8
        case Decimal(precision):
            return 8 if precision <= 18 else 16
        case Date():
            return 4
        case Timestamp():
            return 8
        case String() | Binary():
            return 20
        case _:
            return 40


def _selectivity(term: Expr) -> float:
    if isinstance(term, Call):
        if term.function == "or":
            return min(1.0, sum(selectivity(arg) for arg in term.args))
        if term.function == "not":
            return 1.0 - 0.5 * selectivity(term.args[0])
        return SELECTIVITY.get(term.function, DEFAULT_SELECTIVITY)
    return DEFAULT_SELECTIVITY


def selectivity(predicate: Expr) -> float:
    """The estimated share of rows that satisfy a predicate without joins."""
    result = 1.0
    for term in conjuncts(predicate):
        result *= _selectivity(term)
    return result
