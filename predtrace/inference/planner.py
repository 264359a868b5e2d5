"""Inference: from an operator graph to its lineage plan (the paper's Algorithms 1 and 2)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from predtrace.inference.consumers import MOST_KEPT_APART, Asked, common_terms, merged
from predtrace.inference.intermediates import Choice, IntermediateChooser
from predtrace.inference.plan import Intermediate, LineagePlan, ScanLineage, Selection, Step
from predtrace.inference.precise import Pushdown, Visit, bound_rows, rebind, row_selection
from predtrace.inference.repeating import unrepeatable
from predtrace.inference.sizes import Sizes
from predtrace.inference.unpaired import with_unpaired_rows
from predtrace.inference.zeros import with_blurred_zeros
from predtrace.vocabulary import PRECISE, SUPERSET
from pushdown.graph import OperatorGraph
from pushdown.operators import Scan, kind_of
from pushdown.readings import MINIMAL
from pushdown.rules import LEAVES
from symbolic.expr import TRUE, Column, disjunction
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
    """The operators from `top` down to nodes that are stored or shared, and what is asked of `top`.

    `stored` says that the bound rows are rows of `top` itself.
    """

    def __init__(self, top: int, asked: Asked, *, stored: bool) -> None:
        self.top = top
        self.asked = asked
        self.stored = stored


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
        self._steps: list[Step] = []
        self._asked: dict[int, list[Asked]] = {}
        self._bound = {0: True}
        self._places = {node: place for place, node in enumerate(graph.top_down())}

    def run(self) -> LineagePlan:
        target = Asked(0, row_selection(self._graph.output()), lost="", witnessed=True)
        pending = [_Region(self._graph.root, target, stored=True)]
        # Consumers first: when it is a shared node's turn, all that is asked of it is known.
        shared = [node for node in self._places if self._is_asked_by_several(node)]
        while pending or shared:
            if pending:
                pending.extend(self._infer(pending.pop(0)))
            else:
                pending.extend(self._infer_shared(shared.pop(0)))
        return LineagePlan(
            aggregates=self._aggregates,
            scans=with_blurred_zeros(
                self._graph,
                with_unpaired_rows(self._graph, map(self._scanned, self._scans())),
                self._intermediates,
            ),
            intermediates=tuple(self._intermediates),
            steps=tuple(sorted(self._steps, key=lambda step: self._places[step.node])),
        )

    def _infer(self, region: _Region) -> list[_Region]:
        """Place the intermediate results of one region and record it; returns the regions below
        them."""
        chosen: dict[int, tuple[Choice, int]] = {}
        hopeless: set[int] = set()
        while self._storing and (failing := self._first_loss(region, chosen, hopeless)):
            above = {visit.node: visit.above for visit in self._visits(region, chosen)}
            choice = self._chooser.choose(failing, above, region.top, with_top=not region.stored)
            if choice is None:
                hopeless.add(failing)
            elif choice.node == region.top:
                why = self._why(choice, failing)
                return [self._store(choice, (region.asked,), why)]
            else:
                below = self._graph.top_down(choice.node)
                chosen = {node: kept for node, kept in chosen.items() if node not in below}
                chosen[choice.node] = (choice, failing)
        return self._record(region, chosen)

    def _infer_shared(self, node: int) -> list[_Region]:
        """The regions under a shared node, of which all consumers have asked."""
        asked = self._merged(node)
        regions = [_Region(node, one, stored=False) for one in asked]
        if len(asked) == 1:
            return regions
        few = len(asked) <= MOST_KEPT_APART
        if few and not (self._storing and any(map(self._loses, regions))):
            return regions
        names = " and ".join(map(str, sorted(set(self._graph.consumers(node)))))
        choice = None
        if self._storing:
            choice = self._chooser.choose_at(node, [one.predicate for one in asked])
        if choice is None:
            return [_Region(node, self._weakened(node, asked), stored=False)]
        why = f"operators {names} ask for different rows of it; what it gives them is stored once"
        return [self._store(choice, asked, why)]

    def _merged(self, node: int) -> tuple[Asked, ...]:
        """The requests to a node, without predicates whose rows another predicate selects."""
        asked = merged(self._asked[node])
        everything = [one for one in asked if one.predicate == TRUE and self._contributes(one)]
        precise_first = sorted(everything, key=lambda one: bool(one.lost))
        return tuple(precise_first[:1]) or asked

    def _weakened(self, node: int, asked: Sequence[Asked]) -> Asked:
        """One predicate that selects all rows that are asked for."""
        lost = (
            f"operator {node} ({kind_of(self._graph[node])}): its consumers ask for its rows by "
            "more predicates than are kept apart"
        )
        (binding, *others) = {one.binding for one in asked}
        common = common_terms([one.predicate for one in asked])
        witnessed = any(map(self._contributes if others else _witnessed, asked))
        return Asked(0 if others else binding, TRUE if others else common, lost, witnessed)

    def _contributes(self, asked: Asked) -> bool:
        """Whether every output row is proved to need a row that is asked for."""
        return asked.witnessed and self._bound[asked.binding]

    def _loses(self, region: _Region) -> bool:
        return any(not visit.precise for visit in self._visits(region, ()))

    def _visits(self, region: _Region, ends: Collection[int]) -> list[Visit]:
        return list(self._walk(region, ends))

    def _walk(self, region: _Region, ends: Collection[int]) -> Iterator[Visit]:
        asked = region.asked
        return self._pushdown.region(region.top, asked.predicate, ends, witnessed=asked.witnessed)

    def _first_loss(
        self, region: _Region, chosen: Collection[int], hopeless: set[int]
    ) -> int | None:
        for visit in self._walk(region, chosen):
            if not visit.precise and visit.node not in hopeless:
                return visit.node
        return None

    def _record(self, region: _Region, chosen: Mapping[int, tuple[Choice, int]]) -> list[_Region]:
        below: list[_Region] = []
        lost: dict[int | None, str] = {None: region.asked.lost}
        lost_at: dict[tuple[int | None, int], str] = {}
        for visit in self._visits(region, chosen):
            reason = lost_at.get((visit.consumer, visit.node), lost[visit.consumer])
            asked = Asked(region.asked.binding, visit.above, reason, visit.witnessed)
            if visit.node in chosen and visit.node != region.top:
                choice, failing = chosen[visit.node]
                below.append(self._store(choice, (asked,), self._why(choice, failing)))
            elif visit.pushed is not None:
                lost[visit.node] = reason
                self._record_step(region, visit)
                lost_at |= self._losses(visit)
            else:
                self._asked.setdefault(visit.node, []).append(asked)
        return below

    def _is_asked_by_several(self, node: int) -> bool:
        return node in self._graph.shared and type(self._graph[node]) not in LEAVES

    def _scans(self) -> list[int]:
        return [node for node in self._places if isinstance(self._graph[node], Scan)]

    def _scanned(self, node: int) -> ScanLineage:
        asked = self._merged(node)
        first, *others = (Selection(rebind(a.predicate, a.binding), a.binding) for a in asked)
        reason = next((one.lost for one in asked if one.lost), "")
        return ScanLineage(
            node=node,
            predicate=first.predicate,
            binding=first.binding,
            label=SUPERSET if reason else PRECISE,
            reason=reason,
            contributes=any(map(self._contributes, asked)),
            also=tuple(others),
        )

    def _store(self, choice: Choice, asked: Sequence[Asked], why: str) -> _Region:
        """Store a node for those that ask for its rows; the region that its own rows bind."""
        node = choice.node
        binding = len(self._intermediates) + 1
        first, *others = (Selection(rebind(a.predicate, a.binding), a.binding) for a in asked)
        self._intermediates.append(
            Intermediate(
                binding=binding,
                node=node,
                columns=choice.columns,
                predicate=first.predicate,
                parent=first.binding,
                why=why,
                inline=bool(unrepeatable(self._graph, node)),
                estimated_rows=self._sizes.rows(node),
                estimated_bytes=self._sizes.bytes(node, choice.columns),
                also=tuple(others),
            )
        )
        lost = next((one.lost for one in asked if one.lost), "")
        found = Asked(
            binding,
            bound_rows(choice.columns, disjunction(*(one.predicate for one in asked))),
            lost or _incomparable(node, choice.columns),
            witnessed=True,
        )
        self._bound[binding] = any(map(self._contributes, asked))
        return _Region(node, found, stored=True)

    def _why(self, choice: Choice, failing: int) -> str:
        operator = kind_of(self._graph[failing])
        place = (
            "its output is stored"
            if choice.node == failing
            else f"the later and smaller output of operator {choice.node} is stored"
        )
        return (
            f"the predicate above operator {failing} ({operator}) does not pin the columns that "
            f"decide which rows pass it; {place}"
        )

    def _record_step(self, region: _Region, visit: Visit) -> None:
        assert visit.pushed is not None
        binding = region.asked.binding
        stored = binding if visit.node == region.top and region.stored and binding else None
        self._steps.append(
            Step(
                node=visit.node,
                above=rebind(visit.above, binding),
                below=tuple(rebind(below, binding) for below in visit.pushed.below),
                verdict="exact" if visit.precise else SUPERSET,
                reason=_verdict_reason(visit),
                stored=stored,
            )
        )

    def _losses(self, visit: Visit) -> dict[tuple[int | None, int], str]:
        """The reasons why an operator loses precision, by the edges to its inputs."""
        assert visit.pushed is not None
        reason = f"operator {visit.node} ({kind_of(self._graph[visit.node])}): "
        inputs = zip(self._graph.inputs(visit.node), visit.pushed.precise, strict=True)
        return {
            (visit.node, child): reason + _verdict_reason(visit)
            for child, precise in inputs
            if not precise
        }


def _witnessed(asked: Asked) -> bool:
    return asked.witnessed


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
