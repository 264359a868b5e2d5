"""The command `predtrace lineage`."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from predtrace.cli.console import Progress, new_console, print_times, write_json
from predtrace.errors import TargetError
from predtrace.text.printable import one_line

if TYPE_CHECKING:
    from predtrace.lineage.rows import ScanRows
    from predtrace.report.answers import ScanReport


def answer(
    job: str,
    store: Path,
    *,
    target: Any,
    mode: str,
    engine: str,
    aggregates: str | None,
    out: Path | None,
    style: str,
    limit: int,
    columns: Sequence[str] | None,
    cache_limit: int,
) -> None:
    """`predtrace lineage`: show, or write, the source rows behind target rows."""
    import predtrace
    from predtrace.report.answers import AnswerReport, evaluate_scan, scan_label
    from predtrace.report.folders import folder_names

    progress = Progress()
    with progress.step("open the job"):
        handle = predtrace.open_job(str(store), job)
    with progress.step("find the target rows"):
        found = handle.lineage(
            target, mode=mode, engine=engine, aggregates=aggregates, cache_limit=cache_limit
        )
        target_rows = found.target_rows
    shown = _columns_by_scan(found.scans, columns)
    names = [scan.name for scan in found.scans]
    labels = [scan_label(scan.name, scan.occurrence, names) for scan in found.scans]
    folders = folder_names(labels)
    places = {scan.node: place for place, scan in enumerate(found.scans)}

    def read(scan: ScanRows) -> ScanReport | None:
        place = places[scan.node]
        with progress.timed(labels[place]):
            if out is not None:
                scan.write_parquet(str(out / folders[place]))
            if style == "parquet":
                return None
            return evaluate_scan(scan, labels[place], limit, shown[scan.node])

    with progress.step("read the sources"):
        scans = [report for report in found.each(read) if report is not None]
    if style == "parquet":
        console = new_console()
        console.print(f"The lineage rows are in {out}, a folder a scan", markup=False)
        for name, folder in zip(labels, folders, strict=True):
            if name != folder:
                console.print(f"{one_line(name)}: in the folder {folder}", markup=False)
        print_times(console, progress.timings)
        return
    report = AnswerReport(
        job=handle.id,
        label=found.label,
        mode=found.mode,
        engine=found.engine,
        target_rows=target_rows,
        missing=found.missing,
        notes=found.notes,
        scans=tuple(scans),
        timings={**progress.timings},
    )
    if style == "json":
        write_json(report.to_dict())
    else:
        report.print(new_console())


def _columns_by_scan(
    scans: Sequence[Any], columns: Sequence[str] | None
) -> dict[int, list[str] | None]:
    """The named columns that each scan has; all of its columns if it has none of them.

    Raises TargetError for a name that no scan has.
    """
    if columns is None:
        return {scan.node: None for scan in scans}
    known = sorted({name for scan in scans for name in scan.columns})
    for name in columns:
        if name.casefold() not in map(str.casefold, known):
            near = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
            told = f"near it: {', '.join(near)}" if near else f"there are {', '.join(known)}"
            raise TargetError(f"--columns: no source has a column {name}; {told}")
    wanted = [name.casefold() for name in columns]
    found = {
        scan.node: sorted(
            (name for name in scan.columns if name.casefold() in wanted),
            key=lambda name: wanted.index(name.casefold()),
        )
        for scan in scans
    }
    return {node: names or None for node, names in found.items()}
