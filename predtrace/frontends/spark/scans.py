"""Leaves: file relations as scans, and the single row of a SELECT without FROM."""

from __future__ import annotations

from predtrace.errors import UnsupportedOperatorError
from predtrace.frontends.spark.catalyst import origin_of, place
from predtrace.frontends.spark.collations import column_type
from predtrace.frontends.spark.registry import translates
from predtrace.frontends.spark.sources import read_relation
from predtrace.frontends.spark.translation import Prepared, Translated, Translation
from pushdown import operators as ops


@translates("LogicalRelation", "DataSourceV2Relation", "DataSourceV2ScanRelation", to="Scan")
def _scan(translation: Translation, prepared: Prepared) -> Translated:
    node = prepared.node
    attributes = node.expressions("output")
    leaf = translation.leaves.take(attributes[0].expr_id if attributes else -1)
    relation = read_relation(node, leaf)
    columns = tuple(
        translation.column(
            attribute.expr_id,
            attribute.name,
            column_type(attribute, relation.name),
            bool(attribute.fields["nullable"]),
        )
        for attribute in attributes
    )
    if any(column.name == "_metadata" for column in columns):
        raise UnsupportedOperatorError(
            f"the hidden column _metadata of {relation.name} cannot be traced; "
            f"leave it out{place(node.handle)}"
        )
    translation.book.enter(translation.next_node, relation, columns)
    scan = ops.Scan(
        id=translation.next_node,
        table=relation.name,
        # Scans are numbered when all are known: occurrences count in plan order.
        occurrence=leaf.number,
        columns=columns,
        alias=leaf.alias,
        origin=origin_of(node.handle),
    )
    translation.leaf_handles[scan.id] = node.handle
    added = translation.add(scan, translation.same_node(node))
    return Translated(added, tuple((translation.expr_ids[c.id], c) for c in columns))


@translates("OneRowRelation", to="OneRow")
def _one_row(translation: Translation, prepared: Prepared) -> Translated:
    operator = ops.OneRow(id=translation.next_node)
    return Translated(translation.add(operator, translation.same_node(prepared.node)), ())
