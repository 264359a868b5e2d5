"""Builds the additional Catalyst nodes that a run with cuts needs."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from predtrace.frontends.spark.catalyst import (
    CATALYST,
    JavaObject,
    Jvm,
    class_name,
    items,
    scala_seq,
    singleton,
)
from predtrace.frontends.spark.tree import Node, read_tree

_EXPRESSIONS = f"{CATALYST}.expressions"
_OUTPUT = 1
"""The place of the attributes among the fields of a ``LogicalRelation``."""


class Builder:
    """Builds plans and expressions in one JVM (see `builder_in`)."""

    def __init__(self, jvm: Jvm) -> None:
        self.jvm = jvm
        catalyst = jvm.org.apache.spark.sql.catalyst
        self._expressions = catalyst.expressions
        self._logical = catalyst.plans.logical
        self._plans = catalyst.plans
        self._none = jvm.scala.Option.empty()

    def new_id(self) -> JavaObject:
        """A fresh expression id."""
        return self._expressions.NamedExpression.newExprId()

    def alias(self, expression: JavaObject, name: str, expr_id: JavaObject) -> JavaObject:
        """``expression AS name`` with that id."""
        empty = scala_seq(self.jvm, [])
        return self._expressions.Alias(expression, name, expr_id, empty, self._none, empty)

    def project(self, expressions: Iterable[JavaObject], plan: JavaObject) -> JavaObject:
        """A projection."""
        return self._logical.Project(scala_seq(self.jvm, expressions), plan)

    def typed(self, relation: JavaObject, fields: Sequence[JavaObject]) -> JavaObject:
        """The relation with columns of just these types: Spark says of all that a file holds, and
        of all elements, that they may be NULL. Casts above, made for others, would not resolve.
        """
        attributes = [
            attribute.withDataType(field.dataType()).withNullability(field.nullable())
            for attribute, field in zip(items(relation.output()), fields, strict=True)
        ]
        parts = self.jvm.java.util.ArrayList()
        for place in range(relation.productArity()):
            part = relation.productElement(place)
            parts.add(scala_seq(self.jvm, attributes) if place == _OUTPUT else part)
        return relation.makeCopy(parts.toArray())

    def filter(self, terms: Sequence[JavaObject], plan: JavaObject) -> JavaObject:
        """The rows for which all terms are true."""
        condition = functools.reduce(self._expressions.And, terms)
        return self._logical.Filter(condition, plan)

    def extend(self, plan: JavaObject, column: JavaObject) -> JavaObject:
        """The plan with one more column."""
        return self.project([*items(plan.output()), column], plan)

    def union(self, plans: Sequence[JavaObject]) -> JavaObject:
        """All rows of several plans, column by column."""
        return self._logical.Union(scala_seq(self.jvm, plans), False, False)

    def type(self, name: str) -> JavaObject:
        """A simple type of Catalyst: ``StringType``."""
        return getattr(self.jvm.org.apache.spark.sql.types.DataTypes, name)

    def cast(self, value: JavaObject, data_type: JavaObject) -> JavaObject:
        """A value as another type; neither needs a time zone. NULL where there is none."""
        mode = singleton(self.jvm, f"{_EXPRESSIONS}.EvalMode").LEGACY()
        return self._expressions.Cast(value, data_type, self._none, mode)

    def as_text(self, value: JavaObject) -> JavaObject:
        """A value of a type that needs no time zone, as text."""
        return self.cast(value, self.type("StringType"))

    def constants(self, node: JavaObject, plan: JavaObject) -> JavaObject:
        """The columns of a node that adds a bigint before those of `plan`, with 0 in its place."""
        added = node.output().apply(0)
        zero = self.alias(self.zero(), added.name(), added.exprId())
        return self.project([zero, *items(plan.output())], plan)

    def distinct(self, plan: JavaObject) -> JavaObject:
        """The distinct rows of a plan."""
        return self._logical.Distinct(plan)

    def aggregate(
        self, keys: Sequence[JavaObject], results: Sequence[JavaObject], plan: JavaObject
    ) -> JavaObject:
        """An aggregation."""
        return self._logical.Aggregate(
            scala_seq(self.jvm, keys), scala_seq(self.jvm, results), plan, self._none
        )

    def windowed(
        self,
        window: JavaObject,
        expressions: Iterable[JavaObject],
        plan: JavaObject,
        by: JavaObject | None = None,
    ) -> JavaObject:
        """Another window over the same partitions, and in the same order or in that of `by`."""
        order = window.orderSpec() if by is None else scala_seq(self.jvm, [self.ascending(by)])
        return self._logical.Window(
            scala_seq(self.jvm, expressions), window.partitionSpec(), order, plan, window.hint()
        )

    def window(
        self,
        expressions: Iterable[JavaObject],
        keys: Sequence[JavaObject],
        order: Sequence[JavaObject],
        plan: JavaObject,
    ) -> JavaObject:
        """A window over partitions by keys."""
        named, by, sorted_by = (scala_seq(self.jvm, each) for each in (expressions, keys, order))
        return self._logical.Window(named, by, sorted_by, plan, self._none)

    def running_max(
        self,
        argument: JavaObject,
        keys: Sequence[JavaObject],
        order: Sequence[JavaObject],
        *,
        before: bool,
    ) -> JavaObject:
        """The greatest value among the rows up to the current one and its peers.

        Or, `before` the current one, by a bigint key. Without an order all rows count.
        """
        names = ("RangeFrame", "UnboundedPreceding", "CurrentRow", "UnboundedFollowing")
        by_range, start, here, end = (singleton(self.jvm, f"{_EXPRESSIONS}.{n}") for n in names)
        if before:
            here = singleton(self.jvm, f"{CATALYST}.parser.CatalystSqlParser").parseExpression(
                "-1L"
            )
        frame = self._expressions.SpecifiedWindowFrame(by_range, start, here if order else end)
        spec = self._expressions.WindowSpecDefinition(
            scala_seq(self.jvm, keys), scala_seq(self.jvm, order), frame
        )
        greatest = self.aggregated(self._expressions.aggregate.Max(argument))
        return self._expressions.WindowExpression(greatest, spec)

    def numbered(self, keys: Sequence[JavaObject], order: Sequence[JavaObject]) -> JavaObject:
        """The number of a row among those of equal keys, in an order."""
        number = self._expressions.RowNumber()
        spec = self._expressions.WindowSpecDefinition(
            scala_seq(self.jvm, keys), scala_seq(self.jvm, order), number.frame()
        )
        return self._expressions.WindowExpression(number, spec)

    def aggregated(self, function: JavaObject) -> JavaObject:
        """An aggregate function as an expression of a group."""
        return function.toAggregateExpression()

    def microseconds(self, time: JavaObject) -> JavaObject:
        """A time as microseconds since 1970, as Spark's own time windows count them."""
        return self._precisely(time, time.dataType(), self._long)

    def from_microseconds(self, number: JavaObject, kind: JavaObject) -> JavaObject:
        """The time of a type, of microseconds since 1970."""
        return self._precisely(number, self._long, kind)

    def _precisely(self, value: JavaObject, given: JavaObject, wanted: JavaObject) -> JavaObject:
        return self._expressions.PreciseTimestampConversion(value, given, wanted)

    @property
    def _long(self) -> JavaObject:
        return self.jvm.org.apache.spark.sql.types.DataTypes.LongType

    def struct(self, names: Sequence[str], values: Sequence[JavaObject]) -> JavaObject:
        """A struct with these fields."""
        parts = [
            part
            for name, value in zip(names, values, strict=True)
            for part in (self.constant(name), value)
        ]
        return self._expressions.CreateNamedStruct(scala_seq(self.jvm, parts))

    def named_as(self, value: JavaObject, attribute: JavaObject) -> JavaObject:
        """A value under the id, name and metadata of an attribute."""
        empty = scala_seq(self.jvm, [])
        metadata = self.jvm.scala.Some(attribute.metadata())
        return self._expressions.Alias(
            value, attribute.name(), attribute.exprId(), empty, metadata, empty
        )

    def ascending(self, key: JavaObject) -> JavaObject:
        """The sort order by an expression, NULLs first."""
        return self._expressions.SortOrder(
            key,
            singleton(self.jvm, f"{_EXPRESSIONS}.Ascending"),
            singleton(self.jvm, f"{_EXPRESSIONS}.NullsFirst"),
            scala_seq(self.jvm, []),
        )

    def ordered_by(self, spec: JavaObject, key: JavaObject) -> JavaObject:
        """A window's specification, in the order of another key."""
        order = scala_seq(self.jvm, [self.ascending(key)])
        return self._expressions.WindowSpecDefinition(
            spec.partitionSpec(), order, spec.frameSpecification()
        )

    def row_number(self, window: JavaObject) -> JavaObject:
        """The number of a row in its partition, in a window's order."""
        number = self._expressions.RowNumber()
        spec = self._expressions.WindowSpecDefinition(
            window.partitionSpec(), window.orderSpec(), number.frame()
        )
        return self._expressions.WindowExpression(number, spec)

    def taken(self, function: JavaObject, value: JavaObject, *, ignore_nulls: bool) -> JavaObject:
        """A function that takes the value of some row, made to take another value of that row.

        If it skips rows where its own argument is NULL, it gives a struct with the value, which is
        NULL only where there is no such row.
        """
        of_group = class_name(function) == "AggregateExpression"
        inner = function.aggregateFunction() if of_group else function
        argument = inner.children().apply(0)
        if ignore_nulls:
            name = singleton(self.jvm, f"{_EXPRESSIONS}.Literal").apply("taken")
            struct = self._expressions.CreateNamedStruct(scala_seq(self.jvm, [name, value]))
            present = self._expressions.IsNotNull(argument)
            value = self._expressions.If(present, struct, self.null(struct.dataType()))
        others = list(items(inner.children()))[1:]
        if class_name(inner) in ("Lag", "Lead"):
            others = [others[0], self.null(value.dataType())]
        taking = inner.withNewChildren(scala_seq(self.jvm, [value, *others]))
        if not of_group:
            return taking
        return function.withNewChildren(scala_seq(self.jvm, [taking]))

    def only_field(self, struct: JavaObject) -> JavaObject:
        """The only field of a struct."""
        return self._expressions.GetStructField(struct, 0, self._none)

    def true(self) -> JavaObject:
        """TRUE."""
        return self.jvm.org.apache.spark.sql.catalyst.expressions.Literal.TrueLiteral()

    def existence_join(self, left: JavaObject, right: JavaObject, mark: JavaObject) -> JavaObject:
        """The left rows with `mark`, an attribute: whether the right side has a row."""
        return self._logical.Join(
            left,
            right,
            self._plans.ExistenceJoin(mark),
            self._none,
            self._logical.JoinHint.NONE(),
        )

    def join(
        self, left: JavaObject, right: JavaObject, kind: JavaObject, terms: Sequence[JavaObject]
    ) -> JavaObject:
        """A join of that kind, on all of the terms."""
        condition = self.jvm.scala.Some(functools.reduce(self._expressions.And, terms))
        return self._logical.Join(left, right, kind, condition, self._logical.JoinHint.NONE())

    def joined(self, join: JavaObject, kind: JavaObject) -> JavaObject:
        """The same join with another kind."""
        return self._logical.Join(join.left(), join.right(), kind, join.condition(), join.hint())

    def blank(self, plan: JavaObject) -> JavaObject:
        """A leaf without rows that has the columns of a plan."""
        return self.relation(items(plan.output()))

    def relation(self, attributes: Iterable[JavaObject]) -> JavaObject:
        """A leaf without rows that has these columns."""
        columns, nothing = scala_seq(self.jvm, attributes), scala_seq(self.jvm, [])
        return self._logical.LocalRelation(columns, nothing, False, self._none)

    def domain_joined(self, join: JavaObject, inner: JavaObject) -> JavaObject:
        """A DomainJoin as a join with a leaf in place of the domain.

        The leaf has two rows, so that no rule takes it for a single row or none.
        """
        row = self.jvm.org.apache.spark.sql.catalyst.InternalRow.empty()
        domain = self._logical.LocalRelation(
            join.domainAttrs(), scala_seq(self.jvm, [row, row]), False, self._none
        )
        return self._logical.Join(
            domain, inner, join.joinType(), join.condition(), self._logical.JoinHint.NONE()
        )

    def constant_order(self) -> JavaObject:
        """A sort order by which all rows tie."""
        zero = self._expressions.Literal(
            0, self.jvm.org.apache.spark.sql.types.DataTypes.IntegerType
        )
        names = (f"{CATALYST}.expressions.{name}" for name in ("Ascending", "NullsFirst"))
        ascending, nulls_first = (singleton(self.jvm, name) for name in names)
        nothing = scala_seq(self.jvm, [])
        key = self._expressions.SortOrder(zero, ascending, nulls_first, nothing)
        return scala_seq(self.jvm, [key])

    def dataset(self, session: JavaObject, plan: JavaObject) -> JavaObject:
        """The Dataset of a plan in a session of the JVM; nothing is run."""
        return self.jvm.org.apache.spark.sql.classic.Dataset.ofRows(session, plan)

    def call(self, function: str, *arguments: JavaObject) -> JavaObject:
        """An expression of a class of Catalyst, with these arguments."""
        return getattr(self._expressions, function)(*arguments)

    def zero(self) -> JavaObject:
        """0 as a bigint."""
        return self._expressions.Literal.default(
            self.jvm.org.apache.spark.sql.types.DataTypes.LongType
        )

    def count(self) -> JavaObject:
        """The function ``count(*)``."""
        return self._expressions.aggregate.Count(scala_seq(self.jvm, [self.zero()]))

    def array(self, values: JavaObject, element: JavaObject) -> JavaObject:
        """An array of these values (a Seq) of a Catalyst type."""
        data = self.jvm.org.apache.spark.sql.catalyst.util.GenericArrayData(values)
        kind = self.jvm.org.apache.spark.sql.types.DataTypes.createArrayType(element)
        return self._expressions.Literal(data, kind)

    def field(self, struct: JavaObject, place: int) -> JavaObject:
        """A field of a struct, by its place."""
        return self._expressions.GetStructField(struct, place, self._none)

    def constant(self, value: int | str) -> JavaObject:
        """A constant of Catalyst's type for the value."""
        return singleton(self.jvm, f"{CATALYST}.expressions.Literal").apply(value)

    def null(self, data_type: JavaObject) -> JavaObject:
        """A NULL of a Catalyst type."""
        return self._expressions.Literal(None, data_type)

    def standing_in(
        self, stored: JavaObject, original: JavaObject, names: Mapping[int, str]
    ) -> Any:
        """`stored` under the ids, names and order of `original`'s columns.

        `names` has the stored column of each expression id. A column that is not stored is not
        needed above: a NULL takes its place, so that every reference still resolves.
        """
        found = {str(attribute.name()): attribute for attribute in items(stored.output())}
        return self.project(
            (
                self.alias(
                    found[name]
                    if (name := names.get(int(attribute.exprId().id()))) in found
                    else self.null(attribute.dataType()),
                    attribute.name(),
                    attribute.exprId(),
                )
                for attribute in items(original.output())
            ),
            stored,
        )

    def expression(self, node: Node, replaced: Mapping[Node, JavaObject]) -> JavaObject:
        """The node's expression with the nodes in `replaced` replaced."""
        if node in replaced:
            return replaced[node]
        if not any(below in replaced for below in node.walk()):
            return node.handle
        children = [self.expression(child, replaced) for child in node.children]
        return node.handle.withNewChildren(scala_seq(self.jvm, children))

    def with_children(self, plan: JavaObject, children: Iterable[JavaObject]) -> JavaObject:
        """The plan node over other children."""
        return plan.withNewChildren(scala_seq(self.jvm, children))

    def rows_of(self, node: Node, field: str) -> tuple[tuple[Node, ...], ...]:
        """The expressions of a plan node in a field that holds a Seq of Seqs.

        The plan's JSON leaves some of them out, and a call for each would take long: an expression
        over a row of them is read instead.
        """
        rows = getattr(node.handle, field)()
        return tuple(read_tree(self.call("Coalesce", row)).children for row in items(rows))

    def with_expressions(
        self,
        node: Node,
        replaced: Mapping[Node, JavaObject],
        roots: Mapping[str, Any],
        given: Mapping[str, JavaObject] | None = None,
    ) -> JavaObject:
        """The plan node with the expressions of `roots` (field: node or nodes) rebuilt.

        Fields that are `given` are taken as they are.
        """
        plan = node.handle
        arguments = self.jvm.java.util.ArrayList()
        for index in range(plan.productArity()):
            value = plan.productElement(index)
            name = str(plan.productElementName(index))
            found = roots.get(name)
            if given and name in given:
                value = given[name]
            elif isinstance(found, tuple):
                value = self._several(found, replaced)
            elif found is not None:
                rebuilt = self.expression(found, replaced)
                some = value.getClass().getName() == "scala.Some"
                value = self.jvm.scala.Some(rebuilt) if some else rebuilt
            arguments.add(value)
        return plan.makeCopy(arguments.toArray())

    def _several(self, nodes: tuple[Any, ...], replaced: Mapping[Node, JavaObject]) -> JavaObject:
        """A Seq of rebuilt expressions; tuples become Seqs of their own."""
        return scala_seq(
            self.jvm,
            (
                self._several(one, replaced)
                if isinstance(one, tuple)
                else self.expression(one, replaced)
                for one in nodes
            ),
        )


@functools.lru_cache(maxsize=4)
def builder_in(jvm: Jvm) -> Builder:
    """The builder of a JVM, made once: finding a class takes a call for each part of its name."""
    return Builder(jvm)
