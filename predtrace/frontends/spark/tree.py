"""Catalyst trees, read from their JSON form; the JVM node behind each node is fetched on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from predtrace.frontends.spark.catalyst import JavaObject, read_json

LATERAL = "LateralSubquery"
"""The class of a lateral join's subquery: a FROM item that is an expression of the join."""


@dataclass(eq=False)
class Node:
    """One plan or expression node: its simple class name, constructor fields, and children.

    `handle` is the node in the JVM; finding it once takes a few calls. `locate` finds the handle of
    the tree's root; other handles are children of the node `above`, by their `place`.
    """

    cls: str
    fields: dict[str, Any]
    locate: Callable[[], JavaObject]
    children: tuple[Node, ...] = ()
    above: Node | None = None
    place: int = 0
    _handle: JavaObject = None

    @property
    def handle(self) -> JavaObject:
        """The JVM node, found from the nearest known node above."""
        below: list[Node] = []
        node = self
        while node._handle is None and node.above is not None:
            below.append(node)
            node = node.above
        if node._handle is None:
            node._handle = node.locate()
        for each in reversed(below):
            node, each._handle = each, node._child_handles.apply(each.place)
        return self._handle

    @cached_property
    def _child_handles(self) -> JavaObject:
        return self.handle.children()

    def walk(self) -> Iterator[Node]:
        """This node and all below, parents first, without the plans inside expressions."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    def expression(self, field: str) -> Node | None:
        """The expression in a field; None for an empty Option."""
        flat = self.fields.get(field)
        if not flat:
            return None

        def find() -> JavaObject:
            value = getattr(self.handle, field)()
            return value.get() if value.getClass().getName() == "scala.Some" else value

        return _read(flat, find)

    def expressions(self, field: str) -> tuple[Node, ...]:
        """The expressions in a field that holds a Seq."""

        def find(index: int) -> JavaObject:
            return getattr(self.handle, field)().apply(index)

        return tuple(
            _read(flat, partial(find, index))
            for index, flat in enumerate(self.fields.get(field) or [])
        )

    def expression_fields(self) -> Iterator[str]:
        """The fields that hold expressions: one, or a Seq of them."""
        for name, value in self.fields.items():
            if name != "plan" and isinstance(value, list) and value:
                first = value[0][0] if isinstance(value[0], list) and value[0] else value[0]
                if isinstance(first, dict) and "num-children" in first:
                    yield name

    def roots(self) -> dict[str, Node | tuple[Node, ...]]:
        """The expressions of a plan node by field: one, or a Seq of them. A leaf has none."""
        found: dict[str, Node | tuple[Node, ...]] = {}
        for name in self.expression_fields() if self.children else ():
            if isinstance(self.fields[name][0], list):
                found[name] = self.expressions(name)
            elif (one := self.expression(name)) is not None:
                found[name] = one
        return found

    def all_expressions(self) -> Iterator[Node]:
        """The roots of all expressions of a plan node, in the order of its fields."""
        for found in self.roots().values():
            yield from found if isinstance(found, tuple) else (found,)

    @property
    def is_subquery(self) -> bool:
        """Whether this expression holds a plan."""
        return "plan" in self.fields

    @property
    def expr_id(self) -> int:
        """The id of an attribute or alias."""
        return int(self.fields["exprId"]["id"])

    @property
    def name(self) -> str:
        """The name of an attribute or alias."""
        return str(self.fields["name"])

    def subplan(self) -> Node:
        """The plan inside a subquery expression."""
        return _read(self.fields["plan"], lambda: self.handle.plan())


def read_tree(handle: JavaObject) -> Node:
    """The JVM tree as nodes; a handful of calls into the JVM."""
    return _read(read_json(handle), lambda: handle)


def _read(flat: list[dict[str, Any]], locate: Callable[[], JavaObject]) -> Node:
    # Preorder with counts: build from the back, where all children are already on a stack. Handles
    # are bound afterwards, from the parent that is then known.
    stack: list[Node] = []
    for record in reversed(flat):
        fields = dict(record)
        cls = fields.pop("class").rsplit(".", 1)[-1].rstrip("$")
        count = fields.pop("num-children")
        node = Node(cls, fields, locate)
        node.children = tuple(stack.pop() for _ in range(count))
        for index, child in enumerate(node.children):
            child.above, child.place = node, index
        stack.append(node)
    return stack[-1]
