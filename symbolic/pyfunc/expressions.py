"""Expressions of Python, read over the values of a function's variables."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Hashable, Mapping
from types import FunctionType, ModuleType
from typing import Any

from symbolic.expr import Expr
from symbolic.pyfunc.methods import FUNCTIONS, OF_CONSTANTS, attribute, method, regular_expression
from symbolic.pyfunc.values import (
    Const,
    Match,
    Pieces,
    Unread,
    Value,
    both,
    choice,
    either,
    expr,
    failing,
    is_none,
    negated,
    python,
    truth,
)
from symbolic.types import BOOLEAN, DOUBLE, LONG, STRING, Boolean, Date, Float, Integer, String

Env = dict[str, Value]
_COLLECTIONS = (tuple, list, set, frozenset, dict)
Calls = Callable[[FunctionType, list[Value]], Value]
"""Reads a call of another function of the user."""

_BINARY: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("add", operator.add),
    ast.Sub: ("subtract", operator.sub),
    ast.Mult: ("multiply", operator.mul),
    ast.Div: ("true_divide", operator.truediv),
    ast.FloorDiv: ("floor_divide", operator.floordiv),
    ast.Mod: ("modulo", operator.mod),
    ast.Pow: ("power", operator.pow),
}
_COMPARED: dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Lt: ("lt", operator.lt),
    ast.LtE: ("le", operator.le),
    ast.Gt: ("gt", operator.gt),
    ast.GtE: ("ge", operator.ge),
}


class Reader:
    """Reads expressions; `globals` has what names outside of the function mean."""

    def __init__(self, globals: Mapping[str, Any], calls: Calls) -> None:
        self._globals = globals
        self._calls = calls

    def read(self, node: ast.expr, env: Env) -> Value:
        """The value of an expression. Raises Unread for what is not read."""
        reads = _READS.get(type(node))
        if reads is None:
            raise Unread(f"{type(node).__name__} in line {node.lineno}")
        found: Value = reads(self, node, env)
        return found

    def constant(self, node: ast.Constant, env: Env) -> Value:
        """A constant."""
        return Const(node.value)

    def name(self, node: ast.Name, env: Env) -> Value:
        """A variable, or what a name means outside of the function."""
        if node.id in env:
            return env[node.id]
        if node.id in self._globals:
            return Const(self._globals[node.id])
        raise Unread(f"the name {node.id}")

    def collection(self, node: ast.Tuple | ast.List | ast.Set, env: Env) -> Value:
        """A tuple, list or set of constants."""
        items = [self.read(item, env) for item in node.elts]
        if not all(isinstance(item, Const) for item in items):
            raise Unread("a list of values that are not known")
        kind = {ast.Tuple: tuple, ast.List: list, ast.Set: set}[type(node)]
        return Const(kind(item.value for item in items if isinstance(item, Const)))

    def dictionary(self, node: ast.Dict, env: Env) -> Value:
        """A dict of constants."""
        keys = [None if key is None else self.read(key, env) for key in node.keys]
        values = [self.read(value, env) for value in node.values]
        known = [(k.value, v.value) for k, v in zip(keys, values, strict=True)
                 if isinstance(k, Const) and isinstance(v, Const)]  # fmt: skip
        if len(known) != len(values):
            raise Unread("a dict of values that are not known")
        return Const(dict(known))

    def conditional(self, node: ast.IfExp, env: Env) -> Value:
        """One value or the other."""
        condition = truth(self.read(node.test, env))
        return choice(condition, self.read(node.body, env), self.read(node.orelse, env))

    def boolean(self, node: ast.BoolOp, env: Env) -> Value:
        """The value that ``and`` or ``or`` gives."""
        *rest, last = [self.read(value, env) for value in node.values]
        for value in reversed(rest):
            if isinstance(node.op, ast.And):
                last = choice(truth(value), last, value)
            else:
                last = choice(truth(value), value, last)
        return last

    def condition(self, node: ast.expr, env: Env) -> Expr:
        """Whether an expression counts as true: connectives stay connectives."""
        if isinstance(node, ast.BoolOp):
            parts = [self.condition(value, env) for value in node.values]
            return both(*parts) if isinstance(node.op, ast.And) else either(*parts)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return negated(self.condition(node.operand, env))
        return truth(self.read(node, env))

    def unary(self, node: ast.UnaryOp, env: Env) -> Value:
        """``not``, or a sign."""
        if isinstance(node.op, ast.Not):
            return negated(self.condition(node.operand, env))
        value = self.read(node.operand, env)
        if isinstance(value, Const) and isinstance(node.op, (ast.USub, ast.UAdd)):
            return Const(-value.value if isinstance(node.op, ast.USub) else +value.value)
        kind = expr(value).type
        if isinstance(node.op, ast.USub) and isinstance(kind, (Integer, Float)):
            return python("negate", LONG if isinstance(kind, Integer) else DOUBLE, value)
        raise Unread("an operator of one value")

    def binary(self, node: ast.BinOp, env: Env) -> Value:
        """Arithmetic."""
        left, right = self.read(node.left, env), self.read(node.right, env)
        if type(node.op) not in _BINARY:
            raise Unread(f"the operator {type(node.op).__name__}")
        name, known = _BINARY[type(node.op)]
        if isinstance(left, Const) and isinstance(right, Const):
            return Const(_known(known, left.value, right.value))
        one, other = expr(left).type, expr(right).type
        if isinstance(one, String) and isinstance(other, String) and name == "add":
            return python(name, STRING, left, right)
        if isinstance(one, Date) and isinstance(other, Date) and name == "subtract":
            return python("days_between", LONG, left, right)
        if not all(isinstance(kind, (Integer, Float)) for kind in (one, other)):
            raise Unread(f"{name} of these types")
        whole = isinstance(one, Integer) and isinstance(other, Integer)
        if name == "power" and not (isinstance(right, Const) and right.value >= 0):
            raise Unread("a power by a value that is not known")
        return python(name, LONG if whole and name != "true_divide" else DOUBLE, left, right)

    def compare(self, node: ast.Compare, env: Env) -> Value:
        """A comparison, or a chain of them."""
        values = [self.read(value, env) for value in (node.left, *node.comparators)]
        parts = [
            self._compared(op, left, right)
            for op, left, right in zip(node.ops, values, values[1:], strict=False)
        ]
        if len(parts) == 1:
            return parts[0]
        return both(*map(truth, parts))

    def _compared(self, op: ast.cmpop, left: Value, right: Value) -> Value:
        match op:
            case ast.Is() | ast.IsNot():
                if isinstance(left, Const) and left.value is None:
                    left, right = right, left
                found = self._identical(left, right)
                return found if isinstance(op, ast.Is) else negated(found)
            case ast.Eq():
                return self._equal(left, right)
            case ast.NotEq():
                return negated(truth(self._equal(left, right)))
            case ast.In():
                return self._contained(left, right)
            case ast.NotIn():
                return negated(truth(self._contained(left, right)))
        name, known = _COMPARED[type(op)]
        if isinstance(left, Const) and isinstance(right, Const):
            return Const(_known(known, left.value, right.value))
        _check_comparable(left, right)
        return python(name, BOOLEAN, left, right)

    def _identical(self, left: Value, right: Value) -> Expr:
        """Whether a value is None, True or False."""
        if isinstance(right, Const) and right.value is None:
            return is_none(left)
        if isinstance(right, Const) and isinstance(right.value, bool):
            kind = expr(left).type
            if isinstance(kind, Boolean):
                return python("eq", BOOLEAN, left, right)
        raise Unread("a comparison by identity")

    def _equal(self, left: Value, right: Value) -> Expr:
        if isinstance(left, Const) and isinstance(right, Const):
            return truth(Const(left.value == right.value))
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Const) and one.value is None:
                return is_none(other)
        _check_comparable(left, right)
        return python("eq", BOOLEAN, left, right)

    def _contained(self, left: Value, right: Value) -> Value:
        if isinstance(right, Const) and isinstance(
            right.value, (tuple, list, set, frozenset, dict)
        ):
            if isinstance(left, Const):
                return Const(left.value in right.value)
            found = [self._equal(left, Const(item)) for item in _ordered(right.value)]
            return either(*found)
        if isinstance(expr(right).type, String) and isinstance(expr(left).type, String):
            return python("contains", BOOLEAN, right, left)
        raise Unread("a membership of a value that is not known")

    def subscript(self, node: ast.Subscript, env: Env) -> Value:
        """An item or a slice."""
        value = self.read(node.value, env)
        if isinstance(node.slice, ast.Slice):
            return self._sliced(value, node.slice, env)
        index = self.read(node.slice, env)
        if isinstance(value, Const):
            return self._looked_up(value.value, index)
        if isinstance(value, Pieces) and isinstance(index, Const):
            return python("split_item", STRING, value.text, Const(value.separator), index)
        if isinstance(value, Match):
            return method(value, "group", [index])
        if isinstance(expr(value).type, String) and isinstance(expr(index).type, Integer):
            return python("item", STRING, value, index)
        raise Unread("an item of a value that is not known")

    def _looked_up(self, known: Any, index: Value) -> Value:
        if isinstance(index, Const):
            return Const(_known(operator.getitem, known, index.value))
        if not isinstance(known, dict):
            raise Unread("an item of a list by a value that is not known")
        values = [Const(value) for value in known.values()]
        return self.chosen(known, index, failing(expr(values[0]).type) if values else Const(None))

    def chosen(self, known: Mapping[Any, Any], key: Value, default: Value) -> Value:
        """The value of a key in a constant dict."""
        found = default
        for each, value in reversed(list(known.items())):
            found = choice(truth(self._equal(key, Const(each))), Const(value), found)
        return found

    def _sliced(self, value: Value, node: ast.Slice, env: Env) -> Value:
        if node.step is not None:
            raise Unread("a slice with a step")
        ends = [Const(None) if e is None else self.read(e, env) for e in (node.lower, node.upper)]
        if isinstance(value, Const) and all(isinstance(end, Const) for end in ends):
            return Const(value.value[slice(*(end.value for end in ends if isinstance(end, Const)))])
        if isinstance(expr(value).type, String):
            return python("slice", STRING, value, *ends)
        raise Unread("a slice of a value that is not known")

    def text(self, node: ast.JoinedStr, env: Env) -> Value:
        """An f-string."""
        parts: list[Value] = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                if part.format_spec is not None or part.conversion not in (-1, 115):
                    raise Unread("a format")
                parts.append(self._as_text(self.read(part.value, env)))
            else:
                parts.append(self.read(part, env))
        found: Value = Const("")
        for value in parts:
            if isinstance(found, Const) and isinstance(value, Const):
                found = Const(found.value + value.value)
            elif isinstance(found, Const) and found.value == "":
                found = value
            else:
                found = python("add", STRING, found, value)
        return found

    def _as_text(self, value: Value) -> Value:
        if isinstance(value, Const):
            return Const(str(value.value))
        return FUNCTIONS[str]([value])

    def attribute(self, node: ast.Attribute, env: Env) -> Value:
        """An attribute that is no method."""
        value = self.read(node.value, env)
        if isinstance(value, Const) and not isinstance(value.value, ModuleType):
            raise Unread(f"the attribute {node.attr}")
        return attribute(value, node.attr)

    def call(self, node: ast.Call, env: Env) -> Value:
        """A call."""
        if node.keywords:
            raise Unread("named arguments of a call")
        found = self._special(node, env)
        if found is not None:
            return found
        args = [self.read(arg, env) for arg in node.args]
        if isinstance(node.func, ast.Attribute):
            return self._method(node.func, args, env)
        function = self.read(node.func, env)
        if not isinstance(function, Const):
            raise Unread("a call of a value that is not known")
        return self._called(function.value, args)

    def _called(self, function: Any, args: list[Value]) -> Value:
        reads = FUNCTIONS.get(function) if isinstance(function, Hashable) else None
        constants = [arg.value for arg in args if isinstance(arg, Const)]
        of_constants = reads is not None or function in OF_CONSTANTS
        if of_constants and len(constants) == len(args):
            return Const(_known(function, *constants))
        if reads is not None:
            return reads(args)
        if function is isinstance and len(args) == 2:
            return self._is_instance(args[0], args[1])
        if isinstance(function, FunctionType):
            return self._calls(function, args)
        raise Unread(f"a call of {getattr(function, '__name__', 'a value')}")

    def _is_instance(self, value: Value, kinds: Value) -> Value:
        kind = expr(value).type
        own = {String: str, Integer: int, Float: float, Boolean: bool, Date: object}.get(type(kind))
        if not isinstance(kinds, Const) or own in (None, object):
            raise Unread("isinstance")
        missing, there = isinstance(None, kinds.value), issubclass(own or object, kinds.value)
        if missing == there:
            return Const(missing)
        return is_none(value) if missing else negated(is_none(value))

    def _method(self, node: ast.Attribute, args: list[Value], env: Env) -> Value:
        value = self.read(node.value, env)
        if not isinstance(value, Const):
            return method(value, node.attr, args)
        known = value.value
        if known is re and args and isinstance(args[0], Const):
            found = regular_expression(node.attr, args[0].value, args[1:])
        elif isinstance(known, re.Pattern):
            found = regular_expression(node.attr, known, args)
        elif isinstance(known, ModuleType):
            return self._called(getattr(known, node.attr), args)
        elif isinstance(known, dict) and node.attr == "get" and 1 <= len(args) <= 2:
            return self.chosen(known, args[0], args[1] if len(args) == 2 else Const(None))
        elif isinstance(known, str) and node.attr == "join" and isinstance(args[0], Pieces):
            parts = args[0]
            return python("join_split", STRING, parts.text, Const(parts.separator), value)
        else:
            found = None
        if found is None and isinstance(known, str) and all(isinstance(a, Const) for a in args):
            return Const(
                _known(getattr(known, node.attr), *(a.value for a in args if isinstance(a, Const)))
            )
        if found is None:
            raise Unread(f"the method {node.attr}")
        return found

    def _special(self, node: ast.Call, env: Env) -> Value | None:
        """``any`` and ``all`` of a generator over a constant."""
        if not (isinstance(node.func, ast.Name) and node.func.id in ("any", "all")):
            return None
        if len(node.args) != 1 or not isinstance(node.args[0], (ast.GeneratorExp, ast.ListComp)):
            return None
        found = node.args[0]
        if len(found.generators) != 1 or not isinstance(found.generators[0].target, ast.Name):
            return None
        (loop,) = found.generators
        assert isinstance(loop.target, ast.Name)
        parts = []
        for item in items_of(self.read(loop.iter, env)):
            inner = {**env, loop.target.id: Const(item)}
            wanted = both(*(self.condition(test, inner) for test in loop.ifs))
            value = self.condition(found.elt, inner)
            parts.append(both(wanted, value) if node.func.id == "any"
                         else either(negated(wanted), value))  # fmt: skip
        return either(*parts) if node.func.id == "any" else both(*parts)


def items_of(value: Value) -> list[Any]:
    """The items of a constant that is iterated over."""
    if not isinstance(value, Const) or not isinstance(
        value.value, (tuple, list, dict, str, range, set, frozenset)
    ):
        raise Unread("a loop over a value that is not known")
    return list(_ordered(value.value))


def _ordered(items: Any) -> Any:
    """Sets have no order that every process repeats: sorted, if that matters to nobody."""
    return sorted(items, key=repr) if isinstance(items, (set, frozenset)) else items


def _known(function: Callable[..., Any], *args: Any) -> Any:
    try:
        return function(*args)
    except Exception as error:
        raise Unread(f"constants of which it raises ({error})") from error


def _check_comparable(left: Value, right: Value) -> None:
    one, other = expr(left).type, expr(right).type
    numbers = isinstance(one, (Integer, Float)) and isinstance(other, (Integer, Float))
    if not numbers and type(one) is not type(other):
        raise Unread("a comparison of different types")


_READS: dict[type[ast.expr], Callable[..., Value]] = {
    ast.Constant: Reader.constant,
    ast.Name: Reader.name,
    ast.Tuple: Reader.collection,
    ast.List: Reader.collection,
    ast.Set: Reader.collection,
    ast.Dict: Reader.dictionary,
    ast.IfExp: Reader.conditional,
    ast.BoolOp: Reader.boolean,
    ast.UnaryOp: Reader.unary,
    ast.BinOp: Reader.binary,
    ast.Compare: Reader.compare,
    ast.Subscript: Reader.subscript,
    ast.JoinedStr: Reader.text,
    ast.Attribute: Reader.attribute,
    ast.Call: Reader.call,
}
"""The kinds of expressions that are read."""
