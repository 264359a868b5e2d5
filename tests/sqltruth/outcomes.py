"""The outcome of a statement."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.sqltruth.batches import Choices
from tests.sqltruth.rows import Row
from tests.sqltruth.values import row_key


@dataclass
class Outcome:
    """The outcome of one seed; `findings` are the problems."""

    seed: int
    text: str
    choices: Choices
    status: str = "asked"
    targets: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    findings: list[dict[str, Any]] = field(default_factory=list)

    def record(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "seed": self.seed,
            "status": self.status,
            "targets": self.targets,
            "labels": dict(self.labels),
            "refusals": dict(self.refusals),
            "findings": self.findings,
            **({"sql": self.text, "choices": self.choices._asdict()} if self.findings else {}),
        }

    def refused(self, where: str, refusal: Exception) -> None:
        """Count an error of predtrace's own; one that tells of a broken query is a finding."""
        if "could not evaluate" in str(refusal):
            self.found("broken query", where=where, error=first_line(refusal))
        self.refusals[f"{where}: {type(refusal).__name__}: {first_line(refusal)}"] += 1

    def found(self, kind: str, **facts: Any) -> None:
        """Note a problem: the first of its kind in each mode."""
        if not any(
            old["kind"] == kind and old.get("where") == facts.get("where") for old in self.findings
        ):
            self.findings.append({"kind": kind, **facts})


def first_line(error: Exception) -> str:
    """The beginning of an error's text."""
    return str(error).split("\n")[0][:300]


def output_rows(table: Any) -> list[Row]:
    """An Arrow table's rows, by position; column names may repeat."""
    columns = [column.to_pylist() for column in table.columns]
    return list(zip(*columns, strict=True)) if columns else []


def counted(rows: Sequence[Row]) -> Counter[Row]:
    """The rows as a bag."""
    return Counter(map(row_key, rows))


def answered(scan: Any) -> dict[int, list[int]]:
    """By target number the row numbers of one scan; every table is one file."""
    found: dict[int, list[int]] = defaultdict(list)
    ids = scan.row_ids()
    for target, row in zip(ids["target"].to_pylist(), ids["row"].to_pylist(), strict=True):
        found[target].append(row)
    return found
