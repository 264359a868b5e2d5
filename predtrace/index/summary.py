"""What an index holds and costs, compared with plain row-id indexes."""

from __future__ import annotations

import msgspec

from predtrace.index.file import JobIndex, ScanEntry
from predtrace.jobs.model import Job
from pushdown.operators import Scan

_PLAIN = 4


class ScanSummary(msgspec.Struct, frozen=True):
    """One scan of an index: pairs of output and source rows, and the bytes they take.

    `plain_bytes` is the size as in Smoke: lists of four-byte row numbers, one list per output row
    and one per source row, with the place where each list begins.
    """

    scan: str
    links: int
    bytes: int
    plain_bytes: int


class IndexSummary(msgspec.Struct, frozen=True, kw_only=True):
    """An index: the number of output rows, and how many it covers; `seconds` is the time of
    building.

    `there` says that it existed already, and that nothing was built.
    """

    job: str
    aggregates: str
    rows: int
    covered: int
    seconds: float
    bytes: int
    scans: tuple[ScanSummary, ...]
    there: bool = False

    @property
    def plain_bytes(self) -> int:
        """The size of plain row-id indexes."""
        return sum(scan.plain_bytes for scan in self.scans)


def summary(job: Job, index: JobIndex, *, there: bool = False) -> IndexSummary:
    """What a job's index holds and costs; `there` says that it existed already."""
    head = index.head
    names = {
        operator.id: f"{operator.table}[{operator.occurrence}]"
        for operator in job.graph
        if isinstance(operator, Scan)
    }
    return IndexSummary(
        job=job.id,
        aggregates=head.aggregates,
        rows=head.rows,
        covered=head.covered,
        seconds=head.seconds,
        bytes=index.nbytes,
        scans=tuple(
            ScanSummary(
                names[entry.node],
                entry.links,
                entry.forth + entry.back,
                _plain_bytes(entry, head.covered),
            )
            for entry in head.scans
        ),
        there=there,
    )


def _plain_bytes(entry: ScanEntry, outputs: int) -> int:
    return _PLAIN * (2 * entry.links + outputs + entry.source_rows)
