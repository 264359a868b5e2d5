"""The hidden columns of files: ``_metadata``, and the functions that tell a row's file.

Spark's functions ``input_file_name`` and its like ask the task for the file that it reads. Where
only projections and filters stand between them and the read, they have values that ``_metadata``
has, too: facts of the source row. They are replaced by these. After a shuffle, a sort or a limit
they tell nothing about the row, and are refused.

Where a block of a file begins depends on how Spark splits the file among its tasks. It is a fact
only of files that are small enough for one task, whatever their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from predtrace.errors import UnsupportedOperatorError
from predtrace.frontends.spark.building import Builder
from predtrace.frontends.spark.catalyst import JavaObject, class_name, items, place, scala_seq
from predtrace.frontends.spark.tree import Node, read_tree
from predtrace.jobs.model import HIDDEN, Source
from pushdown.graph import OperatorGraph
from pushdown.operators import Filter, Operator, RowTransform, Scan
from symbolic.expr import Call, Column, Expr, Lambda, Literal

FUNCTIONS = {
    "InputFileName": "file_path",
    "InputFileBlockStart": "file_block_start",
    "InputFileBlockLength": "file_block_length",
}
"""Expression classes that tell a row's file: the field of the hidden column with the same fact."""
_BLOCKS = ("file_block_start", "file_block_length")
_PASS_ROWS = ("Project", "Filter", "SubqueryAlias", "View")


def is_hidden(node: Node, position: int) -> bool:
    """Whether a column of a leaf, by its position, is one that Spark adds to what files hold."""
    return bool(node.handle.output().apply(position).metadata().contains("__metadata_col"))


def tell_files(plan: JavaObject, session: JavaObject, builder: Builder) -> JavaObject:
    """The plan in which the hidden columns of sources tell what functions of the task told.

    Functions that stand elsewhere stay, and are refused later: above other operators, and above
    what Spark has cached, since the rows of a cache have no file.
    """
    tree = read_tree(plan)
    made: dict[Node, JavaObject] = {}
    inside: set[Node] = set()
    for node in tree.walk():
        if node in inside or not _asks(node) or not (chain := _chain(node)):
            continue
        inside.update(chain)
        if not _is_cached(node, session, builder):
            made[node] = builder.project(items(node.handle.output()), _exposed(node, builder)[0])
    return _rebuilt(tree, made, builder) if made else plan


def _rebuilt(tree: Node, made: dict[Node, JavaObject], builder: Builder) -> JavaObject:
    for node in reversed(list(tree.walk())):
        if node not in made and any(child in made for child in node.children):
            children = [made.get(child, child.handle) for child in node.children]
            made[node] = builder.with_children(node.handle, children)
    return made.get(tree, tree.handle)


def _asks(node: Node) -> bool:
    if node.cls not in _PASS_ROWS:
        return False
    return any(below.cls in FUNCTIONS for root in node.all_expressions() for below in root.walk())


def _chain(node: Node) -> list[Node]:
    """The nodes from here down to the read of files; none if they do more than pass rows on."""
    found = [node]
    while found[-1].cls in _PASS_ROWS:
        found.append(found[-1].children[0])
    return found if found[-1].cls == "LogicalRelation" else []


def _is_cached(node: Node, session: JavaObject, builder: Builder) -> bool:
    """Whether Spark takes rows below a node from its cache."""
    below = builder.dataset(session, node.children[0].handle).queryExecution().withCachedData()
    leaves = below.collectLeaves()
    return any(class_name(leaf) == "InMemoryRelation" for leaf in items(leaves))


def _exposed(node: Node, builder: Builder) -> tuple[JavaObject, JavaObject]:
    """The plan of a chain with its source's hidden column, and this column's attribute."""
    if not node.children:
        leaf = node.handle.withMetadataColumns()
        found = [one for one in items(leaf.output()) if one.metadata().contains("__metadata_col")]
        if [str(one.name()) for one in found] != [HIDDEN]:
            raise UnsupportedOperatorError(
                f"the files of the rows of a source with a column called {HIDDEN} cannot be "
                f"traced; leave input_file_name() and its like out{place(node.handle)}"
            )
        return leaf, found[0]
    plan, hidden = _exposed(node.children[0], builder)
    roots = node.roots()
    replaced = {
        below: _fact(below.cls, hidden, builder)
        for found in roots.values()
        for root in (found if isinstance(found, tuple) else (found,))
        for below in root.walk()
        if below.cls in FUNCTIONS
    }
    outer = builder.with_expressions(node, replaced, roots) if replaced else node.handle
    if node.cls == "Project":
        return builder.project([*items(outer.projectList()), hidden], plan), hidden
    return builder.with_children(outer, [plan]), hidden


def _fact(function: str, hidden: JavaObject, builder: Builder) -> JavaObject:
    """The value of such a function by a field of the hidden column."""
    field = FUNCTIONS[function]
    ordinal = hidden.dataType().fieldIndex(field)
    value = builder.call("GetStructField", hidden, ordinal, builder.jvm.scala.Some(field))
    if function != "InputFileName":
        return value
    # The function writes the empty host of a local file, which the field may leave out.
    path = builder.call("Substring", value, builder.constant(6), builder.constant((1 << 31) - 1))
    slash = builder.jvm.scala.Some(builder.constant("/"))
    parts = [builder.constant("file:///"), builder.call("StringTrimLeft", path, slash)]
    return builder.call("Concat", scala_seq(builder.jvm, parts))


def unsplit_bytes(session: JavaObject) -> int:
    """The size up to which Spark never splits a file in a session."""
    conf = session.sessionState().conf()
    return min(int(conf.filesMaxPartitionBytes()), int(conf.filesOpenCostInBytes()))


def refuse_split_blocks(graph: OperatorGraph, sources: Iterable[Source], whole: int) -> None:
    """Raise UnsupportedOperatorError if a block is asked for of a file that may be split.

    Spark never splits files of up to `whole` bytes.
    """
    large = {
        source.name
        for source in sources
        if any(file.size > whole for file in source.files if not source.kept)
    }
    hidden = {
        column.id: scan.table
        for scan in graph.scans()
        if scan.table in large
        for column in scan.columns
        if column.name == HIDDEN
    }
    told = {column.id for column in graph.output()}
    for operator in graph.operators():
        if not isinstance(operator, (Scan, Filter, RowTransform)):
            told |= {column.id for column in graph.output(operator.id)}
        told |= {id_ for expr in _computed(operator) for id_ in _told_by(expr)}
    for id_, table in hidden.items():
        if id_ in told:
            raise UnsupportedOperatorError(
                f"where a block of {table} begins cannot be traced: it depends on how Spark splits "
                f"large files among its tasks; read other fields, such as {HIDDEN}.file_path and "
                f"{HIDDEN}.row_index"
            )


def _computed(operator: Operator) -> Iterator[Expr]:
    """The expressions of an operator, except columns that it passes on."""
    if not isinstance(operator, RowTransform):
        yield from operator.expressions
        return
    for assignment in operator.assignments:
        value = assignment.value
        if not (isinstance(value, Column) and value.id == assignment.column.id):
            yield value


def _told_by(expr: Expr) -> Iterator[int]:
    """The columns that an expression reads otherwise than by a field that is no block's."""
    stack = [expr]
    while stack:
        one = stack.pop()
        match one:
            case Column():
                yield one.id
            case Call(function="get_field", args=(Column(), Literal(value))) if (
                value not in _BLOCKS
            ):
                pass
            case Call(args=args):
                stack.extend(args)
            case Lambda(body=body):
                stack.append(body)
