"""Table functions of users in Python, also those called for each row of a table (LATERAL).

If the function's class shows that it keeps no state, a row comes from the input row that it stands
beside: the input's columns are the keys of a program over groups, each of them the rows equal to
one. Of another, as of a program over a table, only the run knows what its rows came from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from predtrace.environment.table_functions import keeps_no_state
from predtrace.errors import UnsupportedOperatorError
from predtrace.frontends.spark.catalyst import JavaObject, option, origin_of, place
from predtrace.frontends.spark.collations import value_type
from predtrace.frontends.spark.expressions.python_functions import function_bytes
from predtrace.frontends.spark.pass_through import build_of
from predtrace.frontends.spark.rewriting import PlanRewriter
from predtrace.frontends.spark.translation import Build, Prepared, Translated, Translation
from predtrace.frontends.spark.tree import Node, read_tree
from pushdown.operators import Assignment, Domain, GroupKey, Opaque, RowTransform
from symbolic.types import comparable

TABLE_FUNCTION = "PythonUDTF"
"""The class of calls of table functions in Python."""
_LATERAL = "LateralJoin"


@dataclass
class TableFunctionRewriter(PlanRewriter):
    """Puts table functions that are called for each row of a table above that table.

    `joins` has the lateral joins that they were, by the id of their first column: only Spark knows
    how often it calls a function for equal rows.
    """

    joins: dict[int, JavaObject] = field(default_factory=dict)

    def holds(self, tree: Node) -> bool:
        """See `PlanRewriter.holds`."""
        return any(node.cls == _LATERAL or _LATERAL in str(node.fields) for node in tree.walk())

    def changed(self, node: Node, plan: JavaObject) -> JavaObject:
        """The generator over the outer rows, in the place of an inner lateral join."""
        if node.cls != _LATERAL:
            return plan
        inner = read_tree(plan.right().plan())
        generator = inner.expression("generator") if inner.cls == "Generate" else None
        plain = str(plan.joinType().toString()) == "Inner" and option(plan.condition()) is None
        if generator is None or generator.cls != TABLE_FUNCTION or not plain:
            return plan
        if inner.children[0].cls != "OneRowRelation":
            return plan
        outer = {each: each.handle.e() for each in generator.walk() if each.cls == "OuterReference"}
        fields = {"generator": self.builder.expression(generator, outer)}
        made = self.builder.with_expressions(inner, {}, {}, given=fields)
        self.joins[inner.expressions("generatorOutput")[0].expr_id] = plan
        return self.builder.with_children(made, [plan.left()])


def table_function(translation: Translation, prepared: Prepared, generator: Node) -> Translated:
    """The rows of a table function beside those of its input."""
    (below,) = prepared.inputs
    node = prepared.node
    attributes = prepared.many("generatorOutput")
    columns = tuple(
        translation.column(each.expr_id, each.name, value_type(each, each.fields["dataType"]))
        for each in attributes
    )
    passed = [
        (expr_id, translation.column(expr_id, column.name, column.type, column.nullable), column)
        for expr_id, column in below.output
    ]
    sent = function_bytes(translation.builder.jvm, generator.handle.func())
    grouped = all(comparable(column.type) for _, column in below.output) and keeps_no_state(sent)
    if not grouped and _reads_domain(translation, below.node):
        raise UnsupportedOperatorError(
            f"the table function {generator.fields['name']} may keep state, and this join calls it "
            "for values of outer rows; use CROSS JOIN LATERAL, or write its result to Parquet and "
            f"read that{place(generator.handle)}"
        )
    operator = Opaque(
        id=translation.next_node,
        inputs=(below.node,),
        name=str(generator.fields["name"]),
        columns=columns if grouped else (*(new for _, new, _ in passed), *columns),
        keys=tuple(GroupKey(new, (old,)) for _, new, old in passed) if grouped else (),
        grouped=grouped,
        origin=origin_of(node.handle),
    )
    added = translation.add(operator, _build(translation, prepared), (below.node,))
    output = [(expr_id, new) for expr_id, new, _ in passed]
    output += [(each.expr_id, column) for each, column in zip(attributes, columns, strict=True)]
    if not grouped:
        return Translated(added, tuple(output))
    # The keys come last in the operator, and first in the plan.
    ordered = RowTransform(
        id=translation.next_node,
        input=added,
        assignments=tuple(Assignment(column, column) for _, column in output),
        origin=origin_of(node.handle),
    )
    top = translation.add(ordered, lambda plans: plans[0], (added,))
    return Translated(top, tuple(output))


def _reads_domain(translation: Translation, node: int) -> bool:
    """Whether rows of an operator are made of values of outer rows, which have no lineage."""
    waiting = [node]
    while waiting:
        operator = translation.operators[waiting.pop()]
        if isinstance(operator, Domain):
            return True
        waiting.extend(operator.inputs)
    return False


def _build(translation: Translation, prepared: Prepared) -> Build:
    builder = translation.builder
    first = prepared.many("generatorOutput")[0].expr_id
    join = translation.table_functions.get(first)
    if join is None:
        return build_of(translation, prepared)

    def build(plans: Sequence[JavaObject]) -> JavaObject:
        return builder.with_children(join, plans)

    return build
