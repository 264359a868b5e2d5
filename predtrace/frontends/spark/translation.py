"""The state of one translation: its operators, and the builders of their plans in the JVM."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from predtrace.errors import UnsupportedOperatorError
from predtrace.frontends.spark.building import Builder
from predtrace.frontends.spark.carrying import Carrier
from predtrace.frontends.spark.catalyst import JavaObject, origin_of, place
from predtrace.frontends.spark.expressions import ExpressionReader
from predtrace.frontends.spark.files_read import FilesRead
from predtrace.frontends.spark.leaves import Leaves
from predtrace.frontends.spark.normalize import Normalizer
from predtrace.frontends.spark.source_book import SourceBook
from predtrace.frontends.spark.tree import Node, read_tree
from predtrace.frontends.spark.variables import Variables
from predtrace.jobs.model import EngineSettings
from pushdown.operators import (
    Assignment,
    MarkJoin,
    Operator,
    ScalarSubquery,
)
from symbolic.expr import TRUE, Column, Expr
from symbolic.types import BOOLEAN, DataType

Build = Callable[[Sequence[JavaObject]], JavaObject]
"""Builds an operator's Catalyst plan from the plans of its inputs."""


@dataclass(frozen=True)
class Translated:
    """A translated plan: its operator, and its output in order, with Catalyst's ids."""

    node: int
    output: tuple[tuple[int, Column], ...]

    @property
    def scope(self) -> dict[int, Column]:
        """The columns by Catalyst's expression id."""
        found: dict[int, Column] = {}
        for expr_id, column in self.output:
            found.setdefault(expr_id, column)
        return found


@dataclass
class Prepared:
    """A plan node ready for translation: its inputs, and the replacements of its subqueries.

    `roots` holds the node's expressions by field.
    """

    node: Node
    inputs: tuple[Translated, ...]
    roots: dict[str, Node | tuple[Node, ...]]
    replaced: dict[Node, Column] = field(default_factory=dict)
    attributes: dict[Node, JavaObject] = field(default_factory=dict)

    def one(self, name: str) -> Node | None:
        """The expression of a field; None for an empty Option."""
        found = self.roots.get(name)
        return None if isinstance(found, tuple) else found

    def many(self, name: str) -> tuple[Node, ...]:
        """The expressions of a field that holds a Seq."""
        found = self.roots.get(name, ())
        return found if isinstance(found, tuple) else ()


@dataclass
class Translation:
    """The operators and columns made so far; ids count up from 0."""

    builder: Builder
    normalizer: Normalizer
    settings: EngineSettings
    leaves: Leaves
    carrier: Carrier
    variables: Variables
    read: FilesRead | None = None
    """What the executed scans read, of a pipeline that ran without us."""
    book: SourceBook = field(default_factory=SourceBook)
    operators: list[Operator] = field(default_factory=list)
    builds: list[Build] = field(default_factory=list)
    expr_ids: dict[int, int] = field(default_factory=dict)
    """Catalyst's expression id of each column."""
    table_functions: dict[int, JavaObject] = field(default_factory=dict)
    """The lateral joins that table functions were: see `TableFunctionRewriter`."""
    leaf_handles: dict[int, JavaObject] = field(default_factory=dict)
    leaf_numbers: dict[int, int] = field(default_factory=dict)
    shared: dict[int, Translated] = field(default_factory=dict)
    """The common table expressions that are computed once, by Catalyst's id."""
    _output: list[tuple[Column, ...]] = field(default_factory=list)
    _columns: int = 0

    def column(self, expr_id: int, name: str, kind: DataType, nullable: bool = True) -> Column:
        """A new column."""
        column = Column(self._columns, name, kind, nullable)
        self._columns += 1
        self.expr_ids[column.id] = expr_id
        return column

    @property
    def next_node(self) -> int:
        """The id that the next operator must have."""
        return len(self.operators)

    def add(self, operator: Operator, build: Build, inputs: Sequence[int] = ()) -> int:
        """Add an operator, whose id is `next_node`, and its builder in the JVM."""
        self.operators.append(operator)
        self.builds.append(build)
        self._output.append(operator.output(*(self._output[i] for i in inputs)))
        return operator.id

    def output_of(self, node: int) -> tuple[Column, ...]:
        """The output columns of an operator."""
        return self._output[node]

    def wrap(self, node: int, outer: JavaObject) -> None:
        """Put the operator's plan under `outer`, a node that only passes rows on."""
        build = self.builds[node]
        builder = self.builder
        self.builds[node] = lambda plans: builder.with_children(outer, [build(plans)])

    def same_node(self, node: Node) -> Build:
        """The builder of an operator that is one Catalyst node."""
        builder, handle = self.builder, node.handle
        return lambda plans: builder.with_children(handle, plans) if plans else handle

    def reader(self, *inputs: Translated, replaced: Mapping[Node, Column]) -> ExpressionReader:
        """Reads expressions over the inputs' columns."""
        scope: dict[int, Column] = {}
        for each in inputs:
            scope.update(each.scope)
        below = tuple(each.node for each in inputs)
        return ExpressionReader(self.settings, scope, replaced, self.carrier, below=below)

    def normalized(self, plan: JavaObject) -> Node:
        """The normalised plan, as a tree."""
        return read_tree(self.normalizer.normalize(plan))


def join_output(
    translation: Translation, node: int, *inputs: Translated
) -> tuple[tuple[int, Column], ...]:
    """The output of an operator that passes its inputs' columns on, ids kept."""
    expr_ids = [expr_id for each in inputs for expr_id, _ in each.output]
    return tuple(zip(expr_ids, translation.output_of(node), strict=False))


def pull_out_subqueries(
    translation: Translation,
    prepared: Prepared,
    translate: Callable[[Node], Translated],
) -> None:
    """Turn uncorrelated scalar subqueries and EXISTS of a node into operators below it.

    They add a column to the first input; `replaced` and `attributes` then have the stand-ins of the
    subquery expression.
    """
    roots = [
        root
        for found in prepared.roots.values()
        for root in (found if isinstance(found, tuple) else (found,))
    ]
    for expr in (below for root in roots for below in root.walk()):
        if not expr.is_subquery:
            continue
        if expr.cls not in ("ScalarSubquery", "Exists") or expr.children or not prepared.inputs:
            raise UnsupportedOperatorError(
                f"a correlated subquery at this place (Catalyst: {expr.cls} in "
                f"{prepared.node.cls}) cannot be traced; write it as a join{place(expr.handle)}"
            )
        inner = translate(translation.normalized(expr.handle.plan()))
        add = _add_scalar if expr.cls == "ScalarSubquery" else _add_mark
        first, *rest = prepared.inputs
        prepared.inputs = (add(translation, prepared, expr, first, inner), *rest)


def _add_scalar(
    translation: Translation, prepared: Prepared, expr: Node, left: Translated, right: Translated
) -> Translated:
    builder = translation.builder
    expr_id = builder.new_id()
    value = right.output[0][1]
    name = f"scalar_subquery({value.name})"
    column = translation.column(int(expr_id.id()), name, value.type)

    def build(plans: Sequence[JavaObject]) -> JavaObject:
        outer, inner = plans
        return builder.extend(outer, builder.alias(expr.handle.withNewPlan(inner), name, expr_id))

    operator = ScalarSubquery(
        id=translation.next_node,
        left=left.node,
        right=right.node,
        column=column,
        origin=origin_of(expr.handle),
    )
    node = translation.add(operator, build, (left.node, right.node))
    return _helped(translation, prepared, expr, left, node, column, expr_id)


def _add_mark(
    translation: Translation, prepared: Prepared, expr: Node, left: Translated, right: Translated
) -> Translated:
    builder = translation.builder
    expr_id = builder.new_id()
    column = translation.column(int(expr_id.id()), "exists", BOOLEAN, nullable=False)
    mark = builder.alias(expr.handle, "exists", expr_id).toAttribute()
    operator = MarkJoin(
        id=translation.next_node,
        left=left.node,
        right=right.node,
        condition=TRUE,
        mark=column,
        origin=origin_of(expr.handle),
    )
    node = translation.add(
        operator,
        lambda plans: builder.existence_join(plans[0], plans[1], mark),
        (left.node, right.node),
    )
    return _helped(translation, prepared, expr, left, node, column, expr_id)


def _helped(
    translation: Translation,
    prepared: Prepared,
    expr: Node,
    left: Translated,
    node: int,
    column: Column,
    expr_id: JavaObject,
) -> Translated:
    alias = translation.builder.alias(expr.handle, column.name, expr_id)
    prepared.replaced[expr] = column
    prepared.attributes[expr] = alias.toAttribute()
    return Translated(node, (*left.output, (int(expr_id.id()), column)))


def assign(translation: Translation, named: Node, value: Expr, used: set[int]) -> Assignment:
    """The assignment of a named expression; a column passed on keeps its id the first time."""
    passed = named.cls == "AttributeReference" and isinstance(value, Column)
    if passed and isinstance(value, Column) and value.id not in used:
        used.add(value.id)
        column = Column(value.id, named.name, value.type, value.nullable)
        return Assignment(column, value)
    column = translation.column(named.expr_id, named.name, value.type, may_be_null(value))
    return Assignment(column, value)


def may_be_null(value: Expr) -> bool:
    """Whether the expression's value can be NULL."""
    return bool(getattr(value, "nullable", getattr(value, "value", None) is None))
