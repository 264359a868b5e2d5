"""The walk over an expression: its own reader, a row of the function table, or carried by name."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from predtrace.errors import UnsupportedOperatorError
from predtrace.frontends.spark import functions_table as table
from predtrace.frontends.spark.carrying import Carrier, NotCarried, inherits
from predtrace.frontends.spark.catalyst import class_name, place
from predtrace.frontends.spark.collations import value_type
from predtrace.frontends.spark.expressions.refusals import refusal, shown_name
from predtrace.frontends.spark.expressions.registry import READERS, made
from predtrace.frontends.spark.tree import Node, read_tree
from predtrace.frontends.spark.unreadable import OpaqueExpressionError
from predtrace.jobs.model import EngineSettings
from symbolic import types as t
from symbolic.expr import Call, Column, Expr, Literal, Variable, walk
from symbolic.functions import FUNCTIONS, TRY_FORMS, shown


@dataclass
class ExpressionReader:
    """Reads expressions over the columns in `scope` (by Catalyst's expression id).

    `replaced` has the column that stands for a node: an aggregate or group key above its GroupBy,
    or a subquery that has become an operator below. `carrier` proves functions without a row of
    their own; without it, they are refused. `shared` has the common parts defined around an
    expression, `variables` the parameters of functions of elements, by expression id. The columns
    are those of the operators `below`.
    """

    settings: EngineSettings
    scope: Mapping[int, Column]
    replaced: Mapping[Node, Column] = field(default_factory=dict)
    carrier: Carrier | None = None
    shared: dict[str, Expr] = field(default_factory=dict)
    variables: dict[int, Variable] = field(default_factory=dict)
    below: tuple[int, ...] = ()
    _copies: dict[Node, Column] = field(default_factory=dict)

    def read(self, node: Node) -> Expr:
        """The expression; errors name the part that cannot be read, and its place.

        Raises UnsupportedOperatorError or NonDeterministicError.
        """
        if (column := self._stands_for(node)) is not None:
            return column
        self._check_time_zone(node)
        self.check_captured(node)
        if node.cls in READERS:
            return READERS[node.cls](self, node)
        if node.cls in table.SCALAR:
            return self._plain(node, table.SCALAR[node.cls])
        if node.cls in table.TRANSPARENT:
            return self.read(node.children[0])
        return self._replacement(node)

    def arguments(self, node: Node) -> tuple[Expr, ...]:
        """The children, read."""
        return tuple(self.read(child) for child in node.children)

    def columns_read(self, node: Node) -> tuple[Column, ...]:
        """The columns that an expression reads, whatever it makes of them.

        Raises UnsupportedOperatorError for parts that are more than functions of their arguments.
        """
        found: dict[Column, None] = {}
        waiting = [node]
        while waiting:
            part = waiting.pop()
            column = self._stands_for(part)
            if column is None and part.cls == "AttributeReference":
                read = self.read(part)
                assert isinstance(read, Column)
                column = read
            if column is not None:
                found[column] = None
                continue
            if part.is_subquery or part.cls in table.UNSUPPORTED.keys() - table.OF_VALUES:
                raise refusal(part)
            waiting.extend(reversed(part.children))
        return tuple(found)

    def asked(self, node: Node, function: str, args: tuple[Expr, ...]) -> Call:
        """A call with the type and nullability that Catalyst states."""
        kind = value_type(node, json.loads(node.handle.dataType().json()))
        return Call(function, args, kind, bool(node.handle.nullable()))

    def in_mode(self, node: Node, function: str, kind: t.DataType) -> str:
        """The function of this type for the expression's evaluation mode.

        Refuses a mode (ANSI, legacy, try; decimals) that differs from the session's.
        """
        holder = node.handle
        if "evalContext" in node.fields:
            holder = holder.evalContext()
            loses = str(bool(holder.allowDecimalPrecisionLoss())).lower()
            self._check_setting(node, table.PRECISION_LOSS, loses)
        mode = str(holder.evalMode().toString())
        expected = "ANSI" if self.settings.ansi else "LEGACY"
        if mode not in (expected, "TRY"):
            raise UnsupportedOperatorError(
                f"Catalyst expression {node.cls} is evaluated in {mode} mode, the session in "
                f"{expected} mode (spark.sql.ansi.enabled): use one mode{place(node.handle)}"
            )
        differs = isinstance(kind, t.Integer) or function == "cast"
        if mode != "TRY" or not differs or (self.settings.ansi and function != "sum"):
            # In ANSI mode the plain function fails where try_… is NULL, so they never differ in a
            # pipeline that ran. But the order of a sum's rows has no effect only if the sum does
            # not fail.
            return function
        # Without ANSI mode the other functions are NULL where they fail in ANSI mode, as in TRY
        # mode.
        return TRY_FORMS.get(function, function)

    def check_captured(self, node: Node) -> None:
        """Refuse an expression made under settings other than the recorded ones; DataFrames keep
        them."""
        for name, (key, stated) in table.CAPTURED.items():
            if name in node.fields:
                self._check_setting(node, key, stated[bool(node.fields[name])])

    def _check_setting(self, node: Node, key: str, value: str) -> None:
        recorded = self.settings.conf.get(key, value)
        if recorded != value:
            raise UnsupportedOperatorError(
                f"Catalyst expression {node.cls} was made with {key}={value}, the session has "
                f"{recorded}: make it again{place(node.handle)}"
            )

    def _plain(self, node: Node, row: table.CatalystClass) -> Expr:
        args = self.arguments(node)
        if FUNCTIONS[row.function].type is not None:
            return made(row.function, *args)
        call = self.asked(node, row.function, args)
        if row.has_mode:
            call = replace(call, function=self.in_mode(node, call.function, call.type))
        return call

    def _check_time_zone(self, node: Node) -> None:
        zone = node.fields.get("timeZoneId")
        if zone and zone != self.settings.time_zone:
            raise UnsupportedOperatorError(
                f"Catalyst expression {node.cls} uses the time zone {zone}, the session "
                f"{self.settings.time_zone}: set spark.sql.session.timeZone to {zone}"
                f"{place(node.handle)}"
            )

    def _replacement(self, node: Node) -> Expr:
        """Read a runtime-replaceable function through its replacement, or refuse it."""
        if node.cls in table.UNSUPPORTED or node.cls in table.NON_DETERMINISTIC:
            raise refusal(node)
        if self.carrier is not None and _calls_java(node):
            return self.carried(node)
        try:
            if inherits(node):
                return self.read(node.children[0])
            if _is_replaceable(node):
                return self.seen_through(node)
        except UnsupportedOperatorError:
            if self.carrier is None:
                raise
        return self.carried(node)

    def carried(self, node: Node) -> Expr:
        """A function without a row, by Spark's own name for it; refused if it does not come back.

        Arguments of a function that catches errors must not raise any: in questions what fails
        is NULL, which the function may make something of.
        """
        if self.carrier is None:
            raise refusal(node)
        arguments = self.carrier.arguments(node)
        args = tuple(self.read(argument.node) for argument in arguments)
        if any(isinstance(arg, Literal) and isinstance(arg.type, t.Opaque) for arg in args):
            raise refusal(node, "an argument is a constant of a type without literals")
        for part in node.walk():
            if part.is_subquery or part.cls in table.UNSUPPORTED:
                raise refusal(part)
        if not node.handle.deterministic():
            raise refusal(node)
        if any(part.cls == "TryEval" for part in _evaluated(node).walk()):
            _refuse_failing(node, args)
        try:
            function = self.carrier.function(node, arguments)
        except NotCarried as problem:
            raise refusal(node, f"it cannot be called by name ({problem})") from None
        return self.asked(node, function.id, args)

    def seen_through(self, node: Node) -> Expr:
        """The expression that Spark evaluates in place of a runtime-replaceable function."""
        return self.read(self._tree_of_replacement(node))

    def replacement(self, node: Node) -> Node | None:
        """What Spark evaluates in place of a runtime-replaceable function; None for another."""
        if inherits(node):
            return node.children[0]
        return self._tree_of_replacement(node) if _is_replaceable(node) else None

    def _tree_of_replacement(self, node: Node) -> Node:
        tree = read_tree(node.handle.replacement())
        # The replacement has its arguments again, as other nodes for the same JVM expressions.
        for original in node.walk():
            if (column := self._stands_for(original)) is not None:
                self._copies |= dict.fromkeys(_copies(original, tree), column)
        return tree

    def _stands_for(self, node: Node) -> Column | None:
        return self.replaced.get(node) or self._copies.get(node)


def _calls_java(node: Node) -> bool:
    """Whether Spark replaces an expression by a call of a method, which has no row.

    Reading the replacement would read the arguments once more, at every level of nested calls.
    """
    if inherits(node):
        root = node.children[0].cls
    else:
        root = class_name(node.handle.replacement()) if _is_replaceable(node) else node.cls
    return root in ("Invoke", "StaticInvoke")


def _evaluated(node: Node) -> Node:
    """What Spark evaluates in the place of an expression."""
    return read_tree(node.handle.replacement()) if _is_replaceable(node) else node


_NEVER_RAISES = """
    and or not is_null is_not_null eq nullsafe_eq lt le gt ge case coalesce upper lower trim length
    concat make_array make_struct get_field
"""
_TOTAL = frozenset(_NEVER_RAISES.split())


def _refuse_failing(node: Node, args: tuple[Expr, ...]) -> None:
    for part in (part for arg in args for part in walk(arg) if isinstance(part, Call)):
        to_text = part.function == "cast" and isinstance(part.type, t.String)
        if part.function not in _TOTAL and not to_text:
            raise OpaqueExpressionError(
                f"{shown_name(node)} around {shown(part.function)} cannot be traced; "
                f"compute its arguments in a subquery of FROM{place(node.handle)}"
            )


def _is_replaceable(node: Node) -> bool:
    cls = node.handle.getClass()
    while cls is not None:
        if any(i.getSimpleName().startswith("RuntimeReplaceable") for i in cls.getInterfaces()):
            return True
        cls = cls.getSuperclass()
    return False


def _copies(original: Node, tree: Node) -> Iterator[Node]:
    """The nodes of another tree for the same JVM expression."""
    for node in tree.walk():
        if node.cls == original.cls and node.handle.fastEquals(original.handle):
            yield node
