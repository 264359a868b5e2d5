"""Which values of a target row decide what a scan answers.

All that an answer for a scan knows of the target is the params of binding 0 in the
predicates on the way to it. Output rows that agree in these columns have the same answer,
so the pass that builds an index asks once for each group of such rows, and the group's row
numbers are stored once. Rows of a global subquery have no params: there is one group.
"""

from __future__ import annotations

from collections.abc import Iterator

from predtrace.engines.base import ScanRequest, TargetLink, scans_of
from symbolic.expr import Expr, params_of


def deciding_columns(request: ScanRequest) -> frozenset[int]:
    """The output columns (ids) whose values decide which rows the request selects."""
    return frozenset(param.column for param in params_of(*_bound_by_target(request)))


def _bound_by_target(request: ScanRequest) -> Iterator[Expr]:
    """The predicates whose params the target row gives values to."""
    link = request.link
    if isinstance(link, TargetLink):
        yield request.predicate
        return
    while not isinstance(link.parent, TargetLink):
        link = link.parent
    yield link.predicate
    for scan in scans_of(link):
        yield from _bound_by_target(scan)
