"""Estimated sizes of intermediate results, to choose the smallest among equals.

The leaves' row counts are Spark's own; above them stand the textbook guesses (Selinger
et al. 1979). A wrong guess costs bytes, never correctness.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pushdown.graph import OperatorGraph
from pushdown.operators import (
    AntiJoin,
    Distinct,
    Except,
    Filter,
    GroupBy,
    InnerJoin,
    Intersect,
    Limit,
    OneRow,
    OuterJoin,
    RowTransform,
    Scan,
    SemiJoin,
    Union_,
)
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

DEFAULT_ROWS = 1_000_000.0
_SELECTIVITY = {
    "eq": 0.1,
    "nullsafe_eq": 0.1,
    "lt": 0.33,
    "le": 0.33,
    "gt": 0.33,
    "ge": 0.33,
    "in": 0.2,
    "like": 0.1,
    "is_not_null": 1.0,
    "is_null": 0.1,
}
_DEFAULT_SELECTIVITY = 0.5


class Sizes:
    """Estimated rows and bytes of every node's output.

    `scan_rows` gives the row count of scans by node id; others get `DEFAULT_ROWS`.
    """

    def __init__(self, graph: OperatorGraph, scan_rows: Mapping[int, float]) -> None:
        self._graph = graph
        self._rows: dict[int, float] = {}
        self._base: dict[int, tuple[int, float]] = {}
        for node in graph.bottom_up():
            operator = graph[node]
            if isinstance(operator, Scan):
                rows = scan_rows.get(node, DEFAULT_ROWS)
                self._base.update((column.id, (node, rows)) for column in operator.columns)
            self._inherit_bases(node)
            self._rows[node] = max(1.0, self._estimate(node, scan_rows))

    def rows(self, node: int) -> float:
        """Estimated rows of the node's output."""
        return self._rows[node]

    def bytes(self, node: int, columns: Iterable[Column]) -> float:
        """Estimated bytes of the node's output, projected to `columns`."""
        return self._rows[node] * max(1.0, sum(width(column.type) for column in columns))

    def _inherit_bases(self, node: int) -> None:
        """A column that only renames another one has that one's base table."""
        operator = self._graph[node]
        pairs: list[tuple[Column, Expr]] = []
        if isinstance(operator, RowTransform):
            pairs = [(a.column, a.value) for a in operator.assignments]
        elif isinstance(operator, GroupBy):
            pairs = [(a.column, a.value) for a in operator.keys]
        for column, value in pairs:
            if isinstance(value, Column) and value.id in self._base:
                self._base.setdefault(column.id, self._base[value.id])

    def _estimate(self, node: int, scan_rows: Mapping[int, float]) -> float:
        operator = self._graph[node]
        inputs = [self._rows[child] for child in self._graph.inputs(node)]
        match operator:
            case Scan():
                return scan_rows.get(node, DEFAULT_ROWS)
            case OneRow():
                return 1.0
            case Filter(condition=condition):
                return inputs[0] * self._selectivity(condition)
            case InnerJoin(condition=condition):
                return inputs[0] * inputs[1] * self._selectivity(condition)
            case OuterJoin(condition=condition):
                matched = inputs[0] * inputs[1] * self._selectivity(condition)
                return max(matched, *inputs)
            case SemiJoin() | AntiJoin() | Distinct():
                return inputs[0] * 0.5
            case GroupBy(keys=keys):
                return self._groups(inputs[0], [key.value for key in keys])
            case Union_():
                return sum(inputs)
            case Intersect() | Except():
                return min(inputs)
            case Limit(count=count) if count is not None:
                return min(inputs[0], float(count))
            case _:
                return inputs[0]

    def _groups(self, rows: float, keys: list[Expr]) -> float:
        if not keys:
            return 1.0
        bases = [
            self._base[key.id][1]
            for key in keys
            if isinstance(key, Column) and key.id in self._base
        ]
        return min([rows, *bases[:1]]) * 0.5

    def _selectivity(self, condition: Expr) -> float:
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
        return _SELECTIVITY.get(term.function, _DEFAULT_SELECTIVITY)
    return _DEFAULT_SELECTIVITY


def selectivity(predicate: Expr) -> float:
    """The estimated share of rows that satisfy a predicate without joins."""
    result = 1.0
    for term in conjuncts(predicate):
        result *= _selectivity(term)
    return result
