"""The values of a target row that decide the answer for a scan.

An answer for a scan depends on the target only through the params of binding 0 in the predicates on
the way to the scan. Output rows that agree in these columns have the same answer. So the pass that
builds an index asks once for each group of such rows, and stores the group's row numbers once. A
global subquery has no such params: there is one group.
"""

from __future__ import annotations

from collections.abc import Iterator

from predtrace.engines.base import ScanRequest, TargetBinding, bindings_of, scans_of, spread
from symbolic.expr import Expr, params_of


def deciding_columns(request: ScanRequest) -> frozenset[int]:
    """The ids of the output columns whose values decide which rows the request selects."""
    return frozenset(param.column for param in params_of(*_bound_by_target(request)))


def _bound_by_target(request: ScanRequest) -> Iterator[Expr]:
    """The predicates that have params of the target row."""
    for one in spread((request,)):
        if isinstance(one.binding, TargetBinding):
            yield one.predicate
    for binding in bindings_of((request,)):
        if isinstance(binding.parent, TargetBinding):
            yield binding.predicate
            for scan in scans_of(binding):
                yield from _bound_by_target(scan)
