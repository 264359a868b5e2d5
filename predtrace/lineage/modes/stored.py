"""Mode ``stored``: looks up the intermediate results that the job has stored."""

from __future__ import annotations

from pathlib import Path

from predtrace.engines.base import ScanRequest
from predtrace.errors import PredTraceError
from predtrace.inference.plan import LineagePlan
from predtrace.jobs.model import Job
from predtrace.lineage.modes.from_sources import SourceMode
from predtrace.lineage.requests import bound_requests
from predtrace.lineage.stored_results import missing_intermediates, stored_bindings
from predtrace.vocabulary import STORED
from pushdown.graph import OperatorGraph


class StoredMode(SourceMode):
    """Target rows and rows of stored results bind the predicates."""

    @property
    def name(self) -> str:
        """``stored``."""
        return STORED

    def refuse(self, job: Job, plan: LineagePlan) -> None:
        """Refuses unless every intermediate result of the plan is stored."""
        missing = missing_intermediates(job, plan)
        if missing:
            numbers = ", ".join(str(item.binding) for item in missing)
            raise PredTraceError(
                f"job {job.id} has not stored intermediate {numbers} of its plan; use "
                f"mode='replayed', or store it now with build_intermediates() or: predtrace build "
                f"{job.id}"
            )

    def labelled(self, job: Job, plan: LineagePlan) -> LineagePlan:
        """The unchanged plan."""
        return plan

    def requests(
        self, job: Job, graph: OperatorGraph, plan: LineagePlan, folder: Path
    ) -> dict[int, ScanRequest]:
        """Requests for the scans, bound by target rows and stored rows."""
        return bound_requests(job, graph, plan.scans, stored_bindings(job, plan, folder))
