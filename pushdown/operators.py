"""The operators of a pipeline: Table 2 of the PredTrace paper, spelled out.

Each operator is a frozen struct that names its inputs by node id and carries what
SEMANTICS needs; its output columns follow from its inputs' (`output_columns`).
Column ids are unique in a graph: an operator that computes a column makes a new id,
one that passes a column on keeps it.
"""

from __future__ import annotations

from typing import Union

import msgspec

from symbolic.expr import Column, Expr
from symbolic.types import DataType


class Origin(msgspec.Struct, frozen=True):
    """Where in the user's code an operator came from: the text, and its line if known."""

    text: str
    line: int | None = None


class Assignment(msgspec.Struct, frozen=True):
    """A computed column: `column` takes the value of `value`.

    A column passed on has itself as its value, with the same id.
    """

    column: Column
    value: Expr


class AggregateCall(msgspec.Struct, frozen=True):
    """An aggregate over a group; `function` is a key of `symbolic.functions.AGGREGATES`.

    ``count`` without arguments counts rows. `distinct` drops repeated argument tuples
    first; `filter` keeps the rows for which it is true.
    """

    function: str
    args: tuple[Expr, ...]
    type: DataType
    distinct: bool = False
    filter: Expr | None = None


class Aggregation(msgspec.Struct, frozen=True):
    """An aggregate and the output column that takes its value."""

    column: Column
    call: AggregateCall


class SortKey(msgspec.Struct, frozen=True):
    """One key of a sort order."""

    value: Expr
    ascending: bool = True
    nulls_first: bool = True


class OperatorBase(msgspec.Struct, frozen=True, kw_only=True, tag_field="operator"):
    """Common base: `id` is the node's number in its graph."""

    id: int
    origin: Origin | None = None


class Scan(OperatorBase, frozen=True, tag=True, kw_only=True):
    """One read of a source. `table` is the source's unique name.

    `occurrence` numbers the scans of the same table from 1 in plan order; `alias` is
    what the query calls it there. `columns` are the source's columns as stored.
    """

    table: str
    occurrence: int
    columns: tuple[Column, ...]
    alias: str | None = None


class OneRow(OperatorBase, frozen=True, tag=True, kw_only=True):
    """A single row without columns (SELECT without FROM). Reads no source."""


class Filter(OperatorBase, frozen=True, tag=True, kw_only=True):
    """The input rows for which `condition` is true."""

    input: int
    condition: Expr


class RowTransform(OperatorBase, frozen=True, tag=True, kw_only=True):
    """Projection: each row becomes one row of `assignments` (dropping columns included)."""

    input: int
    assignments: tuple[Assignment, ...]


class InnerJoin(OperatorBase, frozen=True, tag=True, kw_only=True):
    """Pairs of rows for which `condition` is true; a cross join has TRUE."""

    left: int
    right: int
    condition: Expr


class OuterJoin(OperatorBase, frozen=True, tag=True, kw_only=True):
    """`kind` is left, right or full; the preserved side's partners are padded with NULLs."""

    left: int
    right: int
    condition: Expr
    kind: str


class SemiJoin(OperatorBase, frozen=True, tag=True, kw_only=True):
    """EXISTS, IN: the left rows for which some right row makes `condition` true."""

    left: int
    right: int
    condition: Expr


class AntiJoin(OperatorBase, frozen=True, tag=True, kw_only=True):
    """NOT EXISTS, NOT IN: the left rows for which no right row makes `condition` true.

    NOT IN's NULL rule is part of the condition (``a = b OR (a = b) IS NULL``).
    """

    left: int
    right: int
    condition: Expr


class MarkJoin(OperatorBase, frozen=True, tag=True, kw_only=True):
    """Every left row, with a Boolean `mark`: whether some right row makes `condition` true.

    `matches`, if given, says which of these right rows match. NOT IN marks rows that it is not
    true of: the mark's condition has NOT IN's NULL rule, a match is a comparison that is true.
    """

    left: int
    right: int
    condition: Expr
    mark: Column
    matches: Expr | None = None


class ScalarSubquery(OperatorBase, frozen=True, tag=True, kw_only=True):
    """Every left row with `column`: the one value of the uncorrelated right input.

    The right input has one column and at most one row; without a row the value is NULL.
    (Correlated scalar subqueries arrive as left outer joins with a GroupBy.)
    """

    left: int
    right: int
    column: Column


class GroupBy(OperatorBase, frozen=True, tag=True, kw_only=True):
    """One row per group of equal keys (NULLs equal), with `aggregations`.

    Without keys: always exactly one row, also for an empty input.
    """

    input: int
    keys: tuple[Assignment, ...]
    aggregations: tuple[Aggregation, ...]


class Distinct(OperatorBase, frozen=True, tag=True, kw_only=True):
    """One of each set of equal rows."""

    input: int


class Union_(OperatorBase, frozen=True, tag="Union", kw_only=True):
    """UNION ALL: `branches[i]` are the columns of input i that feed `columns`, by position."""

    inputs: tuple[int, ...]
    branches: tuple[tuple[Column, ...], ...]
    columns: tuple[Column, ...]


class Intersect(OperatorBase, frozen=True, tag=True, kw_only=True):
    """Rows on both sides (NULLs equal), by position; `all` keeps duplicates (the smaller count)."""

    left: int
    right: int
    branches: tuple[tuple[Column, ...], ...]
    columns: tuple[Column, ...]
    all: bool = False


class Except(OperatorBase, frozen=True, tag=True, kw_only=True):
    """Left rows not on the right (NULLs equal), by position; `all` subtracts counts."""

    left: int
    right: int
    branches: tuple[tuple[Column, ...], ...]
    columns: tuple[Column, ...]
    all: bool = False


class Sort(OperatorBase, frozen=True, tag=True, kw_only=True):
    """The same rows in order."""

    input: int
    keys: tuple[SortKey, ...]


class Limit(OperatorBase, frozen=True, tag=True, kw_only=True):
    """`count` rows (None: all) after skipping `offset`.

    Over a Sort these are the next in order, else any: which rows is up to the run.
    """

    input: int
    count: int | None
    offset: int = 0


Operator = Union[
    Scan,
    OneRow,
    Filter,
    RowTransform,
    InnerJoin,
    OuterJoin,
    SemiJoin,
    AntiJoin,
    MarkJoin,
    ScalarSubquery,
    GroupBy,
    Distinct,
    Union_,
    Intersect,
    Except,
    Sort,
    Limit,
]
JOINS = (InnerJoin, OuterJoin, SemiJoin, AntiJoin, MarkJoin, ScalarSubquery)
SET_OPERATIONS = (Union_, Intersect, Except)


def inputs_of(operator: Operator) -> tuple[int, ...]:
    """The ids of the operator's inputs, left to right."""
    match operator:
        case Scan() | OneRow():
            return ()
        case Union_(inputs=inputs):
            return inputs
        case (
            InnerJoin(left=left, right=right)
            | OuterJoin(left=left, right=right)
            | SemiJoin(left=left, right=right)
            | AntiJoin(left=left, right=right)
            | MarkJoin(left=left, right=right)
            | ScalarSubquery(left=left, right=right)
            | Intersect(left=left, right=right)
            | Except(left=left, right=right)
        ):
            return (left, right)
        case _:
            return (operator.input,)


def conditions_of(operator: Operator) -> dict[str, Expr]:
    """The predicates that an operator has, by field."""
    found = {name: getattr(operator, name, None) for name in ("condition", "matches")}
    return {name: predicate for name, predicate in found.items() if predicate is not None}


def padded_inputs(join: OuterJoin) -> tuple[int, ...]:
    """The inputs of an outer join whose columns are NULL in rows without a partner there."""
    return {"left": (join.right,), "right": (join.left,), "full": (join.left, join.right)}[
        join.kind
    ]


def _padded(columns: tuple[Column, ...]) -> tuple[Column, ...]:
    return tuple(msgspec.structs.replace(column, nullable=True) for column in columns)


def output_columns(operator: Operator, *inputs: tuple[Column, ...]) -> tuple[Column, ...]:
    """The operator's output columns, given its inputs' output columns."""
    match operator:
        case Scan(columns=columns) | Union_(columns=columns):
            return columns
        case Intersect(columns=columns) | Except(columns=columns):
            return columns
        case OneRow():
            return ()
        case RowTransform(assignments=assignments):
            return tuple(assignment.column for assignment in assignments)
        case GroupBy(keys=keys, aggregations=aggregations):
            return tuple(key.column for key in keys) + tuple(a.column for a in aggregations)
        case InnerJoin():
            return inputs[0] + inputs[1]
        case OuterJoin(kind=kind):
            left = inputs[0] if kind == "left" else _padded(inputs[0])
            right = inputs[1] if kind == "right" else _padded(inputs[1])
            return left + right
        case MarkJoin(mark=mark):
            return (*inputs[0], mark)
        case ScalarSubquery(column=column):
            return (*inputs[0], column)
        case _:
            return inputs[0]
