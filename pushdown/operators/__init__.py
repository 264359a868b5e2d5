"""The operators of a pipeline: Table 2 of the PredTrace paper, spelled out, and SEMANTICS.

Each family has a module with the structs of its operators and their traits. The module of the same
name in `pushdown.rules` has their rules. Rules need Z3, which reading a job should not import.
"""

from __future__ import annotations

from typing import Union

from pushdown.operators.base import Assignment, OperatorBase, Origin, Repeats
from pushdown.operators.domains import Domain
from pushdown.operators.duplicates import DropDuplicates
from pushdown.operators.expansion import Expand, Generate
from pushdown.operators.groups import AggregateCall, Aggregation, GroupBy
from pushdown.operators.joins import InnerJoin, OuterJoin
from pushdown.operators.opaque import GroupKey, Opaque
from pushdown.operators.opaque_columns import OpaqueColumn, OpaqueColumns
from pushdown.operators.order import Limit, Sample, Sort, SortKey
from pushdown.operators.rows import Distinct, Filter, RowTransform
from pushdown.operators.sets import Except, Intersect, Union_
from pushdown.operators.sources import OneRow, Scan
from pushdown.operators.subqueries import AntiJoin, MarkJoin, ScalarSubquery, SemiJoin
from pushdown.operators.windows import Bound, Frame, Window, WindowFunction

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
    Domain,
    Expand,
    Generate,
    GroupBy,
    Distinct,
    DropDuplicates,
    Union_,
    Intersect,
    Except,
    Sort,
    Limit,
    Sample,
    Window,
    Opaque,
    OpaqueColumns,
]


def kind_of(operator: Operator) -> str:
    """An operator's kind in a word, for people; of a program, its name."""
    return operator.name if isinstance(operator, Opaque) else type(operator).__name__.rstrip("_")


__all__ = [
    "AggregateCall", "Aggregation", "AntiJoin", "Assignment", "Bound", "Distinct", "Domain",
    "DropDuplicates",
    "Except", "Expand", "Filter", "Frame", "Generate", "GroupBy", "GroupKey",
    "InnerJoin", "Intersect", "Limit",
    "MarkJoin", "OneRow", "Opaque", "OpaqueColumn", "OpaqueColumns", "Operator",
    "OperatorBase", "Origin", "OuterJoin", "Repeats",
    "RowTransform", "Sample", "ScalarSubquery", "Scan", "SemiJoin", "Sort", "SortKey", "Union_",
    "Window", "WindowFunction", "kind_of",
]  # fmt: skip
