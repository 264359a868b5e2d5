"""The explanation of a lineage plan: what `trace.explain()` shows.

For each operator it has the predicates above and below, the verdict and its reason. For each stored
intermediate result it has the operator, the columns, why it is kept and how large it is. For each
scan it has the predicate that selects its lineage rows, and the label.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from predtrace.inference.plan import Intermediate, LineagePlan, ScanLineage, Selection, Step
from predtrace.jobs.model import StoredIntermediate, StoredResult
from predtrace.report.names import ColumnNames, scan_name
from predtrace.report.operators import describe
from predtrace.text.layout import counted, plain, size
from predtrace.text.printable import printable
from predtrace.vocabulary import PRECISE
from pushdown.graph import OperatorGraph
from pushdown.operators import Scan

if TYPE_CHECKING:
    from rich.console import Group, RenderableType
    from rich.table import Table
    from rich.tree import Tree


class Explanation:
    """A plan for people to read: print it, show it in rich, or call `to_dict()`.

    `stored` are the intermediate results of a job that ran by this plan, for their true sizes.
    """

    def __init__(
        self, graph: OperatorGraph, plan: LineagePlan, stored: Iterable[StoredIntermediate] = ()
    ) -> None:
        self.graph = graph
        self.plan = plan
        self._stored: dict[int, StoredResult] = {
            item.binding: item.result for item in stored if item.aggregates == plan.aggregates
        }
        self._names = ColumnNames(graph)
        self._steps: dict[int, list[Step]] = {}
        for step in plan.steps:
            self._steps.setdefault(step.node, []).append(step)
        self._scans = {scan.node: scan for scan in plan.scans}

    @property
    def label(self) -> str:
        """The weakest label that the plan promises for a scan."""
        return next((scan.label for scan in self.plan.scans if scan.label != PRECISE), PRECISE)

    def to_dict(self) -> dict[str, Any]:
        """The explanation as plain data for JSON: operators, intermediates, scans."""
        return {
            "aggregates": self.plan.aggregates,
            "label": self.label,
            "operators": [self._operator(node) for node in self.graph.top_down()],
            "intermediates": [self._intermediate(item) for item in self.plan.intermediates],
            "scans": [self._scan(scan) for scan in self._ordered_scans()],
        }

    def to_text(self, width: int = 100) -> str:
        """The explanation as plain text of at most `width` columns."""
        return plain(self.__rich__(), width)

    def __str__(self) -> str:
        return self.to_text()

    __repr__ = __str__

    def __rich__(self) -> Group:
        from rich.console import Group
        from rich.text import Text

        parts: list[RenderableType] = [
            Text("Operators, the pipeline's output first", style="bold underline"),
            self._tree(),
            Text(""),
            Text("Stored intermediates", style="bold underline"),
        ]
        if self.plan.intermediates:
            parts += self._intermediate_blocks()
        else:
            parts.append(Text("none needed: the target row alone selects the rows of every scan"))
        parts += [Text(""), Text("Lineage of each scan", style="bold underline")]
        return Group(*parts, *self._scan_blocks())

    def _ordered_scans(self) -> list[ScanLineage]:
        return [self._scans[scan.id] for scan in self.graph.scans() if scan.id in self._scans]

    def _operator(self, node: int) -> dict[str, Any]:
        operator = self.graph[node]
        found: dict[str, Any] = {
            "node": node,
            "inputs": list(self.graph.inputs(node)),
            "operator": type(operator).__name__.rstrip("_"),
            "text": describe(operator, self.graph, self._names),
            "code": None if operator.origin is None else operator.origin.text,
        }
        steps = [self._step(step) for step in self._steps.get(node, ())]
        if steps:
            found |= steps[0]
        if len(steps) > 1:
            # Several operators read it, each with a predicate of its own.
            found["also"] = steps[1:]
        return found

    def _step(self, step: Step) -> dict[str, Any]:
        return {
            "above": self._names.predicate(step.above),
            "below": [self._names.predicate(predicate) for predicate in step.below],
            "verdict": step.verdict,
            "reason": step.reason,
            "stored": step.stored,
        }

    def _selected(self, selections: Sequence[Selection]) -> str:
        """The rows that several selections give together, as text."""
        texts = [self._names.predicate(one.predicate) for one in selections]
        return texts[0] if len(texts) == 1 else " OR ".join(f"({text})" for text in texts)

    def _intermediate(self, item: Intermediate) -> dict[str, Any]:
        stored = self._stored.get(item.binding)
        return {
            "binding": item.binding,
            "node": item.node,
            "operator": describe(self.graph[item.node], self.graph, self._names),
            "columns": [self._names.name(column) for column in item.columns],
            "why": item.why,
            "predicate": self._selected(item.selections),
            "parent": item.parent,
            "inline": item.inline,
            "estimated_rows": item.estimated_rows,
            "estimated_bytes": item.estimated_bytes,
            "stored_rows": stored.rows if stored else None,
            "stored_bytes": stored.bytes if stored else None,
        }

    def _scan(self, scan: ScanLineage) -> dict[str, Any]:
        operator = self.graph[scan.node]
        assert isinstance(operator, Scan)
        return {
            "node": scan.node,
            "scan": scan_name(operator, self.graph),
            "table": operator.table,
            "occurrence": operator.occurrence,
            "alias": operator.alias,
            "predicate": self._selected(scan.selections),
            "binding": scan.binding,
            "label": scan.label,
            "reason": scan.reason,
        }

    def _tree(self) -> Tree:
        """The operators; a chain of operators with one input is one branch of the tree.

        What several operators read starts a branch, and is shown where it is read first.
        """
        from rich.console import Group
        from rich.tree import Tree

        def chain(node: int) -> list[int]:
            nodes = [node]
            while len(inputs := self.graph.inputs(nodes[-1])) == 1:
                if inputs[0] in self.graph.shared:
                    break
                nodes.append(inputs[0])
            return nodes

        def block(nodes: list[int]) -> Group:
            return Group(*(line for node in nodes for line in self._lines(node)))

        top = chain(self.graph.root)
        tree = Tree(block(top), guide_style="dim")
        pending = [(tree, top[-1])]
        shown: set[int] = set()
        while pending:
            branch, node = pending.pop()
            for child in self.graph.inputs(node):
                if child in shown:
                    branch.add(f"operator #{child}, which is shown elsewhere")
                    continue
                if child in self.graph.shared:
                    shown.add(child)
                nodes = chain(child)
                pending.append((branch.add(block(nodes)), nodes[-1]))
        return tree

    def _lines(self, node: int) -> list[RenderableType]:
        from rich.text import Text

        # Reasons name operators by number.
        text = printable(describe(self.graph[node], self.graph, self._names))
        lines: list[RenderableType] = [Text.assemble((text, "bold cyan"), (f"  #{node}", "dim"))]
        lines += [self._fields(self._step_fields(step)) for step in self._steps.get(node, ())]
        if scan := self._scans.get(node):
            lines.append(self._fields(_scan_fields(scan, self._selected(scan.selections))))
        return lines

    def _step_fields(self, step: Step) -> list[tuple[str, str, str]]:
        above = self._names.predicate(step.above)
        fields = [("above", above, "")]
        for side, predicate in zip(_sides(len(step.below)), step.below, strict=True):
            below = self._names.predicate(predicate)
            fields.append((side, "as above" if below == above else below, ""))
        verdict = f"{step.verdict}: {step.reason}" if step.reason else step.verdict
        fields.append(("verdict", verdict, _style(step.verdict)))
        if step.stored is not None:
            fields.append(("stored", f"intermediate {step.stored}", "magenta"))
        return fields

    def _fields(self, fields: list[tuple[str, str, str]]) -> Table:
        from rich.padding import Padding
        from rich.table import Table
        from rich.text import Text

        grid = Table.grid(padding=(0, 1))
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column(overflow="fold")
        for name, value, style in fields:
            grid.add_row(Padding(name, (0, 0, 0, 2)), Text(printable(value), style=style))
        return grid

    def _intermediate_blocks(self) -> Iterator[RenderableType]:
        from rich.text import Text

        for item in self.plan.intermediates:
            data = self._intermediate(item)
            yield Text(printable(f"{item.binding}. {data['operator']}"), style="bold magenta")
            fields = [("columns", ", ".join(data["columns"]), ""), ("rows", data["predicate"], "")]
            yield self._fields([*fields, ("size", _size(data), ""), ("why", item.why, "")])

    def _scan_blocks(self) -> Iterator[RenderableType]:
        from rich.text import Text

        for scan in self._ordered_scans():
            data = self._scan(scan)
            yield Text(printable(data["scan"]), style="bold cyan")
            yield self._fields(_scan_fields(scan, data["predicate"]))


def _size(data: dict[str, Any]) -> str:
    if data["stored_bytes"] is not None:
        return f"{counted(data['stored_rows'], 'row')}, {size(data['stored_bytes'])}"
    if data["estimated_bytes"] is None:
        return "unknown"
    return f"about {counted(data['estimated_rows'], 'row')}, {size(data['estimated_bytes'])}"


def _scan_fields(scan: ScanLineage, predicate: str) -> list[tuple[str, str, str]]:
    label = f"{scan.label}: {scan.reason}" if scan.reason else scan.label
    return [("rows", predicate, ""), ("label", label, _style(scan.label))]


def _sides(inputs: int) -> list[str]:
    """The headings for the predicates of an operator with so many inputs."""
    named: dict[int, list[str]] = {1: ["below"], 2: ["left", "right"]}
    return named.get(inputs) or [f"input {index + 1}" for index in range(inputs)]


def _style(verdict: str) -> str:
    return "green" if verdict in ("exact", PRECISE) else "yellow"
