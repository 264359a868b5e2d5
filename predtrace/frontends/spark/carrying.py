"""Functions without a row of their own, carried by Spark's name for them and proved to come back.

A question calls the function by its name in Spark's registry. So the call is tried when the
pipeline is read: Spark's parser and analyzer, under the job's settings, make an expression of
it. The function is carried if that is the very expression that the pipeline has.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from predtrace.environment.sessions import as_active, first_line, new_session
from predtrace.frontends.spark.building import Builder
from predtrace.frontends.spark.catalyst import JavaObject, items, scala_seq
from predtrace.frontends.spark.python_calls import PythonCall
from predtrace.frontends.spark.tree import Node, read_tree
from predtrace.jobs.builtins import (
    NEVER,
    aggregate_may_be_carried,
    classes,
    may_be_carried,
)
from predtrace.jobs.checks import carried_problem
from predtrace.jobs.model import EngineSettings
from predtrace.jobs.settings import put_in_force
from predtrace.text.spark_calls import spark_call, spelled_parameters
from symbolic.functions import Carried, PythonFunction

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OPERATORS: Mapping[str, tuple[str, ...]] = {
    "TimestampAdd": ("timestampadd",),
    "TimestampDiff": ("timestampdiff",),
    "MultiplyYMInterval": ("*",),
    "MultiplyDTInterval": ("*",),
    "MultiplyInterval": ("*",),
    "DivideYMInterval": ("/",),
    "DivideDTInterval": ("/",),
    "DivideInterval": ("/",),
    "TimestampAddYMInterval": ("+",),
    "TimestampAddInterval": ("+",),
    "TimeAddInterval": ("+",),
    "SubtractDates": ("-",),
    "SubtractTimestamps": ("-",),
    "SubtractTimes": ("-",),
}
"""Names of functions that become other classes for some types of arguments."""


class NotCarried(Exception):
    """A function that does not come back; says why."""


@dataclass(frozen=True)
class Argument:
    """An argument of a call: the expression that gives it, and where else that stands."""

    node: Node
    copies: tuple[Node, ...]


@dataclass
class Carrier:
    """Proves functions of one pipeline, in a session of its own under the job's settings."""

    spark: SparkSession
    settings: EngineSettings
    builder: Builder
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """Python functions that the user gave, by name."""
    python_calls: list[PythonCall] = field(default_factory=list)
    """The calls of Python functions that were read."""
    python_read: dict[PythonFunction, None] = field(default_factory=dict)
    """The Python functions whose source says what they compute."""

    def arguments(self, node: Node) -> tuple[Argument, ...]:
        """The arguments of a call, as its function is called in SQL."""
        if not inherits(node):
            return tuple(Argument(child, (child,)) for child in node.children)
        found = []
        below = tuple(node.children[0].walk())
        for handle in items(node.handle.parameters()):
            tree = read_tree(handle)
            same = (each for each in below if each.cls == tree.cls)
            copies = tuple(each for each in same if each.handle.fastEquals(handle))
            found.append(Argument(copies[0] if copies else tree, copies))
        return tuple(found)

    def function(self, node: Node, arguments: Sequence[Argument]) -> Carried:
        """The function that is carried. Raises NotCarried."""
        return self._proved(node, arguments, may_be_carried)

    def aggregate(self, node: Node, arguments: Sequence[Argument]) -> Carried:
        """The aggregate that is carried. Raises NotCarried."""
        return self._proved(node, arguments, aggregate_may_be_carried)

    def _proved(
        self, node: Node, arguments: Sequence[Argument], allowed: Callable[[str], bool]
    ) -> Carried:
        tried: list[str] = []
        for name in filter(allowed, names_of(node)):
            function = Carried(name, node.cls, _parameters(node, name))
            problem = carried_problem(function, allowed) or self._problem(function, node, arguments)
            if problem is None:
                return function
            tried.append(f"{name}: {problem}")
        why = NEVER.get(
            str(node.handle.prettyName()), "Spark has no built-in function of its class"
        )
        raise NotCarried("; ".join(tried) or why)

    @cached_property
    def _session(self) -> SparkSession:
        session = new_session(self.spark)
        put_in_force(session.conf, self.settings)
        return session

    def _problem(self, function: Carried, node: Node, arguments: Sequence[Argument]) -> str | None:
        """Why a call of the function does not come back; None if it does."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        with as_active(self._session), _unlogged():
            try:
                inputs = self._inputs(arguments)
                found = self._analyzed(function, arguments, inputs)
                wanted = self._over(node, arguments, inputs)
                same = found.canonicalized().equals(wanted.canonicalized())
                typed = found.dataType().equals(node.handle.dataType())
            except (PySparkException, Py4JError, ValueError) as error:
                return first_line(error)
        return None if same and typed else "a call of it becomes another expression"

    def _inputs(self, arguments: Sequence[Argument]) -> list[JavaObject | None]:
        """A column in the place of each argument that is no literal and no lambda."""
        found: list[JavaObject | None] = []
        for number, argument in enumerate(arguments):
            handle = argument.node.handle
            if argument.node.cls in ("LambdaFunction", "Literal"):
                found.append(None)
            else:
                alias = self.builder.alias(handle, f"c{number}", self.builder.new_id())
                found.append(alias.toAttribute())
        return found

    def _analyzed(
        self,
        function: Carried,
        arguments: Sequence[Argument],
        inputs: Sequence[JavaObject | None],
    ) -> JavaObject:
        """What Spark makes of the call in a query."""
        jvm, builder = self.builder.jvm, self.builder
        session = self._session._jsparkSession
        names = [exp.column(f"c{number}") for number in range(len(arguments))]
        text = spark_call(function, names).sql("spark")
        parsed = session.sessionState().sqlParser().parseExpression(text)
        given = list(items(parsed.children()))
        for place, each in enumerate(given):
            number = str(each.toString()).removeprefix("'c")
            if number.isdecimal():
                value = inputs[int(number)]
                given[place] = arguments[int(number)].node.handle if value is None else value
        call = builder.alias(
            parsed.withNewChildren(scala_seq(jvm, given)), "called", builder.new_id()
        )
        columns = [value for value in inputs if value is not None]
        for argument, value in zip(arguments, inputs, strict=True):
            if value is None:
                columns += items(argument.node.handle.references().toSeq())
        plan = builder.project([call], builder.relation(columns))
        analyzed = builder.dataset(session, plan).queryExecution().analyzed()
        # A call of an aggregate makes an aggregation of the projection.
        called = analyzed.expressions().apply(0).child()
        aggregates = called.getClass().getSimpleName() == "AggregateExpression"
        return called.aggregateFunction() if aggregates else called

    def _over(
        self, node: Node, arguments: Sequence[Argument], inputs: Sequence[JavaObject | None]
    ) -> JavaObject:
        """The pipeline's expression over the same columns."""
        replaced = {
            copy: value
            for argument, value in zip(arguments, inputs, strict=True)
            if value is not None
            for copy in argument.copies
        }
        return self.builder.expression(node, replaced)


@contextmanager
def _unlogged() -> Iterator[None]:
    """PySpark logs every error of its JVM, those that tell of no mistake as well."""
    from pyspark.logger import PySparkLogger

    # Made by PySpark's own class: its messages have parts that plain loggers do not take.
    names = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
    loggers = [PySparkLogger.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def inherits(node: Node) -> bool:
    """Whether what replaces an expression is its only child, and its arguments stand beside."""
    return "replacement" in node.fields and len(node.children) == 1


def names_of(node: Node) -> Iterator[str]:
    """Names that the function may have, the likeliest first; each once."""
    own = str(node.handle.prettyName())
    names = (own, f"try_{own}", *classes().get(node.cls, ()), *_OPERATORS.get(node.cls, ()))
    yield from dict.fromkeys(names)


def _parameters(node: Node, name: str) -> tuple[tuple[str, str], ...]:
    """What an expression is made with beside its children."""
    found = {
        field: value if isinstance(value, str) else json.dumps(value, sort_keys=True)
        for field, value in node.fields.items()
        if isinstance(value, (bool, str)) and field != "replacement"
    }
    for parameter in spelled_parameters(name):
        value = _spelled(node.handle, parameter)
        if value is not None:
            found[parameter] = value
    return tuple(sorted(found.items()))


def _spelled(handle: JavaObject, parameter: str) -> str | None:
    """A parameter that stands in the call's text."""
    value: Any = getattr(handle, parameter)()
    if parameter in ("schema", "targetType"):
        return str(value.sql())
    if parameter == "options":
        pairs = {str(pair._1()): str(pair._2()) for pair in items(value.toSeq())}
        return json.dumps(pairs, sort_keys=True) if pairs else None
    return str(value)
