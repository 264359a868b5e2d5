"""Asks Spark for its built-in functions: ``python -m predtrace.report.builtins``.

It writes `predtrace/jobs/builtins.tsv`. What becomes of a scalar function or an aggregate is tried
out on the examples that Spark documents for it, without constant folding.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from predtrace.environment.sessions import as_active
from predtrace.errors import NonDeterministicError, PredTraceError
from predtrace.frontends.spark.aggregates import aggregate_call
from predtrace.frontends.spark.building import builder_in
from predtrace.frontends.spark.carrying import Carrier, names_of
from predtrace.frontends.spark.catalyst import items
from predtrace.frontends.spark.datatypes import data_type
from predtrace.frontends.spark.expressions import ExpressionReader
from predtrace.frontends.spark.tree import Node, read_tree
from predtrace.frontends.spark.unreadable import OpaqueExpressionError
from predtrace.jobs import builtins as page
from predtrace.jobs.builtins import AGGREGATE, FOLDED, NEVER, SCALAR, TIME_WINDOWS, Builtin
from predtrace.jobs.settings import read_settings
from symbolic.expr import Call, Column, Expr, walk
from symbolic.functions import AGGREGATES, is_carried

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OWN, CARRIED, OPAQUE, REFUSED = "own", "carried", "opaque", "refused"
_EXAMPLE = re.compile(r"> (SELECT.*?);\n", re.DOTALL)
_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions."
_KINDS = {
    "AggregateWindowFunction": "window",
    "WindowFunction": "window",
    "aggregate.AggregateFunction": "aggregate",
    "Generator": "generator",
    "Expression": SCALAR,
}
"""The kind of a function of a class, the first that fits."""
_IN_PLANS = {"Window [": "window", "Generate ": "generator", "Aggregate [": "aggregate"}
"""The kind of a function by what its examples become, for those whose class is a builder's."""
_KNOWN = {
    **dict.fromkeys(("Grouping", "GroupingID"), "aggregate"),
    **{
        f"TupleUnion{theta}{of}ExpressionBuilder": SCALAR
        for theta in ("", "Theta")
        for of in ("Double", "Integer")
    },
}
"""The kind of functions of classes for which neither their classes nor their examples tell it."""
_PARSED = {"!=": "not equal", "<>": "not equal", "case": "CASE", "||": "concat"}
"""What Spark lists as functions, and its parser makes others of."""


_MORE = {
    **{
        f"kll_sketch_get_{what}_{of}": f"kll_sketch_get_{what}_{of}(b, {value})"
        for what, values in (("quantile", ("0.5D",) * 3), ("rank", ("1L", "1F", "1D")))
        for of, value in zip(("bigint", "float", "double"), values, strict=True)
    },
    "time_diff": "time_diff('HOUR', to_time(s), to_time(s))",
    "time_trunc": "time_trunc('HOUR', to_time(s))",
    "time_to_micros": "time_to_micros(to_time(s))",
    "time_to_millis": "time_to_millis(to_time(s))",
    "time_to_seconds": "time_to_seconds(to_time(s))",
    "try_aes_decrypt": "try_aes_decrypt(b, s)",
}
"""Calls of functions whose documented ones have constants that cannot be traced."""


def asked(spark: SparkSession, names: Iterable[str] = ()) -> Iterator[Builtin]:
    """The built-in functions of an installed Spark, or those of these names."""
    session = spark.newSession()
    session.conf.set("spark.sql.timeType.enabled", "true")
    every = [row[0] for row in session.sql("SHOW SYSTEM FUNCTIONS").collect()]
    for name in names or every:
        if name in _PARSED:
            yield Builtin(name, "", SCALAR, OWN)
            continue
        lines = [row[0] for row in session.sql(f"DESCRIBE FUNCTION EXTENDED `{name}`").collect()]
        described = dict(line.partition(":")[::2] for line in lines)
        found = described["Class"].strip()
        examples = _EXAMPLE.findall(described.get("Extended Usage", ""))
        if name in _MORE:
            examples.append(f"SELECT {_MORE[name]} FROM VALUES ('10:00:00', X'00') AS v(s, b)")
        kind = _kind(session, found, examples)
        support = ""
        if kind == SCALAR:
            support = _support(session, name, found, examples)
        elif kind == AGGREGATE:
            support = _aggregate_support(session, name, examples)
        yield Builtin(name, found.rpartition(".")[2].rstrip("$"), kind, support)


def _kind(session: SparkSession, found: str, examples: Iterable[str]) -> str:
    simple = found.rpartition(".")[2]
    if simple in _KNOWN:
        return _KNOWN[simple]
    jvm: Any = session._jvm
    loader = jvm.Thread.currentThread().getContextClassLoader()

    def of(name: str) -> Any:
        return jvm.java.lang.Class.forName(name, True, loader)

    for above, kind in _KINDS.items():
        if of(f"{_EXPRESSIONS}{above}").isAssignableFrom(of(found)):
            return kind
    if ".plans.logical." in found:
        return "generator"
    for plan in filter(None, (_analyzed(session, example) for example in examples)):
        text = str(plan.toString())
        return next((kind for part, kind in _IN_PLANS.items() if part in text), SCALAR)
    return "generator"


def _analyzed(session: SparkSession, text: str) -> Any:
    """The plan of an example; None for one that Spark does not accept under its own settings."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        return session.sql(text)._jdf.queryExecution().analyzed()
    except (PySparkException, Py4JError):
        return None


def _support(session: SparkSession, name: str, found: str, examples: Iterable[str]) -> str:
    """What becomes of a scalar function: ``own``, ``carried``, ``opaque: …`` or ``refused: …``."""
    if name in FOLDED or name in TIME_WINDOWS:
        return OWN
    verdicts = [
        verdict
        for plan in filter(None, (_analyzed(session, example) for example in examples))
        for verdict in _verdicts(session, plan)
    ]
    others = [verdict for verdict in verdicts if verdict not in (OWN, CARRIED)]
    if name in NEVER and not any(verdict.startswith(REFUSED) for verdict in others):
        return f"{OPAQUE}: {NEVER[name]}"
    if CARRIED in verdicts:
        return CARRIED
    if OWN in verdicts or found.endswith(".Cast"):
        return OWN
    return others[0] if others else f"{REFUSED}: Spark documents no example that it accepts"


def _verdicts(session: SparkSession, plan: Any) -> Iterator[str]:
    settings = read_settings(session.conf, session.version)
    carrier = Carrier(session, settings, builder_in(session._jvm))
    for expression in items(plan.expressions()):
        tree = read_tree(expression)
        scope, replaced = _inputs(tree)
        reader = ExpressionReader(settings, scope, replaced, carrier)
        try:
            with as_active(session):
                yield _verdict(reader.read(tree))
        except NonDeterministicError:
            yield f"{OPAQUE}: it need not give the same value again"
        except PredTraceError as error:
            support = OPAQUE if isinstance(error, OpaqueExpressionError) else REFUSED
            reason = str(error).partition(" at line ")[0]
            yield f"{support}: {reason.rpartition(' cannot be traced: ')[2]}"


def _aggregate_support(session: SparkSession, name: str, examples: Iterable[str]) -> str:
    """What becomes of an aggregate in the best of its examples; nothing for no example."""
    found = {
        verdict
        for plan in filter(None, (_analyzed(session, example) for example in examples))
        for verdict in _aggregate_verdicts(session, name, plan)
    }
    return next((verdict for verdict in (OWN, CARRIED, OPAQUE) if verdict in found), "")


def _aggregate_verdicts(session: SparkSession, name: str, plan: Any) -> Iterator[str]:
    settings = read_settings(session.conf, session.version)
    carrier = Carrier(session, settings, builder_in(session._jvm))
    for root in (root for node in read_tree(plan).walk() for root in node.all_expressions()):
        scope, _ = _inputs(root)
        for node in (node for node in root.walk() if node.cls == "AggregateExpression"):
            # An example of one aggregate may call others.
            if name in names_of(node.children[0]):
                reader = ExpressionReader(settings, scope, {}, carrier)
                with as_active(session):
                    called = aggregate_call(reader, node, 0).function
                yield OWN if called in AGGREGATES else CARRIED if is_carried(called) else OPAQUE


def _inputs(tree: Node) -> tuple[dict[int, Column], dict[Node, Column]]:
    """Columns for the attributes and aggregates of an expression."""
    scope, replaced = {}, {}
    for number, node in enumerate(tree.walk()):
        if node.cls in ("AttributeReference", "AggregateExpression"):
            kind = data_type(json.loads(node.handle.dataType().json()))
            column = Column(number, f"c{number}", kind)
            if node.cls == "AggregateExpression":
                replaced[node] = column
            else:
                scope[node.expr_id] = column
    return scope, replaced


def _verdict(expr: Expr) -> str:
    calls = (node for node in walk(expr) if isinstance(node, Call))
    return CARRIED if any(is_carried(call.function) for call in calls) else OWN


def write(spark: SparkSession) -> None:
    """Write the table anew."""
    rows = (f"{row.name}\t{row.expression}\t{row.kind}\t{row.support}\n" for row in asked(spark))
    path = Path(page.__file__).with_name("builtins.tsv")
    path.write_text("".join(rows), encoding="utf-8")


def main() -> None:
    """Start a session and write the table."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[1]").appName("builtins").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    write(spark)
    spark.stop()


if __name__ == "__main__":
    main()
