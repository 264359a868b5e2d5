"""Expressions of a query's text as functions of a context."""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Protocol

from sqlglot import exp

from tpch.truth import values
from tpch.truth.origins import NOTHING, Origin, together
from tpch.truth.scopes import Computed, Context, Outer, Place, Scope, bare, canonical

Traced = tuple[tuple[Any, ...], Origin]
"""A row's values, and what is behind it."""


class Inner(Protocol):
    """A subquery, compiled."""

    outer: frozenset[Outer]

    def rows(self, outer: Context | None) -> list[Traced]:
        """Its rows, for a row of the query around it."""


_COMPARISONS: dict[type[exp.Expr], Callable[[Any, Any], bool]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
}
_BINARY: dict[type[exp.Expr], Callable[[Any, Any], Any]] = {
    **{kind: values.compare(test) for kind, test in _COMPARISONS.items()},
    exp.Add: values.plain(values.add),
    exp.Sub: values.plain(values.subtract),
    exp.Mul: values.plain(values.multiply),
    exp.Div: values.plain(values.divide),
    exp.Like: values.plain(values.like),
    exp.And: lambda a, b: values.conjunction((a, b)),
    exp.Or: lambda a, b: values.disjunction((a, b)),
    exp.DPipe: values.plain(operator.add),
}
_UNARY: dict[type[exp.Expr], Callable[[Any], Any]] = {
    exp.Not: values.negation,
    exp.Neg: values.plain(operator.neg),
    exp.Abs: values.plain(abs),
    exp.Upper: values.plain(str.upper),
    exp.Lower: values.plain(str.lower),
}


class Compiler:
    """Compiles expressions in a scope.

    `known` has the places of expressions that are computed already, such as keys, aggregates and
    windows, by their canonical text in the scope `below`. `inner` compiles a subquery: the query,
    the scope around it, and whether its values are asked for.
    """

    def __init__(
        self,
        scope: Scope,
        inner: Callable[[exp.Expr, Scope, bool], Inner],
        known: Mapping[str, Place] | None = None,
        below: Scope | None = None,
    ) -> None:
        self._scope = scope
        self._inner = inner
        self._known = known or {}
        self._below = below or scope

    def compile(self, node: exp.Expr) -> Computed:
        """The expression as a function."""
        behind: list[Callable[[Context], Origin]] = []
        outer: set[Outer] = set()
        value = self._value(node, behind, outer)
        own = frozenset(place for depth, place in outer if depth == 0)
        for found in outer:
            self._scope.note(found)
        further = frozenset(found for found in outer if found[0] > 0)
        return Computed(value, tuple(behind), own, further)

    def _value(self, node: Any, behind: list[Any], outer: set[Outer]) -> Callable[[Context], Any]:
        def sub(part: Any) -> Callable[[Context], Any]:
            return self._value(part, behind, outer)

        node = bare(node)
        if self._known and (place := self._known.get(canonical(node, self._below))) is not None:
            return self._column((0, place), outer)
        kind = type(node)
        if kind in _BINARY:
            compute, left, right = _BINARY[kind], sub(node.left), sub(node.right)
            return lambda c: compute(left(c), right(c))
        if kind in _UNARY:
            single, argument = _UNARY[kind], sub(node.this)
            return lambda c: single(argument(c))
        match node:
            case exp.Column():
                found = self._scope.find(node)
                if found is None:
                    raise KeyError(node.sql())
                return self._column(found, outer)
            case exp.Literal() | exp.Null() | exp.Boolean() | exp.Interval():
                constant = _constant(node)
                return lambda c: constant
            case exp.Cast() | exp.TryCast():
                argument, to = sub(node.this), node.to
                return lambda c: values.cast(argument(c), to)
            case exp.Is():
                argument = sub(node.this)
                return lambda c: argument(c) is None
            case exp.Between():
                return self._between(sub(node.this), sub(node.args["low"]), sub(node.args["high"]))
            case exp.Coalesce():
                options = [sub(node.this), *map(sub, node.expressions)]
                return lambda c: next((v for o in options if (v := o(c)) is not None), None)
            case exp.Concat():
                return _called(values.plain(lambda *t: "".join(t)), map(sub, node.expressions))
            case exp.Substring():
                parts = (node.this, node.args["start"], node.args["length"])
                return _called(values.plain(values.substring), map(sub, parts))
            case exp.Round():
                digits = node.args.get("decimals") or exp.Literal.number(0)
                return _called(values.plain(values.rounded), map(sub, (node.this, digits)))
            case exp.Case():
                return self._case(node, sub)
            case exp.In() | exp.Exists() | exp.Subquery() | exp.Select():
                return self._subquery(node, sub, behind, outer)
        raise NotImplementedError(f"{kind.__name__}: {node.sql()[:80]}")

    def _column(self, found: Outer, outer: set[Outer]) -> Callable[[Context], Any]:
        outer.add(found)
        depth, (item, number) = found
        if depth == 0:
            return lambda c: c[0][item][number]

        def read(context: Context) -> Any:
            for _ in range(depth):
                context = context[1]
            return context[0][item][number]

        return read

    def _between(self, value: Any, low: Any, high: Any) -> Callable[[Context], Any]:
        ordered = _BINARY[exp.LTE]
        return lambda c: values.conjunction((ordered(low(c), value(c)), ordered(value(c), high(c))))

    def _case(self, node: exp.Case, sub: Callable[[Any], Any]) -> Callable[[Context], Any]:
        branches = []
        for branch in node.args["ifs"]:
            test = branch.this
            if node.this is not None:
                test = exp.EQ(this=node.this.copy(), expression=test.copy())
            branches.append((sub(test), sub(branch.args["true"])))
        other = sub(node.args.get("default") or exp.Null())
        return lambda c: next((v for test, v in branches if test(c) is True), other)(c)

    def _subquery(
        self, node: Any, sub: Callable[[Any], Any], behind: list[Any], outer: set[Outer]
    ) -> Callable[[Context], Any]:
        if isinstance(node, exp.In) and not node.args.get("query"):
            operand, options = sub(node.this), [sub(option) for option in node.expressions]
            equal = _BINARY[exp.EQ]
            return lambda c: values.disjunction([equal(operand(c), o(c)) for o in options])
        query = node.args["query"] if isinstance(node, exp.In) else node
        if isinstance(node, exp.Exists):
            query = node.this
        inner = self._inner(query, self._scope, not isinstance(node, exp.Exists))
        outer |= {(depth - 1, place) for depth, place in inner.outer}
        negated = _negated(node)
        if isinstance(node, exp.In):
            found = _membership(inner, [sub(part) for part in _parts(node.this)])
        else:
            found = _read(inner, _exists if isinstance(node, exp.Exists) else _single)
        behind.append(lambda c: NOTHING if negated else found(c)[1])
        return lambda c: found(c)[0]


def _negated(node: exp.Expr) -> bool:
    """Whether the test stands under a NOT: then no inner row is lineage."""
    parent = node.parent
    while isinstance(parent, exp.Paren):
        parent = parent.parent
    return isinstance(parent, exp.Not)


def _parts(node: exp.Expr) -> Sequence[exp.Expr]:
    return node.expressions if isinstance(node, exp.Tuple) else [node]


def _called(
    compute: Callable[..., Any], arguments: Any
) -> Callable[[Context], Any]:  # fmt: skip
    given = list(arguments)
    return lambda c: compute(*(argument(c) for argument in given))


def _read(
    inner: Inner, read: Callable[[Sequence[Traced]], tuple[Any, Origin]]
) -> Callable[[Context], tuple[Any, Origin]]:
    return lambda c: read(inner.rows(c))


def _exists(rows: Sequence[Traced]) -> tuple[bool, Origin]:
    return bool(rows), together(*(origin for _, origin in rows))


def _single(rows: Sequence[Traced]) -> tuple[Any, Origin]:
    if not rows:
        return None, NOTHING
    ((values_, origin),) = rows
    return values_[0], origin


def _membership(
    inner: Inner, operands: Sequence[Callable[[Context], Any]]
) -> Callable[[Context], tuple[Any, Origin]]:
    """IN: of the inner rows those that are equal count."""
    kept: dict[int, tuple[list[Traced], dict[Any, list[Origin]], bool]] = {}

    def found(context: Context) -> tuple[Any, Origin]:
        rows = inner.rows(context)
        if id(rows) not in kept:
            by_value: dict[Any, list[Origin]] = {}
            for row, origin in rows:
                by_value.setdefault(tuple(map(values.key, row)), []).append(origin)
            kept[id(rows)] = rows, by_value, any(None in row for row, _ in rows)
        _, by_value, unknown = kept[id(rows)]
        given = tuple(values.key(operand(context)) for operand in operands)
        if None not in given and given in by_value:
            return True, together(*by_value[given])
        return (None if rows and (unknown or None in given) else False), NOTHING

    return found


def _constant(node: exp.Expr) -> Any:
    match node:
        case exp.Null():
            return None
        case exp.Boolean(this=this):
            return this
        case exp.Interval():
            unit = str(node.args["unit"]).upper().rstrip("S")
            if unit != "DAY":
                raise NotImplementedError(node.sql())
            return datetime.timedelta(days=int(node.this.name))
        case exp.Literal(is_string=True):
            return node.name
    return int(node.name) if node.name.isdigit() else Decimal(node.name)
