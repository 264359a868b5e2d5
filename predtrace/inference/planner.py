"""Inference: from an operator graph to its lineage plan (the paper's Algorithms 1 and 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from predtrace.inference.intermediates import Choice, IntermediateChooser
from predtrace.inference.plan import Intermediate, LineagePlan, ScanLineage, Step
from predtrace.inference.precise import Pushdown, Visit, bound_rows, rebind, row_selection
from predtrace.inference.repeating import unrepeatable
from predtrace.inference.sizes import Sizes
from predtrace.inference.unpaired import with_unpaired_rows
from predtrace.inference.zeros import with_blurred_zeros
from predtrace.vocabulary import PRECISE, SUPERSET
from pushdown.graph import OperatorGraph
from pushdown.operators import Scan
from pushdown.readings import MINIMAL
from symbolic.expr import Column, Expr
from symbolic.types import comparable, type_name


def infer(
    graph: OperatorGraph,
    aggregates: str = MINIMAL,
    estimates: Mapping[int, tuple[float, float]] | None = None,
    *,
    deferring: bool = True,
) -> LineagePlan:
    """Infer how to trace any output row of the pipeline back to its scans.

    `aggregates` is ``minimal`` or ``whole`` (SEMANTICS section 2). `estimates` has (rows, bytes) of
    scans by node id; without them sizes are guessed. `deferring` looks for smaller intermediate
    results further up (Algorithm 2); without it the first suitable place is taken. Runs nothing.
    """
    rows = {node: estimate[0] for node, estimate in (estimates or {}).items()}
    return _Inference(graph, aggregates, Sizes(graph, rows), deferring=deferring).run()


def infer_unstored(graph: OperatorGraph, aggregates: str = MINIMAL) -> LineagePlan:
    """The plan that stores nothing: a superset where an operator loses precision."""
    return _Inference(graph, aggregates, Sizes(graph, {}), storing=False).run()


class _Region:
    """The region that one binding reaches; `predicate` has params of binding 0 until it is
    recorded.

    `bound` says that every output row is proved to bind some row of `top`.
    """

    def __init__(
        self, binding: int, top: int, predicate: Expr, lost: Mapping[int, str], *, bound: bool
    ) -> None:
        self.bound = bound
        self.binding = binding
        self.top = top
        self.predicate = predicate
        self.lost = lost


class _Inference:
    def __init__(
        self,
        graph: OperatorGraph,
        aggregates: str,
        sizes: Sizes,
        *,
        storing: bool = True,
        deferring: bool = True,
    ) -> None:
        self._graph = graph
        self._storing = storing
        self._aggregates = aggregates
        self._sizes = sizes
        self._pushdown = Pushdown(graph, aggregates)
        self._chooser = IntermediateChooser(self._pushdown, sizes, deferring=deferring)
        self._intermediates: list[Intermediate] = []
        self._scans: list[ScanLineage] = []
        self._steps: list[Step] = []

    def run(self) -> LineagePlan:
        root = self._graph.root
        pending = [_Region(0, root, row_selection(self._graph.output()), {}, bound=True)]
        while pending:
            pending.extend(self._infer(pending.pop(0)))
        return LineagePlan(
            aggregates=self._aggregates,
            scans=with_blurred_zeros(
                self._graph,
                with_unpaired_rows(
                    self._graph, sorted(self._scans, key=lambda scan: self._order(scan.node))
                ),
                self._intermediates,
            ),
            intermediates=tuple(self._intermediates),
            steps=tuple(sorted(self._steps, key=lambda step: self._order(step.node))),
        )

    def _order(self, node: int) -> int:
        return self._graph.top_down().index(node)

    def _infer(self, region: _Region) -> list[_Region]:
        """Place the intermediate results of one region and record it; returns the regions below
        them."""
        chosen: dict[int, tuple[Choice, int]] = {}
        hopeless: set[int] = set()
        while self._storing and (failing := self._first_loss(region, chosen, hopeless)):
            above = {visit.node: visit.above for visit in self._visits(region, chosen)}
            choice = self._chooser.choose(failing, above, region.top)
            if choice is None:
                hopeless.add(failing)
            else:
                chosen = {
                    node: kept
                    for node, kept in chosen.items()
                    if node not in self._graph.top_down(choice.node)
                }
                chosen[choice.node] = (choice, failing)
        return self._record(region, chosen)

    def _visits(self, region: _Region, ends: Mapping[int, object]) -> list[Visit]:
        return list(self._pushdown.region(region.top, region.predicate, ends=ends))

    def _first_loss(
        self, region: _Region, chosen: Mapping[int, object], hopeless: set[int]
    ) -> int | None:
        for visit in self._pushdown.region(region.top, region.predicate, ends=chosen):
            if not visit.precise and visit.node not in hopeless:
                return visit.node
        return None

    def _record(self, region: _Region, chosen: Mapping[int, tuple[Choice, int]]) -> list[_Region]:
        below: list[_Region] = []
        lost = dict(region.lost)
        for visit in self._visits(region, chosen):
            reason = self._loss_above(visit.node, lost)
            if visit.node in chosen and visit.node != region.top:
                below.append(self._store(region, visit, *chosen[visit.node], reason))
            elif visit.pushed is not None:
                self._record_step(region, visit, reason)
                if not visit.precise:
                    self._note_loss(visit, lost)
            elif isinstance(self._graph[visit.node], Scan):
                self._scans.append(
                    ScanLineage(
                        node=visit.node,
                        predicate=rebind(visit.above, region.binding),
                        binding=region.binding,
                        label=SUPERSET if reason else PRECISE,
                        reason=reason,
                        contributes=region.bound and visit.witnessed,
                    )
                )
        return below

    def _store(
        self, region: _Region, visit: Visit, choice: Choice, failing: int, lost: str
    ) -> _Region:
        binding = len(self._intermediates) + 1
        self._intermediates.append(
            Intermediate(
                binding=binding,
                node=visit.node,
                columns=choice.columns,
                predicate=rebind(visit.above, region.binding),
                parent=region.binding,
                why=self._why(choice, failing),
                inline=bool(unrepeatable(self._graph, visit.node)),
                estimated_rows=self._sizes.rows(visit.node),
                estimated_bytes=self._sizes.bytes(visit.node, choice.columns),
            )
        )
        lost = lost or _incomparable(visit.node, choice.columns)
        inherited = {visit.node: lost} if lost else {}
        predicate = bound_rows(choice.columns, visit.above)
        bound = region.bound and visit.witnessed
        return _Region(binding, visit.node, predicate, inherited, bound=bound)

    def _why(self, choice: Choice, failing: int) -> str:
        operator = type(self._graph[failing]).__name__.rstrip("_")
        place = (
            "its output is stored"
            if choice.node == failing
            else f"the later and smaller output of operator {choice.node} is stored"
        )
        return (
            f"the predicate above operator {failing} ({operator}) does not pin the columns that "
            f"decide which rows pass it; {place}"
        )

    def _record_step(self, region: _Region, visit: Visit, lost: str) -> None:
        assert visit.pushed is not None
        stored = region.binding if visit.node == region.top and region.binding else None
        self._steps.append(
            Step(
                node=visit.node,
                above=rebind(visit.above, region.binding),
                below=tuple(rebind(below, region.binding) for below in visit.pushed.below),
                verdict="exact" if visit.precise else SUPERSET,
                reason=_verdict_reason(visit),
                stored=stored,
            )
        )

    def _note_loss(self, visit: Visit, lost: dict[int, str]) -> None:
        assert visit.pushed is not None
        operator = type(self._graph[visit.node]).__name__.rstrip("_")
        for child, precise in zip(
            self._graph.inputs(visit.node), visit.pushed.precise, strict=True
        ):
            if not precise:
                lost[child] = f"operator {visit.node} ({operator}): {_verdict_reason(visit)}"

    def _loss_above(self, node: int, lost: Mapping[int, str]) -> str:
        current: int | None = node
        while current is not None:
            if current in lost:
                return lost[current]
            current = self._graph.parent(current)
        return ""


def _incomparable(node: int, columns: Sequence[Column]) -> str:
    """The reason why the values of a stored result's row may not identify it; empty if they do."""
    for column in columns:
        if not comparable(column.type):
            return (
                f"operator {node} is stored with {column.name} of type {type_name(column.type)}, "
                "and SQL does not compare maps"
            )
    return ""


def _verdict_reason(visit: Visit) -> str:
    assert visit.pushed is not None
    if visit.precise:
        return "proved: selects the lineage, nothing more"
    if any(visit.pushed.undecided):
        return "the solver could not decide within its budget whether it adds rows"
    return "it may select rows that are not lineage"
