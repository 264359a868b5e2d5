"""Leaves: files and the program's own rows as scans, and the row of a SELECT without FROM."""

from __future__ import annotations

from collections.abc import Sequence

from predtrace.errors import UnsupportedOperatorError
from predtrace.frontends.spark.catalyst import origin_of, place
from predtrace.frontends.spark.collations import column_type
from predtrace.frontends.spark.leaves import Leaf
from predtrace.frontends.spark.metadata import is_hidden
from predtrace.frontends.spark.program_rows import column_names, read_rows
from predtrace.frontends.spark.registry import translates
from predtrace.frontends.spark.source_book import Relation
from predtrace.frontends.spark.sources import read_relation
from predtrace.frontends.spark.translation import Prepared, Translated, Translation
from predtrace.frontends.spark.tree import Node
from predtrace.frontends.spark.variables import BROUGHT
from predtrace.jobs.declared import has_field_ids
from predtrace.jobs.model import HIDDEN
from pushdown import operators as ops

_BY_IDS = "spark.sql.parquet.fieldId.read.enabled"


@translates("LogicalRelation", "DataSourceV2Relation", "DataSourceV2ScanRelation", to="Scan")
def _scan_of_files(translation: Translation, prepared: Prepared) -> Translated:
    node = prepared.node
    attributes = node.expressions("output")
    leaf = translation.leaves.take_of(attributes)
    relation = read_relation(node, leaf, translation.read)
    _check_ids(translation, node, relation)
    names = [attribute.name for attribute in attributes]
    if HIDDEN in names and not is_hidden(node, names.index(HIDDEN)):
        raise UnsupportedOperatorError(
            f"the column {HIDDEN} of {relation.names[0]} cannot be traced: it hides the column "
            f"by which rows are numbered; rename it in the files{place(node.handle)}"
        )
    return _scan(translation, node, leaf, relation, names)


def _check_ids(translation: Translation, node: Node, relation: Relation) -> None:
    """Refuse columns that are found by id: Spark's own filters on such files lose rows."""
    by_ids = translation.settings.conf.get(_BY_IDS) == "true" and relation.format == "parquet"
    if by_ids and has_field_ids(str(node.handle.schema().json())):
        raise UnsupportedOperatorError(
            f"{relation.names[0]} is read by field ids ({_BY_IDS}=true), and Spark loses rows when "
            f"it filters such files: read it by names, or write it to Parquet{place(node.handle)}"
        )


@translates(*BROUGHT, to="Scan")
def _scan_of_rows(translation: Translation, prepared: Prepared) -> Translated:
    node = prepared.node
    attributes = node.expressions("output")
    leaf = translation.leaves.take_of(attributes)
    relation = read_rows(node, leaf, translation.variables)
    names = column_names([attribute.name for attribute in attributes])
    return _scan(translation, node, leaf, relation, names)


def _scan(
    translation: Translation, node: Node, leaf: Leaf, relation: Relation, names: Sequence[str]
) -> Translated:
    """The scan of what a leaf reads; `names` are its columns' names in the source."""
    called = relation.names[0] if relation.names else "the program's rows"
    columns = tuple(
        translation.column(
            attribute.expr_id,
            name,
            column_type(attribute, called),
            bool(attribute.fields["nullable"]),
        )
        for attribute, name in zip(node.expressions("output"), names, strict=True)
    )
    stored = tuple(column for column in columns if column.name != HIDDEN)
    translation.book.enter(translation.next_node, relation, stored)
    scan = ops.Scan(
        id=translation.next_node,
        table=called,
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
