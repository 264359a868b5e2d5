"""Helpers of the engines' tables of aggregates and windows: calls as SQL, and types of sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from predtrace.engines.sql.compiler import named
from pushdown.operators import AggregateCall, WindowFunction
from symbolic.types import Decimal

_WIDEST = 38
_AGGREGATE = "aggregate"
"""Marks the aggregates in the SQL of a call."""

AggregateSpelling = Callable[[AggregateCall, Sequence[exp.Expr], "exp.Expr | None"], exp.Expr]
"""Takes the call, its arguments in SQL, and the condition of FILTER, if any."""
WindowSpelling = Callable[[WindowFunction, Sequence[exp.Expr]], exp.Expr]
"""Takes a function that only windows have, and its arguments in SQL; the caller adds OVER."""


def sum_type(argument: Decimal) -> Decimal:
    """The type of a sum of decimals: it holds ten thousand million of them, if a type can."""
    return Decimal(min(argument.precision + 10, _WIDEST), argument.scale)


def spelled(name: str) -> AggregateSpelling:
    """The aggregate under a name of the engine."""

    def build(call: AggregateCall, args: Sequence[exp.Expr], keep: exp.Expr | None) -> exp.Expr:
        values: list[exp.Expr] = [arg.copy() for arg in args] or [exp.Star()]
        if call.distinct and args:
            values = [exp.Distinct(expressions=values)]
        return filtered(named(name, *values), keep)

    return build


def filtered(aggregate: exp.Expr, keep: exp.Expr | None) -> exp.Expr:
    """The aggregate over the rows where `keep` is true."""
    if keep is not None:
        aggregate = exp.Filter(this=aggregate, expression=exp.Where(this=keep.copy()))
    aggregate.meta[_AGGREGATE] = True
    return aggregate


def over(value: exp.Expr, around: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """The value with each aggregate that it is computed from replaced by `around` of it."""
    return value.transform(lambda node: around(node) if node.meta.get(_AGGREGATE) else node)


def spelled_window(name: str) -> WindowSpelling:
    """A function that only windows have, under a name of the engine."""
    return lambda function, args: exp.Anonymous(this=name, expressions=list(args))


def of_a_row(kind: type[exp.Func]) -> WindowSpelling:
    """A function that takes the value of some row: the value, the row's number, a default."""
    names = ("this", "offset", "default")

    def build(function: WindowFunction, args: Sequence[exp.Expr]) -> exp.Expr:
        call = kind(**dict(zip(names, args, strict=False)))
        return exp.IgnoreNulls(this=call) if function.ignore_nulls else call

    return build
