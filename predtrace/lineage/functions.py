"""Questions to jobs that call the user's Python functions.

A predicate that calls a function which nobody gave is answered without it: the answer has all
lineage rows, and perhaps more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from predtrace.engines.base import (
    BindingSource,
    RefinedBinding,
    ReplayedBinding,
    ScanRequest,
    StoredBinding,
    UnionBinding,
    expressions_of,
    replays_of,
    scans_of,
)
from predtrace.environment.python_functions import enter, known, missing
from predtrace.errors import EngineError, PredTraceError
from predtrace.inference.plan import LineagePlan
from predtrace.jobs.function_results import are_kept
from predtrace.jobs.model import Job
from predtrace.vocabulary import SUPERSET
from pushdown.calls import called, python_functions
from pushdown.graph import OperatorGraph
from symbolic.expr import Expr, conjunction, conjuncts
from symbolic.functions import PythonFunction, python_function

Requests = dict[int, ScanRequest]
_LOOKED_UP = (StoredBinding, ReplayedBinding, RefinedBinding)


def give(job: Job, functions: Mapping[str, Callable[..., Any]]) -> None:
    """Take functions, by name, for those that the job calls, whether they are needed or not.

    Raises PredTraceError for a name that it does not call, and for a function that changed.
    """
    if not functions:
        return
    wanted = _called_by(job)
    names = sorted({function.name for function in wanted})
    for name in functions:
        if name not in names:
            calls = f"it calls {', '.join(names)}" if names else "it calls none"
            raise PredTraceError(f"job {job.id} calls no Python function {name!r}; {calls}")
    kept = {each.digest: (each.signature, each.modules or "") for each in job.functions}
    for function in wanted:
        if function.name in functions:
            signature, modules = kept.get(function.digest, ("", ""))
            enter(function, functions[function.name], signature, modules)


def _called_by(job: Job) -> tuple[PythonFunction, ...]:
    """The Python functions of the pipeline, also those whose results or meaning the job has."""
    kept = (python_function(function.id) for function in job.functions if function.id)
    found = (*kept, *python_functions(OperatorGraph(job.graph, job.root)))
    by_digest: dict[str, PythonFunction] = {}
    for function in found:
        if function is not None:
            by_digest.setdefault(function.digest, function)
    return tuple(by_digest.values())


def absent(exprs: Iterable[Expr]) -> frozenset[PythonFunction]:
    """The functions that the expressions call and that this process does not have.

    A function whose results the job kept is not needed.

    Raises PredTraceError for a function that changed.
    """
    return frozenset(
        function for function in called(exprs) if not are_kept(function) and known(function) is None
    )


def is_complete(job: Job) -> bool:
    """Whether this process has all functions that the job calls."""
    return not absent(expr for operator in job.graph for expr in operator.expressions)


def answerable(requests: Requests, plan: LineagePlan) -> tuple[Requests, LineagePlan]:
    """The requests without functions that nobody gave, and the plan with labels that say so.

    Raises EngineError if results have to be computed again with them.
    """
    lacking = absent(expressions_of(list(requests.values())))
    weaker = _Weaker(lacking)
    found = {node: weaker.request(request) for node, request in requests.items()}
    scans = tuple(
        msgspec.structs.replace(scan, label=SUPERSET, reason=scan.reason or weaker.reason)
        if scan.node in found and found[scan.node] != requests[scan.node]
        else scan
        for scan in plan.scans
    )
    return found, msgspec.structs.replace(plan, scans=scans)


class _Weaker:
    """Rewrites requests without conditions that call the functions `lacking`."""

    def __init__(self, lacking: frozenset[PythonFunction]) -> None:
        self._lacking = lacking
        self._done: dict[BindingSource, BindingSource] = {}

    @property
    def reason(self) -> str:
        """Why rows may be too many."""
        return "; ".join(missing(name) for name in sorted({f.name for f in self._lacking}))

    def request(self, request: ScanRequest) -> ScanRequest:
        predicate, binding = self._without(request.predicate), self._binding(request.binding)
        also = tuple(map(self.request, request.also))
        changed = predicate is not request.predicate or binding is not request.binding
        if not changed and all(new is old for new, old in zip(also, request.also, strict=True)):
            return request
        return msgspec.structs.replace(request, predicate=predicate, binding=binding, also=also)

    def _binding(self, binding: BindingSource) -> BindingSource:
        if binding not in self._done:
            self._done[binding] = self._weaker(binding)
        return self._done[binding]

    def _weaker(self, binding: BindingSource) -> BindingSource:
        match binding:
            case StoredBinding():
                predicate, parent = self._without(binding.predicate), self._binding(binding.parent)
                if predicate is binding.predicate and parent is binding.parent:
                    return binding
                return msgspec.structs.replace(binding, predicate=predicate, parent=parent)
            case UnionBinding(parts=parts):
                found = [self._weaker(part) for part in parts]
                if all(new is old for new, old in zip(found, parts, strict=True)):
                    return binding
                return UnionBinding(tuple(part for part in found if isinstance(part, _LOOKED_UP)))
            case ReplayedBinding() | RefinedBinding():
                self._refuse(binding)
        return binding

    def _refuse(self, binding: ReplayedBinding | RefinedBinding) -> None:
        exprs = [
            expr
            for replay in replays_of(binding)
            for node in replay.graph.top_down(replay.node)
            for expr in replay.graph[node].expressions
        ]
        exprs += [binding.predicate, *(scan.predicate for scan in scans_of(binding))]
        for values in binding.sets:
            exprs += [values.predicate, *(member.condition for member in values.memberships)]
        for name in sorted({function.name for function in absent(exprs)}):
            raise EngineError(
                f"{missing(name)}, since results have to be computed again; mode='naive' gives a "
                "superset without it"
            )

    def _without(self, predicate: Expr) -> Expr:
        terms = conjuncts(predicate)
        kept = tuple(term for term in terms if self._lacking.isdisjoint(called((term,))))
        return predicate if len(kept) == len(terms) else conjunction(*kept)
