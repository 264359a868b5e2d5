"""Perm's rewriting: an operator graph that gives source row numbers beside its output.

Every output row comes once for each combination of source rows that it is made of, with NULL if a
scan contributes nothing (Glavic and Alonso 2009, Perm). Operators that combine single rows pass
numbers on. Groups, and other operators that forget the rows they were made of, are computed
unchanged and joined back to their rewritten input. Subqueries are already joins in the graph.
Section 2 of docs/semantics.md defines lineage: a min or max comes from the rows that attain it, and
an anti join's inner side contributes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from pushdown.graph import OperatorGraph
from pushdown.operators import (
    AntiJoin,
    Distinct,
    Domain,
    DropDuplicates,
    Except,
    Expand,
    Filter,
    Generate,
    GroupBy,
    InnerJoin,
    Intersect,
    Limit,
    MarkJoin,
    OneRow,
    Operator,
    OuterJoin,
    RowTransform,
    ScalarSubquery,
    Scan,
    SemiJoin,
    Sort,
    Union_,
)
from symbolic.expr import TRUE, Call, Column, Expr, Literal, call, conjunction, disjunction, same
from symbolic.types import BOOLEAN, LONG
from tpch.bench.naming import Names
from tpch.bench.rewriting import Carried, Rewriter

_ROW = Column(0, "row", LONG)
_FLAG = Column(0, "matched", BOOLEAN)


class Rewritten(msgspec.Struct, frozen=True):
    """A rewritten graph: `rows` is where its output has the row numbers of each scan.

    `numbered` says which of its own scans are read with row numbers, in which column. Its
    output may hold columns that have the value of one of the original's, by the id of that
    (`equal`): keys of the group, and of its members. What is known of one is known of all, but
    optimizers do not see it through a null-safe join.
    """

    graph: OperatorGraph
    rows: dict[int, Column]
    numbered: dict[int, Column]
    equal: dict[int, tuple[Column, ...]]


def rewrite(
    graph: OperatorGraph, aggregates: str = "minimal", scans: Collection[int] | None = None
) -> Rewritten:
    """The graph with the row numbers of `scans` (all without), its output columns as they were.

    `aggregates` is the reading of min and max. Raises TpchError for an operator that the
    rewriting has no rule for.
    """
    wanted = {scan.id for scan in graph.scans()} if scans is None else scans
    rewriter = Rewriter(graph, wanted, RULES, minimal=aggregates == "minimal")
    carried = rewriter.carried(graph.root, Names())
    rewritten = OperatorGraph(rewriter.operators, carried.node)
    return Rewritten(rewritten, carried.rows, rewriter.numbered, carried.equal)


# -- operators whose rows are combinations of single rows


def _scan(rewriter: Rewriter, operator: Scan, names: Names) -> Carried:
    row = rewriter.numbers.column(_ROW)
    renamed = names(operator)
    node = rewriter.copy(replace(renamed, columns=(*renamed.columns, row)), [])
    rewriter.numbered[node] = row
    return Carried(node, {operator.id: row})


def _one_row(rewriter: Rewriter, operator: OneRow, names: Names) -> Carried:
    return Carried(rewriter.copy(operator, []), {})


def _filter(rewriter: Rewriter, operator: Filter | Generate, names: Names) -> Carried:
    below = rewriter.carried(operator.input, names)
    return Carried(rewriter.copy(names(operator), [below.node]), below.rows, below.equal)


def _row_transform(rewriter: Rewriter, operator: RowTransform, names: Names) -> Carried:
    below = rewriter.carried(operator.input, names)
    values = {a.column: a.value for a in names(operator).assignments}
    equal = {
        column.id: below.equal[value.id]
        for column, value in values.items()
        if isinstance(value, Column) and value.id in below.equal
    }
    kept = Carried(below.node, below.rows, equal)
    return Carried(rewriter.projected(below.node, values, kept.added), below.rows, equal)


def _expand(rewriter: Rewriter, operator: Expand, names: Names) -> Carried:
    below = rewriter.carried(operator.input, names)
    passing = names(operator).passing(tuple(below.rows.values()))
    return Carried(rewriter.copy(passing, [below.node]), below.rows)


def _same_rows(rewriter: Rewriter, operator: Sort | Distinct, names: Names) -> Carried:
    """An order means nothing here; of equal rows all are lineage."""
    return rewriter.carried(operator.input, names)


def _join(rewriter: Rewriter, operator: InnerJoin | OuterJoin, names: Names) -> Carried:
    """What an outer join pads has no row numbers either."""
    left, right = _sides(rewriter, operator, names)
    node = rewriter.copy(names(operator), [left.node, right.node])
    return Carried(node, {**left.rows, **right.rows}, {**left.equal, **right.equal})


def _sides(rewriter: Rewriter, operator: Any, names: Names) -> tuple[Carried, Carried]:
    return rewriter.carried(operator.left, names), rewriter.carried(operator.right, names)


# -- subqueries


def _semi_join(rewriter: Rewriter, operator: SemiJoin, names: Names) -> Carried:
    """All inner rows that match."""
    left, right = _sides(rewriter, operator, names)
    if not right.rows:
        return _with_plain(rewriter, operator, names, left, right.node)
    node = rewriter.joined(left.node, right.node, names(operator.condition))
    return Carried(node, {**left.rows, **right.rows}, left.equal)


def _anti_join(rewriter: Rewriter, operator: AntiJoin, names: Names) -> Carried:
    left = rewriter.carried(operator.left, names)
    right = rewriter.plain(operator.right, names)
    return _with_plain(rewriter, operator, names, left, right)


def _with_plain(
    rewriter: Rewriter, operator: Operator, names: Names, left: Carried, right: int
) -> Carried:
    """The operator as it is, with row numbers of the left side only."""
    return Carried(rewriter.copy(names(operator), [left.node, right]), left.rows, left.equal)


def _mark_join(rewriter: Rewriter, operator: MarkJoin, names: Names) -> Carried:
    """The inner rows that match, where there are any; that there are is the mark."""
    left, right = _sides(rewriter, operator, names)
    if not right.rows:
        return _with_plain(rewriter, operator, names, left, right.node)
    flag = rewriter.numbers.column(_FLAG)
    inner = {column: column for column in names(rewriter.graph.output(operator.right))}
    flagged = rewriter.projected(right.node, {**inner, flag: TRUE}, right.rows.values())
    node = rewriter.joined(left.node, flagged, names(operator.condition), "left")
    values: dict[Column, Expr] = {c: c for c in names(rewriter.graph.output(operator.left))}
    values[names(operator.mark)] = call("is_not_null", flag)
    partners = {scan: rewriter.numbers.column(_ROW) for scan in right.rows}
    for scan, row in right.rows.items():
        values[partners[scan]] = _where(names(operator.matches), row)
    return Carried(
        rewriter.projected(node, values, left.added), {**left.rows, **partners}, left.equal
    )


def _where(matches: Expr | None, row: Column) -> Expr:
    """The row number where the inner row is a match, not one that NOT IN's NULL rule has marked."""
    return row if matches is None else Call("case", (matches, row, Literal(None, LONG)), LONG)


def _domain(rewriter: Rewriter, operator: Domain, names: Names) -> Carried:
    """The outer rows are joined with what is computed for these values; here they are none."""
    return Carried(rewriter.plain(operator.id, names), {})


def _scalar_subquery(rewriter: Rewriter, operator: ScalarSubquery, names: Names) -> Carried:
    """The rows that made the value, beside every row."""
    left, right = _sides(rewriter, operator, names)
    if not right.rows:
        return _with_plain(rewriter, operator, names, left, right.node)
    (value,) = names(rewriter.graph.output(operator.right))
    renamed = {names(operator.column): value}
    inner = rewriter.projected(right.node, renamed, right.rows.values())
    node = rewriter.joined(left.node, inner, TRUE, "left")
    return Carried(node, {**left.rows, **right.rows}, left.equal)


# -- groups and sets


def _group_by(rewriter: Rewriter, operator: GroupBy, names: Names) -> Carried:
    """The groups, joined back to their rows; the one group without keys may have none."""
    groups = rewriter.plain(operator.id, names)
    inner = Names(rewriter.numbers)
    members = rewriter.carried(operator.input, inner)
    keys = (same(names(key.column), inner(key.value)) for key in operator.keys)
    condition = conjunction(*keys, _contributes(rewriter, operator, names, inner))
    kind = "inner" if operator.keys else "left"
    equal = {
        names(key.column).id: (column, *members.equal.get(column.id, ()))
        for key in operator.keys
        if isinstance(column := inner(key.value), Column)
    }
    return Carried(rewriter.joined(groups, members.node, condition, kind), members.rows, equal)


def _contributes(rewriter: Rewriter, operator: GroupBy, names: Names, inner: Names) -> Expr:
    """Which rows of a group are lineage: all, or those that attain a min or max.

    A NULL result is attained by the whole group: all its arguments are NULL.
    """
    calls = [aggregation.call for aggregation in operator.aggregations]
    attained = all(
        call.row.attained and call.filter is None and not call.distinct for call in calls
    )
    if not (rewriter.minimal and calls and attained):
        return TRUE
    return disjunction(
        *(same(names(a.column), inner(a.call.args[0])) for a in operator.aggregations)
    )


def _union(rewriter: Rewriter, operator: Union_, names: Names) -> Carried:
    """Row numbers of the other branches' scans are NULL."""
    inputs = [rewriter.carried(node, names) for node in operator.inputs]
    rows = {scan: rewriter.numbers.column(_ROW) for below in inputs for scan in below.rows}
    nodes, branches = [], []
    for below, branch in zip(inputs, names(operator.branches), strict=True):
        absent = {rewriter.numbers.column(_ROW): scan for scan in rows if scan not in below.rows}
        values: dict[Column, Expr] = {column: column for column in branch}
        values.update(dict.fromkeys(absent, Literal(None, LONG)))
        nodes.append(rewriter.projected(below.node, values, below.rows.values()))
        by_scan = {**below.rows, **{scan: column for column, scan in absent.items()}}
        branches.append((*branch, *(by_scan[scan] for scan in rows)))
    union = replace(
        names(operator),
        branches=tuple(branches),
        columns=(*names(operator.columns), *rows.values()),
    )
    return Carried(rewriter.copy(union, nodes), rows)


def _intersect(rewriter: Rewriter, operator: Intersect, names: Names) -> Carried:
    left, right = _sides(rewriter, operator, names)
    ours, theirs = names(operator.branches)
    node = rewriter.joined(left.node, right.node, _equal(ours, theirs))
    rows = {**left.rows, **right.rows}
    values = dict(zip(names(operator.columns), ours, strict=True))
    return Carried(rewriter.projected(node, values, rows.values()), rows)


def _except(rewriter: Rewriter, operator: Except, names: Names) -> Carried:
    """The left rows that equal a row that is left (with `all`), or none on the right."""
    left = rewriter.carried(operator.left, names)
    ours, theirs = names(operator.branches)
    if operator.all:
        other = Names(rewriter.numbers)
        right = rewriter.plain(operator.id, other)
        node = rewriter.joined(left.node, right, _equal(ours, other(operator.columns)), "semi")
    else:
        right = rewriter.plain(operator.right, names)
        node = rewriter.joined(left.node, right, _equal(ours, theirs), "anti")
    values = dict(zip(names(operator.columns), ours, strict=True))
    return Carried(rewriter.projected(node, values, left.rows.values()), left.rows)


def _limit(rewriter: Rewriter, operator: Limit | DropDuplicates, names: Names) -> Carried:
    """The rows that equal one of those taken. Whoever asks for an output row, has it already."""
    below = rewriter.carried(operator.input, names)
    if operator.id in rewriter.last:
        return below
    other = Names(rewriter.numbers)
    columns = rewriter.graph.output(operator.id)
    taken = rewriter.plain(operator.id, other)
    condition = _equal(names(columns), other(columns))
    node = rewriter.joined(below.node, taken, condition, "semi")
    return Carried(node, below.rows, below.equal)


def _equal(left: Sequence[Column], right: Sequence[Column]) -> Expr:
    return conjunction(*(same(one, other) for one, other in zip(left, right, strict=True)))


RULES: dict[type[Operator], Callable[[Rewriter, Any, Names], Carried]] = {
    Scan: _scan,
    OneRow: _one_row,
    Filter: _filter,
    RowTransform: _row_transform,
    Expand: _expand,
    Generate: _filter,
    InnerJoin: _join,
    OuterJoin: _join,
    SemiJoin: _semi_join,
    AntiJoin: _anti_join,
    MarkJoin: _mark_join,
    ScalarSubquery: _scalar_subquery,
    GroupBy: _group_by,
    Distinct: _same_rows,
    Domain: _domain,
    DropDuplicates: _limit,
    Union_: _union,
    Intersect: _intersect,
    Except: _except,
    Sort: _same_rows,
    Limit: _limit,
}
"""Operator class: its rewriting."""
