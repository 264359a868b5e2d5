"""Mode ``naive``: pushdown alone, whatever precision it loses; for comparison."""

from __future__ import annotations

from pathlib import Path

from predtrace.engines.base import ScanRequest, TargetBinding
from predtrace.inference.plan import LineagePlan
from predtrace.jobs.model import Job
from predtrace.lineage.modes.from_sources import SourceMode
from predtrace.lineage.on_demand import naive_scans, with_scans
from predtrace.lineage.requests import bound_requests
from predtrace.vocabulary import NAIVE
from pushdown.graph import OperatorGraph


class NaiveMode(SourceMode):
    """The target rows bind all predicates."""

    @property
    def name(self) -> str:
        """``naive``."""
        return NAIVE

    def refuse(self, job: Job, plan: LineagePlan) -> None:
        """Never refuses: nothing needs to be stored."""

    def labelled(self, job: Job, plan: LineagePlan) -> LineagePlan:
        """The plan with the predicates and labels of pushdown alone."""
        return with_scans(plan, naive_scans(job, plan.aggregates))

    def requests(
        self, job: Job, graph: OperatorGraph, plan: LineagePlan, folder: Path
    ) -> dict[int, ScanRequest]:
        """Requests for the scans, bound by target rows."""
        return bound_requests(job, graph, naive_scans(job, plan.aggregates), {0: TargetBinding()})
