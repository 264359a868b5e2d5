"""Spark's functions as total functions: a call that would fail in the pipeline gives NULL here.

A lineage predicate is evaluated on rows that the pipeline never evaluated it on. Where the pipeline
had a value, the question has the same value, in the job's own ANSI mode. Operators that fail in
ANSI mode are spelled by their TRY forms, which differ from them only in failing. Other calls that
may fail, in either mode, are wrapped in our own `FUNCTION`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
from sqlglot import exp

from predtrace.engines.sql.compiler import named
from predtrace.engines.sql.functions import ALWAYS, Evaluated, Exactness
from symbolic.expr import Call, Literal
from symbolic.types import (
    Binary,
    Boolean,
    Decimal,
    Float,
    Integer,
    Null,
    String,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from predtrace.engines.sql.compiler import Args, Spelling

FUNCTION = "predtrace_total"
"""The name, in question sessions, of Catalyst's TryEval: its argument, NULL if that fails."""

_SIMPLE = (Boolean, Integer, Float, Decimal, String, Binary, Null)
_NUMERIC = (Integer, Float, Decimal, Null)


NeverFails = Callable[[Call], bool]
"""Whether a call gives a value, or NULL, for all values of its arguments."""

OWN_ENGINE: Exactness[Any] = Exactness("always, as the pipelines' own engine", ALWAYS.inexactness)


class Total(msgspec.Struct, frozen=True):
    """The spelling of a function in questions, for one ANSI mode."""

    spelling: Spelling
    never_fails: NeverFails

    def build(self, call: Call, args: Args) -> exp.Expr:
        """The call in SQL, NULL where its computation fails."""
        spelling = self.spelling
        value = named(spelling, *args) if isinstance(spelling, str) else spelling(call, args)
        return value if self.never_fails(call) else total(value)


class SparkFunction(Evaluated["Spelling", Call], frozen=True):
    """A function in Spark: as pipelines spell it, and as questions spell it in each ANSI mode."""

    in_ansi: Total
    without_ansi: Total


def _every(call: Call) -> bool:
    return True


def _none(call: Call) -> bool:
    return False


def simple(call: Call) -> bool:
    """Whether a cast is between simple types; even TRY_CAST may fail on dates and nested values."""
    return isinstance(call.type, _SIMPLE) and isinstance(call.args[0].type, _SIMPLE)


def _numeric(call: Call) -> bool:
    return isinstance(call.type, _NUMERIC)


def without_escapes(call: Call) -> bool:
    """Whether a constant pattern has no escape; one at its end would fail."""
    match call.args[1:]:
        case (Literal(value=pattern), Literal(value=escape)):
            return pattern is None or escape is None or escape not in pattern
    return False


def never_fails(
    spelling: Spelling, where: NeverFails = _every, tried: Spelling | None = None
) -> SparkFunction:
    """A function that fails in neither ANSI mode, in calls for which `where` holds.

    `tried` is a spelling that gives NULL where the plain one would fail in ANSI mode.
    """
    in_ansi = Total(spelling if tried is None else tried, where)
    return SparkFunction(spelling, OWN_ENGINE, in_ansi, Total(spelling, where))


def may_fail(spelling: Spelling) -> SparkFunction:
    """A function that may fail in either mode."""
    form = Total(spelling, _none)
    return SparkFunction(spelling, OWN_ENGINE, form, form)


def arithmetic(spelling: Spelling, tried: Spelling | None = None) -> SparkFunction:
    """A function that fails only in ANSI mode, and only if its result is a number.

    `tried` is a spelling that gives NULL where the plain one would fail in ANSI mode.
    """
    in_ansi = Total(spelling, _none) if tried is None else Total(tried, _every)
    return SparkFunction(spelling, OWN_ENGINE, in_ansi, Total(spelling, _numeric))


def total(value: exp.Expr) -> exp.Expr:
    """The value, NULL where its computation fails."""
    return named(FUNCTION, value)


def provide(session: SparkSession) -> None:
    """Register `FUNCTION` in a session; other sessions do not see it."""
    registry = session._jsparkSession.sessionState().functionRegistry()
    registry.createOrReplaceTempFunction(FUNCTION, _try_eval(session._jvm), "built-in")


@functools.lru_cache(maxsize=4)
def _try_eval(jvm: Any) -> Any:
    """The builder of Catalyst's TryEval from its argument."""
    catalyst = "org.apache.spark.sql.catalyst"
    loader = jvm.Thread.currentThread().getContextClassLoader()

    def found(name: str) -> Any:
        return jvm.java.lang.Class.forName(name, True, loader)

    registry = found(f"{catalyst}.analysis.FunctionRegistryBase$").getField("MODULE$").get(None)
    kind = jvm.scala.reflect.ClassTag.apply(found(f"{catalyst}.expressions.TryEval"))
    return registry.build(FUNCTION, jvm.scala.Option.empty(), kind)._2()
