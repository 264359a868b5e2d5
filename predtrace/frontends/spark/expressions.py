"""Catalyst expressions as expressions of the IR.

`functions_table.SCALAR` covers plain functions. The readers here cover expressions that are more
than a function of their children.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec.structs import replace

from predtrace.errors import NonDeterministicError, UnsupportedOperatorError
from predtrace.frontends.spark import functions_table as table
from predtrace.frontends.spark.carrying import Carrier, NotCarried, inherits
from predtrace.frontends.spark.catalyst import class_name, place
from predtrace.frontends.spark.collations import value_type
from predtrace.frontends.spark.datatypes import data_type
from predtrace.frontends.spark.literals import read_array, read_literal
from predtrace.frontends.spark.tree import Node, read_tree
from predtrace.jobs.model import EngineSettings
from symbolic import types as t
from symbolic.expr import Call, Column, Expr, Lambda, Literal, Variable, conjunction, walk
from symbolic.functions import FUNCTIONS, TRY_FORMS, Nulls, row_of, shown

Reader = Callable[["ExpressionReader", Node], Expr]


@dataclass
class ExpressionReader:
    """Reads expressions over the columns in `scope` (by Catalyst's expression id).

    `replaced` has the column that stands for a node: an aggregate or group key above its GroupBy,
    or a subquery that has become an operator below. `carrier` proves functions without a row of
    their own; without it, they are refused.
    """

    settings: EngineSettings
    scope: Mapping[int, Column]
    replaced: Mapping[Node, Column] = field(default_factory=dict)
    carrier: Carrier | None = None
    _copies: dict[Node, Column] = field(default_factory=dict)
    _shared: dict[str, Expr] = field(default_factory=dict)
    _variables: dict[int, Variable] = field(default_factory=dict)

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
            # pipeline # that ran. But the order of a sum's rows has no effect only if the sum does
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
        tree = read_tree(node.handle.replacement())
        # The replacement has its arguments again, as other nodes for the same JVM expressions.
        for original in node.walk():
            if (column := self._stands_for(original)) is not None:
                self._copies |= dict.fromkeys(_copies(original, tree), column)
        return self.read(tree)

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
            raise UnsupportedOperatorError(
                f"{_shown_name(node)} around {shown(part.function)} cannot be traced; "
                f"compute its arguments in a subquery of FROM{place(node.handle)}"
            )


def refusal(
    node: Node, reason: str | None = None
) -> UnsupportedOperatorError | NonDeterministicError:
    """The error for an expression that cannot be traced."""
    name = _shown_name(node)
    if node.cls in table.NON_DETERMINISTIC or not node.handle.deterministic():
        return NonDeterministicError(
            f"function {name} (Catalyst: {node.cls}) need not give the same value again; "
            f"compute it before, write the result to Parquet and read that{_place(node)}"
        )
    why = table.UNSUPPORTED.get(node.cls, reason or "it is not known to predtrace")
    return UnsupportedOperatorError(
        f"function {name} (Catalyst: {node.cls}) cannot be traced: {why}{_place(node)}"
    )


def _place(node: Node) -> str:
    """The place of an expression, or of the nearest enclosing expression whose place is known."""
    found = place(node.handle)
    while not found and node.above is not None:
        node = node.above
        found = place(node.handle)
    return found


def _shown_name(node: Node) -> str:
    """The name by which a user knows an expression; for a call of an evaluator, the evaluator's."""
    if node.is_subquery:
        return "subquery"
    if node.cls in ("Invoke", "StaticInvoke"):
        called = str(node.handle.toString())
        evaluator = re.match(r"(?:static_)?invoke\((\w+?)(?:Evaluator)?[(.]", called)
        name = evaluator[1] if evaluator else called
        return _EVALUATORS.get(name, re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower())
    return str(node.handle.prettyName())


_EVALUATORS = {"StructsToJson": "to_json"}
"""Functions that Spark replaces by a call of an evaluator with another name."""


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


def made(function: str, *args: Expr) -> Call:
    """A call of a function; the function table has its result type and NULLs."""
    row = FUNCTIONS[function]
    assert row.type is not None, function
    nullable = not row.nulls.only_from_nulls or any(map(_may_be_null, args))
    return Call(function, args, row.type, nullable and row.nulls is not Nulls.NEVER_NULL)


def _may_be_null(expr: Expr) -> bool:
    return expr.value is None if isinstance(expr, Literal) else expr.nullable


class Reads(NamedTuple):
    """What a class is read as: a function of the table, if it is one, and a description."""

    function: str | None
    says: str


READERS: dict[str, Reader] = {}
"""Expression classes that have a reader of their own."""
READS: dict[str, Reads] = {}
"""What each such class is read as."""


def _reads(
    *classes: str, function: str | None, says: str | None = None
) -> Callable[[Reader], Reader]:
    """Register a reader for Catalyst classes."""

    def register(reader: Reader) -> Reader:
        READERS.update(dict.fromkeys(classes, reader))
        READS.update(dict.fromkeys(classes, Reads(function, says or function or "")))
        return reader

    return register


def _function_of(node: Node) -> str:
    function = READS[node.cls].function
    assert function is not None
    return function


@_reads("AttributeReference", function=None, says="column")
def _column(reader: ExpressionReader, node: Node) -> Expr:
    if node.expr_id in reader.scope:
        return reader.scope[node.expr_id]
    raise UnsupportedOperatorError(
        f"the column {node.name} comes from outside its operator's input "
        f"(metadata columns and some correlated subqueries do); select it by a plain join or "
        f"from a source{place(node.handle)}"
    )


@_reads("Literal", function="make_array", says="literal; make_array for arrays")
def _literal(_: ExpressionReader, node: Node) -> Expr:
    kind = value_type(node, node.fields["dataType"])
    return read_array(node, kind) if isinstance(kind, t.Array) else read_literal(node)


@_reads("RaiseError", function=None, says="NULL: a job that ran did not come to it")
def _raise_error(reader: ExpressionReader, node: Node) -> Expr:
    return Literal(None, value_type(node, json.loads(node.handle.dataType().json())))


@_reads("SparkVersion", function=None, says="literal")
def _version(reader: ExpressionReader, node: Node) -> Expr:
    return Literal(str(node.handle.replacement().eval(None).toString()), t.STRING)


@_reads("Alias", function=None, says="its expression")
def _alias(reader: ExpressionReader, node: Node) -> Expr:
    return reader.read(node.children[0])


@_reads("And", function="and")
@_reads("Or", function="or")
def _connective(reader: ExpressionReader, node: Node) -> Expr:
    # Flattened with a stack: long OR lists nest as deep as they are long.
    terms: list[Expr] = []
    stack = [node]
    while stack:
        current = stack.pop()
        if current.cls == node.cls:
            stack.extend(reversed(current.children))
        else:
            terms.append(reader.read(current))
    return made(_function_of(node), *terms)


@_reads("Cast", function="cast")
def _cast(reader: ExpressionReader, node: Node) -> Expr:
    kind = value_type(node, node.fields["dataType"])
    arg = reader.read(node.children[0])
    if arg.type == kind:
        return arg
    # Every mode reads text as the same date or time, if it does not fail.
    parsed = isinstance(arg.type, t.String) and isinstance(kind, (t.Date, t.Timestamp))
    function = "cast" if parsed else reader.in_mode(node, "cast", kind)
    return Call(function, (arg,), kind, bool(node.handle.nullable()))


@_reads("Collate", "CollationCast", function=None, says="its string, if plain")
def _collate(reader: ExpressionReader, node: Node) -> Expr:
    arg = reader.read(node.children[0])
    made = reader.asked(node, "cast", (arg,))
    return arg if made.type == arg.type else made


@_reads("Collation", function=None, says="literal, for a plain string")
def _collation(reader: ExpressionReader, node: Node) -> Expr:
    reader.read(node.children[0])
    return reader.seen_through(node)


@_reads("Like", function="like")
def _like(reader: ExpressionReader, node: Node) -> Expr:
    escape = Literal(str(node.handle.escapeChar()), t.STRING)
    return made("like", *reader.arguments(node), escape)


@_reads("CaseWhen", function="case")
def _case(reader: ExpressionReader, node: Node) -> Expr:
    args = reader.arguments(node)
    if len(args) % 2 == 0:
        args = (*args, Literal(None, args[1].type))
    return reader.asked(node, "case", args)


@_reads("If", function="case")
def _if(reader: ExpressionReader, node: Node) -> Expr:
    return reader.asked(node, "case", reader.arguments(node))


@_reads("NaNvl", function="case", says="case over is_nan")
def _nan_value(reader: ExpressionReader, node: Node) -> Expr:
    value, other = reader.arguments(node)
    return reader.asked(node, "case", (made("is_nan", value), other, value))


@_reads("AtLeastNNonNulls", function="is_not_null", says="is_not_null and not is_nan (dropna)")
def _non_nulls(reader: ExpressionReader, node: Node) -> Expr:
    if node.fields["n"] != len(node.children):
        raise refusal(node)
    terms: list[Expr] = []
    for arg in reader.arguments(node):
        terms.append(made("is_not_null", arg))
        if isinstance(arg.type, t.Float):
            terms.append(made("not", made("is_nan", arg)))
    return conjunction(*terms)


@_reads("TryEval", function=None, says="its expression, if all in it is NULL where a part is")
def _try_eval(reader: ExpressionReader, node: Node) -> Expr:
    value = reader.read(node.children[0])
    calls = [part for part in walk(value) if isinstance(part, Call)]
    rows = [row_of(call.function) for call in calls]
    if all(row is not None and row.nulls.propagates for row in rows):
        # In questions a part that fails is NULL, and so is the whole.
        return value
    around = " and ".join(sorted({shown(call.function) for call in calls}))
    raise UnsupportedOperatorError(
        f"try_… around {around} cannot be traced; compute its arguments in a subquery of FROM"
        f"{place(node.handle)}"
    )


@_reads("With", function=None, says="its expression, the common parts put in")
def _with(reader: ExpressionReader, node: Node) -> Expr:
    body, *definitions = node.children
    for definition in definitions:
        reader._shared[_shared_id(definition)] = reader.read(definition.children[0])
    return reader.read(body)


@_reads("CommonExpressionRef", function=None, says="the common part")
def _shared_part(reader: ExpressionReader, node: Node) -> Expr:
    return reader._shared[_shared_id(node)]


def refers_outside(node: Node) -> bool:
    """Whether the expression uses a common part that it does not define itself."""
    used = {_shared_id(below) for below in node.walk() if below.cls == "CommonExpressionRef"}
    made = {_shared_id(below) for below in node.walk() if below.cls == "CommonExpressionDef"}
    return not used <= made


def _shared_id(node: Node) -> str:
    return str(node.handle.id().toString())


@_reads("StaticInvoke", "Invoke", function="char_pad", says="char_pad (reading CHAR columns)")
def _static_invoke(reader: ExpressionReader, node: Node) -> Expr:
    if node.fields.get("functionName") == "readSidePadding":
        return Call("char_pad", reader.arguments(node), t.STRING)
    raise refusal(node)


@_reads("GetStructField", function="get_field")
def _get_field(reader: ExpressionReader, node: Node) -> Expr:
    value = reader.read(node.children[0])
    if not isinstance(value.type, t.Record):
        raise refusal(node)
    name = value.type.fields[int(node.fields["ordinal"])].name
    return reader.asked(node, "get_field", (value, Literal(name, t.STRING)))


@_reads("GetArrayItem", "GetMapValue", function="get_item")
def _get_item(reader: ExpressionReader, node: Node) -> Expr:
    return reader.asked(node, "get_item", reader.arguments(node))


@_reads("ElementAt", function="element_at", says="element_at; get_item for maps")
def _element_at(reader: ExpressionReader, node: Node) -> Expr:
    if node.fields.get("defaultValueOutOfBound"):
        raise refusal(node)
    args = reader.arguments(node)
    function = "get_item" if isinstance(args[0].type, t.Map) else "element_at"
    return reader.asked(node, function, args)


@_reads("LambdaFunction", function=None, says="a function of elements")
def _lambda(reader: ExpressionReader, node: Node) -> Expr:
    body, *parameters = node.children
    around = dict(reader._variables)
    # Numbered by depth, so that equal functions are equal expressions.
    for parameter in parameters:
        kind = data_type(json.loads(parameter.handle.dataType().json()))
        nullable = bool(parameter.handle.nullable())
        reader._variables[parameter.expr_id] = Variable(
            len(reader._variables), parameter.name, kind, nullable
        )
    variables = tuple(reader._variables[parameter.expr_id] for parameter in parameters)
    try:
        return Lambda(variables, reader.read(body))
    finally:
        reader._variables = around


@_reads("NamedLambdaVariable", function=None, says="a function's parameter")
def _variable(reader: ExpressionReader, node: Node) -> Expr:
    return reader._variables[node.expr_id]


@_reads("CreateNamedStruct", function="make_struct")
def _make_struct(reader: ExpressionReader, node: Node) -> Expr:
    return reader.asked(node, "make_struct", reader.arguments(node)[1::2])


@_reads("Murmur3Hash", function="hash")
@_reads("XxHash64", function="xxhash64")
def _hash(reader: ExpressionReader, node: Node) -> Expr:
    if int(node.fields["seed"]) != 42:
        raise refusal(node)
    return reader.asked(node, _function_of(node), reader.arguments(node))
