"""Keeps the arguments and results of the user's Python functions in a run.

A function is called on the rows that the operator of the call reads. Where the process has the
function, it is called so that it gives NULL where it raises, since the pipeline may not have called
it on all of these rows.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from predtrace.environment.python_functions import Live, known
from predtrace.environment.total_functions import total
from predtrace.errors import PredTraceError
from predtrace.frontends.spark.building import Builder
from predtrace.frontends.spark.catalyst import JavaObject, items, scala_seq
from predtrace.frontends.spark.python_calls import PythonCall
from predtrace.frontends.spark.translation import Translation
from predtrace.frontends.spark.writing import ResultWriter
from predtrace.jobs.function_results import (
    MOST_RESULTS,
    RESULT,
    Typed,
    argument_name,
    keepable,
    typed,
)
from predtrace.jobs.model import StoredResult
from symbolic.expr import Call, Column, column_ids
from symbolic.functions import PythonFunction
from symbolic.types import Float


@dataclass
class FunctionRecorder:
    """Keeps the results of functions in one run; `plan_of` gives the plan of an operator.

    `repeats` says whether that plan gives the very rows of the run.
    """

    translation: Translation
    writer: ResultWriter
    plan_of: Callable[[int], JavaObject]
    repeats: Callable[[int], bool]
    _count: int = field(default=0, init=False)

    def record(self, functions: Iterable[PythonFunction]) -> dict[Typed, StoredResult]:
        """The tables of the results that can be kept."""
        wanted = set(functions)
        calls: dict[Typed, list[PythonCall]] = {}
        for each in self.translation.carrier.python_calls:
            function = typed(each.call)
            if function is not None and function.function in wanted:
                calls.setdefault(function, []).append(each)
        stored = {function: self._record(found) for function, found in calls.items()}
        return {function: found for function, found in stored.items() if found is not None}

    def _record(self, calls: list[PythonCall]) -> StoredResult | None:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        places = [self._place(each) for each in calls]
        if None in places or not _can_be_kept(calls[0].call):
            return None
        self._count += 1
        folder = f"function-{self._count}"
        try:
            rows = [
                self._rows(each, place)
                for each, place in zip(calls, places, strict=True)
                if place is not None
            ]
            together = rows[0] if len(rows) == 1 else self.translation.builder.union(rows)
            columns = _columns(calls[0].call)
            stored = self.writer.write_distinct(together, columns, folder)
        except (PySparkException, Py4JError):
            # The function raised on a row that the pipeline did not need it for.
            stored = None
        if stored is None or stored.rows > MOST_RESULTS:
            shutil.rmtree(self.writer.folder / folder, ignore_errors=True)
            return None
        return stored

    def _place(self, called: PythonCall) -> int | None:
        """The operator below whose rows have all columns of the arguments; None if there is none,
        or if another run may give others."""
        wanted = column_ids(*called.call.args)
        for node in called.below:
            if wanted <= {column.id for column in self.translation.output_of(node)}:
                return node if self.repeats(node) else None
        return None

    def _rows(self, called: PythonCall, place: int) -> JavaObject:
        """The plan of a call's arguments and results."""
        builder, plan = self.translation.builder, self.plan_of(place)
        by_id = {int(attribute.exprId().id()): attribute for attribute in items(plan.output())}
        attributes = {
            node: by_id[self.translation.expr_ids[column.id]]
            for node in called.node.walk()
            if (column := called.replaced.get(node)) is not None
        }
        given = [builder.expression(child, attributes) for child in called.node.children]
        live = _live(called.function)
        if live is None:
            result = builder.expression(called.node, attributes)
        else:
            result = _total_call(builder, called.function, live, given)
        named = zip(given, called.function.arguments, strict=True)
        values = [*(one.children().apply(0) if name else one for one, name in named), result]
        return builder.project(
            (
                builder.alias(
                    builder.as_text(value) if isinstance(column.type, Float) else value,
                    column.name,
                    builder.new_id(),
                )
                for column, value in zip(_columns(called.call), values, strict=True)
            ),
            plan,
        )


def _columns(call: Call) -> tuple[Column, ...]:
    """The columns of the table of results; floating-point numbers are stored as text."""
    arguments = [
        Column(place, argument_name(place), arg.type) for place, arg in enumerate(call.args)
    ]
    return (*arguments, Column(len(arguments), RESULT, call.type))


def _can_be_kept(call: Call) -> bool:
    return bool(call.args) and all(keepable(column.type) for column in _columns(call))


def _live(function: PythonFunction) -> Live | None:
    """The function, if this process has it as it is in the plan."""
    try:
        return known(function)
    except PredTraceError:
        return None


def _total_call(
    builder: Builder, function: PythonFunction, live: Live, args: list[JavaObject]
) -> JavaObject:
    """A call of the function that gives NULL where it raises."""
    from pyspark.sql.udf import UserDefinedFunction

    never_raises = UserDefinedFunction(
        total(live, function.kind), live.returns, evalType=function.kind, name=function.name
    )
    return never_raises._judf.builder(scala_seq(builder.jvm, args))
