"""Catalyst plans as operators: the walk, and the refused nodes with reasons."""

from __future__ import annotations

from predtrace.errors import NonDeterministicError, PredTraceError, UnsupportedOperatorError
from predtrace.frontends.spark import (
    expansion,
    generators,
    joins,
    opaque,
    rows,
    scans,
    set_operations,
    shared_queries,
)
from predtrace.frontends.spark.catalyst import place
from predtrace.frontends.spark.domains import is_domain, translate_domain
from predtrace.frontends.spark.limits import LIMITS, limit_input, translate_limit
from predtrace.frontends.spark.opaque_columns import UNREADABLE, pull_out_opaque
from predtrace.frontends.spark.recursion import LOOPS, loop_inputs, translate_loop
from predtrace.frontends.spark.registry import BECOMES, REWRITTEN, TRANSLATORS
from predtrace.frontends.spark.sources import REFUSED_LEAVES
from predtrace.frontends.spark.translation import (
    Prepared,
    Translated,
    Translation,
    pull_out_subqueries,
)
from predtrace.frontends.spark.tree import Node
from predtrace.frontends.spark.windows import WINDOWS, translate_windows, window_input

_NOT_YET = "not traced yet"
UNSUPPORTED: dict[str, str] = {
    **REFUSED_LEAVES,
    "BatchEvalPython": f"Python functions are {_NOT_YET}",
    "ArrowEvalPython": f"Python functions are {_NOT_YET}",
    "MapElements": f"functions over JVM objects are {_NOT_YET}",
    "MapPartitions": f"functions over JVM objects are {_NOT_YET}",
    "Tail": "the last rows of an unordered result are up to the run; sort descending and limit",
    "LocalLimit": "a limit per partition is up to the run; use LIMIT",
    "EventTimeWatermark": "streaming is not traced",
    "CommandResult": "it is what a command gave; trace a query",
}
"""Plan node classes known to be refused, with the reason and the way out."""

LEFT_OVER: dict[str, str] = dict.fromkeys(
    REWRITTEN, "this correlated subquery is not traced; write it as a join"
)
"""Why a plan node is refused that should have been rewritten."""
NON_DETERMINISTIC: dict[str, str] = {}
"""Plan node classes whose rows another run may not repeat."""


def translate(translation: Translation, node: Node) -> Translated:
    """Translate a normalised plan, inputs first.

    Raises UnsupportedOperatorError, NonDeterministicError or SourceError, each naming
    the Catalyst class and where it stands in the query.
    """
    # Without recursion: plans can be hundreds of operators deep.
    done: dict[Node, Translated] = {}
    waiting = [(node, False)]
    while waiting:
        current, inputs_done = waiting.pop()
        if is_domain(translation, current):
            done[current] = translate_domain(translation, current, done)
            continue
        below = _inputs(current)
        if inputs_done:
            inputs = tuple(done.pop(child) for child in below)
            done[current] = _translated(translation, current, inputs)
        else:
            waiting.append((current, True))
            waiting.extend((child, False) for child in reversed(below))
    return done[node]


def _inputs(node: Node) -> tuple[Node, ...]:
    if node.cls in LIMITS:
        return (limit_input(node),)
    if node.cls in WINDOWS:
        return (window_input(node),)
    if node.cls in LOOPS:
        return loop_inputs(node)
    if node.cls not in TRANSLATORS:
        raise _refusal(node)
    return node.children


def _translated(translation: Translation, node: Node, inputs: tuple[Translated, ...]) -> Translated:
    if node.cls in LIMITS:
        return translate_limit(translation, node, *inputs)
    if node.cls in WINDOWS:
        return translate_windows(translation, node, *inputs)
    if node.cls in LOOPS:
        return translate_loop(translation, node, inputs)
    prepared = Prepared(node, inputs, node.roots())
    pull_out_subqueries(translation, prepared, lambda plan: translate(translation, plan))
    try:
        return TRANSLATORS[node.cls](translation, prepared)
    except UNREADABLE:
        if not pull_out_opaque(translation, prepared):
            raise
    return TRANSLATORS[node.cls](translation, prepared)


def _refusal(node: Node) -> PredTraceError:
    where = place(node.handle)
    if node.cls in NON_DETERMINISTIC:
        return NonDeterministicError(
            f"Catalyst operator {node.cls} cannot be traced: {NON_DETERMINISTIC[node.cls]}; "
            f"write its result to Parquet and read that{where}"
        )
    why = {**LEFT_OVER, **UNSUPPORTED}.get(node.cls, "it is not known to predtrace")
    return UnsupportedOperatorError(f"Catalyst operator {node.cls} cannot be traced: {why}{where}")


__all__ = ["BECOMES", "NON_DETERMINISTIC", "TRANSLATORS", "UNSUPPORTED", "translate"]
# Importing these modules fills the registry.
_FAMILIES = (expansion, generators, joins, opaque, rows, scans, set_operations, shared_queries)
