"""The transformations of a query, each with its specification in Panda's language.

Select-project-join transformations have a specification that gives exactly the rows that an
output row is made of, if their output has all attributes that conditions across inputs and
computed attributes read (Ikeda, Das Sarma and Widom 2013, on the relational setting): an input
row that agrees with the output row on its own ones of these, and satisfies the conditions on that
input alone, joins with the other inputs' rows as the one did that the output row was made of.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import msgspec

from pushdown.graph import OperatorGraph
from pushdown.operators import (
    AntiJoin,
    Assignment,
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
    Opaque,
    OpaqueColumns,
    Operator,
    OuterJoin,
    RowTransform,
    Sample,
    ScalarSubquery,
    Scan,
    SemiJoin,
    Sort,
    Union_,
    Window,
)
from symbolic.expr import (
    Call,
    Column,
    Expr,
    Literal,
    column_ids,
    conjunction,
    conjuncts,
    substitute,
)
from tpch.errors import TpchError

_SUBQUERY = "a subquery is no part of a select-project-join block"
_SET = "equal rows of several inputs: attributes do not tell which one a row came from"
REFUSED: dict[type[Operator], str] = {
    SemiJoin: _SUBQUERY,
    AntiJoin: _SUBQUERY,
    MarkJoin: _SUBQUERY,
    ScalarSubquery: _SUBQUERY,
    OuterJoin: "a padded row agrees with no row of an input",
    Union_: _SET,
    Intersect: _SET,
    Except: _SET,
    Expand: "attributes do not tell by which projection a row was made",
    Generate: "attributes do not tell which of several elements a row was made of",
    Limit: "which rows a limit below other operators took is no attribute's matter",
    Domain: _SUBQUERY,
    DropDuplicates: "which of several rows was kept is no attribute's matter",
    Opaque: "no attribute tells which rows a program read",
    Sample: "which rows a sample drew is no attribute's matter",
    Window: "the rows around a row are no attribute's matter",
    OpaqueColumns: "columns that only the run knows specify nothing",
}
"""Operators that attribute mappings and filters do not specify, and why."""


class Input(msgspec.Struct, frozen=True):
    """What a transformation says of one of its inputs, the rows of node `node`.

    A row of it is traced if it satisfies `filter` and each column of `mapping` has the value
    beside it: of a column of the transformation's output (`augmented`: as it is stored), or
    a constant.
    """

    node: int
    filter: Expr
    mapping: tuple[Assignment, ...]
    augmented: bool


class Transformation(msgspec.Struct, frozen=True):
    """A block of selection, projection and join over scans, and groups, that ends in `node`.

    `outputs` are what is asked about, computed from the inputs' columns; `condition` is all
    of the block's. `stored` are the columns of the augmented output, if any input needs that.
    `below` are the transformations that groups among the inputs are made by.
    """

    node: int
    inputs: tuple[Input, ...]
    outputs: tuple[Assignment, ...]
    condition: Expr
    stored: tuple[Assignment, ...]
    below: dict[int, Transformation]

    @property
    def augmented(self) -> bool:
        """Whether its output is stored."""
        return any(each.augmented for each in self.inputs)

    def all(self) -> Iterator[Transformation]:
        """This one and those below."""
        yield self
        for other in self.below.values():
            yield from other.all()


def transformations(graph: OperatorGraph, aggregates: str) -> Transformation:
    """The query's top transformation, whose outputs are the query's, and those below it.

    `aggregates` is the reading of min and max. Raises TpchError for what the language does not
    reach.
    """
    outputs = tuple(Assignment(column, column) for column in graph.output())
    reader = _Reader(graph, minimal=aggregates == "minimal")
    return reader.block(graph.root, outputs, apart=False, top=True)


class _Block(msgspec.Struct, frozen=True):
    """Scans and groups, conditions across them, and what columns are in terms of theirs."""

    inputs: tuple[int, ...]
    conditions: tuple[Expr, ...]
    values: dict[int, Expr]


class _Reader:
    def __init__(self, graph: OperatorGraph, *, minimal: bool) -> None:
        self._graph = graph
        self._minimal = minimal

    def block(
        self, node: int, outputs: Sequence[Assignment], *, apart: bool, top: bool
    ) -> Transformation:
        """The transformation that gives `outputs`, computed from the node's columns.

        `apart`: rows are asked about without knowing whether there are any (the group of all).
        """
        block = self._flat(node, top=top)
        asked = tuple(Assignment(o.column, substitute(o.value, block.values)) for o in outputs)
        known = _Known(asked, block.conditions)
        own: dict[int, list[Expr]] = {child: [] for child in block.inputs}
        across: list[Expr] = []
        for term in block.conditions:
            about = self._input_of(block, term)
            (across if about is None else own[about]).append(term)
        read = column_ids(*across, *(assignment.value for assignment in asked))
        # Of a lone scan the filter tells whether there are rows; of anything else, its output.
        store = apart and [type(self._graph[child]) for child in block.inputs] != [Scan]
        inputs = tuple(
            self._input(child, conjunction(*own[child]), known, read, store=store)
            for child in block.inputs
        )
        mapped = (a.value for each in inputs if each.augmented for a in each.mapping)
        stored = {a.column.id: a for a in asked}
        for value in mapped:
            if isinstance(value, Column):
                stored.setdefault(value.id, Assignment(value, value))
        return Transformation(
            node=node,
            inputs=inputs,
            outputs=asked,
            condition=conjunction(*block.conditions),
            stored=tuple(stored.values()),
            below={child: found for child in block.inputs if (found := self._below(child))},
        )

    def _input(
        self, node: int, own: Expr, known: _Known, read: Collection[int], *, store: bool
    ) -> Input:
        needed = self._needed(node, read)
        told = [known(column) for column in needed]
        values = (
            known.representative(column) if value is None else value
            for column, value in zip(needed, told, strict=True)
        )
        mapping = tuple(map(Assignment, needed, values))
        return Input(node, own, mapping, augmented=store or None in told)

    def _below(self, node: int) -> Transformation | None:
        """What a group's rows are made by: asked about by its keys; None for a scan."""
        match self._graph[node]:
            case GroupBy(input=child, keys=keys) as group:
                asked = (*keys, *self._attained(group))
                return self.block(child, asked, apart=not keys, top=False)
            case Distinct(input=child):
                asked = tuple(Assignment(c, c) for c in self._graph.output(child))
                return self.block(child, asked, apart=False, top=False)
            case _:
                return None

    def _needed(self, node: int, read: Collection[int]) -> list[Column]:
        """The columns that tell an input's rows apart: of a group its keys, else those `read`."""
        columns = self._graph.output(node)
        match self._graph[node]:
            case GroupBy(keys=keys) as group:
                return [a.column for a in (*keys, *self._attained(group))]
            case Distinct():
                return list(columns)
            case _:
                return [column for column in columns if column.id in read]

    def _attained(self, group: GroupBy) -> tuple[Assignment, ...]:
        """A least or greatest value maps to its argument, if rows that attain it are meant."""
        calls = [aggregation.call for aggregation in group.aggregations]
        attained = all(
            call.row.attained and call.filter is None and not call.distinct for call in calls
        )
        if not (self._minimal and calls and attained):
            return ()
        if len(calls) > 1:
            raise TpchError("Panda: rows that attain one of several extremes are no mapping")
        return (Assignment(group.aggregations[0].column, calls[0].args[0]),)

    def _input_of(self, block: _Block, term: Expr) -> int | None:
        """The input that a condition is about alone."""
        ids = column_ids(term)
        for node in block.inputs:
            if ids <= {column.id for column in self._graph.output(node)}:
                return node
        return None

    def _flat(self, node: int, *, top: bool) -> _Block:
        operator = self._graph[node]
        if isinstance(operator, Limit) and top:
            return self._flat(operator.input, top=True)
        flatten = _FLATTENED.get(type(operator))
        if flatten is None:
            why = REFUSED.get(type(operator), "how it is specified is not known here")
            raise TpchError(f"Panda: {type(operator).__name__.rstrip('_')}: {why}")
        return flatten(self, operator, top=top)

    def leaf(self, operator: Operator, *, top: bool) -> _Block:
        return _Block((operator.id,), (), {c.id: c for c in self._graph.output(operator.id)})

    def nothing(self, operator: OneRow, *, top: bool) -> _Block:
        return _Block((), (), {})

    def sorted(self, operator: Sort, *, top: bool) -> _Block:
        return self._flat(operator.input, top=top)

    def filtered(self, operator: Filter, *, top: bool) -> _Block:
        below = self._flat(operator.input, top=False)
        terms = conjuncts(substitute(operator.condition, below.values))
        return _Block(below.inputs, (*below.conditions, *terms), below.values)

    def projected(self, operator: RowTransform, *, top: bool) -> _Block:
        below = self._flat(operator.input, top=False)
        values = {a.column.id: substitute(a.value, below.values) for a in operator.assignments}
        return _Block(below.inputs, below.conditions, values)

    def joined(self, operator: InnerJoin, *, top: bool) -> _Block:
        left, right = (self._flat(side, top=False) for side in (operator.left, operator.right))
        values = {**left.values, **right.values}
        terms = conjuncts(substitute(operator.condition, values))
        conditions = (*left.conditions, *right.conditions, *terms)
        return _Block((*left.inputs, *right.inputs), conditions, values)


_FLATTENED: Mapping[type[Operator], Callable[..., _Block]] = {
    Scan: _Reader.leaf,
    GroupBy: _Reader.leaf,
    Distinct: _Reader.leaf,
    OneRow: _Reader.nothing,
    Sort: _Reader.sorted,
    Filter: _Reader.filtered,
    RowTransform: _Reader.projected,
    InnerJoin: _Reader.joined,
}
"""Operators of a block, and what it reads, to how they take part in it."""
REACHED = frozenset(_FLATTENED)


class _Known:
    """What the asked outputs tell of the inputs' columns, also by equalities among these."""

    def __init__(self, asked: Sequence[Assignment], conditions: Sequence[Expr]) -> None:
        self._classes: dict[int, dict[int, Column]] = {}
        self._values: dict[int, Expr] = {}
        for term in conditions:
            match term:
                case Call(function="eq", args=(one, other)) if one.type == other.type:
                    self._equal(one, other)
        for assignment in asked:
            if isinstance(assignment.value, Column):
                self._values[assignment.value.id] = assignment.column

    def __call__(self, column: Column) -> Expr | None:
        """The column's value in terms of the asked columns; None if they do not tell it."""
        found = (self._values.get(number) for number in sorted(self._class(column)))
        return next((value for value in found if value is not None), None)

    def representative(self, column: Column) -> Column:
        """The same column for all that are equal."""
        members = self._class(column)
        return members[min(members)]

    def _class(self, column: Column) -> dict[int, Column]:
        return self._classes.get(column.id, {column.id: column})

    def _equal(self, one: Expr, other: Expr) -> None:
        match (one, other):
            case (Column(), Column()):
                merged = {**self._class(one), **self._class(other)}
                self._classes.update(dict.fromkeys(merged, merged))
            case (Column(), Literal()):
                self._values[one.id] = other
            case (Literal(), Column()):
                self._values[other.id] = one
