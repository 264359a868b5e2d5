"""What Spark itself gives: per case the groups of its values, with the ids of their rows.

Nothing of predtrace is used here. In ANSI mode a call may raise on some rows: these are found
one by one, by evaluating Spark's own expression on each row, and left out of the pipeline.
"""

from __future__ import annotations

import itertools
import logging
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.errors import AnalysisException, ParseException, PySparkException

from tests.functions.values import SPANS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Group(NamedTuple):
    """An output row's value, and the ids of its rows."""

    value: Any
    ids: frozenset[int]


class Prepared(NamedTuple):
    """A case that Spark accepts: its text, result type, and the groups of its rows.

    `raising` are the ids of the rows on which it raises.
    """

    text: str
    type: str = ""
    groups: tuple[Group, ...] = ()
    raising: tuple[int, ...] = ()

    @property
    def table(self) -> str:
        """The table with the kinds of values that the call reads."""
        return "spans" if any(f"{kind}_" in self.text for kind in SPANS) else "edges"

    @property
    def query(self) -> str:
        """The pipeline: rows counted by the call's value."""
        raising = ", ".join(map(str, self.raising))
        where = f" WHERE id NOT IN ({raising})" if raising else ""
        return f"SELECT {self.text} AS k, count(*) AS n FROM {self.table}{where} GROUP BY 1"


class Untold:
    """Stands for a value that Python has no object for (the year 10000)."""


def prepared(spark: SparkSession, texts: list[str]) -> Iterator[Prepared]:
    """Those of the calls, all of one table, that Spark accepts, with their groups."""
    if not texts:
        return
    try:
        frame = _selected(spark, texts[0], texts)
    except (AnalysisException, ParseException):
        if len(texts) > 1:
            yield from _halved(spark, texts)
        return
    raising = [frozenset[int]()] * len(texts)
    try:
        rows = _told(frame).toArrow()
    except PySparkException:
        raising = [frozenset(rows) for rows in _raising(spark, frame)]
        guarded = [_guarded(text, rows) for text, rows in zip(texts, raising, strict=True)]
        try:
            rows = _told(_selected(spark, texts[0], guarded)).toArrow()
        except PySparkException:
            # The optimizer makes try_add(x, 1) + 1 to x + 2, which raises on more rows.
            if len(texts) > 1:
                yield from _halved(spark, texts)
            return
    ids = rows.column("id").to_pylist()
    for number, text in enumerate(texts):
        data_type = frame.schema[number + 1].dataType.simpleString()
        pairs = zip(ids, map(_value, rows.column(number + 1)), strict=True)
        some = [(row, value) for row, value in pairs if row not in raising[number]]
        yield Prepared(text, data_type, _groups(some), tuple(sorted(raising[number])))


def _selected(spark: SparkSession, text: str, calls: list[str]) -> DataFrame:
    named = ", ".join(f"{call} AS k{number}" for number, call in enumerate(calls))
    return spark.sql(f"SELECT id, {named} FROM {Prepared(text).table}")


def _guarded(text: str, raising: frozenset[int]) -> str:
    if not raising:
        return text
    return f"CASE WHEN id NOT IN ({', '.join(map(str, raising))}) THEN {text} END"


def _halved(spark: SparkSession, texts: list[str]) -> Iterator[Prepared]:
    half = len(texts) // 2
    yield from prepared(spark, texts[:half])
    yield from prepared(spark, texts[half:])


def _told(frame: DataFrame) -> DataFrame:
    """Without the values that PySpark does not give: intervals of months."""
    months = [f.name for f in frame.schema if f.dataType.typeName() == "yearmonthinterval"]
    return frame.withColumns({name: frame[name].isNull() for name in months}) if months else frame


def _groups(rows: list[tuple[int, Any]]) -> tuple[Group, ...]:
    found: dict[Any, tuple[Any, set[int]]] = {}
    for row, value in rows:
        found.setdefault(_key(value), (value, set()))[1].add(row)
    return tuple(Group(value, frozenset(rows)) for value, rows in found.values())


def _value(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except (ValueError, OverflowError):
        return Untold()


def _key(value: Any) -> Any:
    """What GROUP BY compares: NaNs are alike, and so are 0.0 and -0.0, also inside of values."""
    match value:
        case float():
            return "NaN" if math.isnan(value) else value + 0.0
        case list():
            return ("list", *map(_key, value))
        case dict():
            return ("struct", *((name, _key(part)) for name, part in value.items()))
        case Untold():
            return Untold
    return value


def _raising(spark: SparkSession, frame: DataFrame) -> Iterator[set[int]]:
    """Per call of a projection the ids of the rows on which it raises."""
    from py4j.protocol import Py4JJavaError

    # Hundreds of errors with their stack traces.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    jvm: Any = spark._jvm
    expressions = jvm.org.apache.spark.sql.catalyst.expressions
    plan = frame._jdf.queryExecution().analyzed()
    plan = jvm.org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions.apply(plan)
    plan = jvm.org.apache.spark.sql.catalyst.optimizer.RewriteWithExpression.apply(plan)
    child = plan.child()
    dataset = jvm.org.apache.spark.sql.classic.Dataset.ofRows(spark._jsparkSession, child)
    rows = list(dataset.queryExecution().executedPlan().executeCollect())
    calls, output = plan.projectList(), child.output()
    names = [output.apply(place).name() for place in range(output.size())]
    ids = [int(row.getInt(names.index("id"))) for row in rows]
    for place in range(1, calls.size()):
        found = set()
        project = expressions.InterpretedMutableProjection(calls.slice(place, place + 1), output)
        for number, row in zip(ids, rows, strict=True):
            try:
                project.apply(row)
            except (Py4JJavaError, PySparkException):
                found.add(number)
        yield found


def batches(cases: list[Prepared], size: int) -> list[list[Prepared]]:
    """The cases in lists of at most `size`, each of one table and result type."""

    def kind(case: Prepared) -> tuple[str, str]:
        return case.table, case.type

    found = []
    for _, same in itertools.groupby(sorted(cases, key=kind), key=kind):
        alike = list(same)
        found += [alike[i : i + size] for i in range(0, len(alike), size)]
    return found
