"""Caveats of an answer: what the job's record lacks, and files that lie elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from predtrace.jobs.model import Job, Source
from predtrace.jobs.snapshot import links_out

_UNSEALED = (
    "the job was saved without checksums: damage to its stored results is noticed only if their "
    "sizes differ"
)
_UNSET = (
    "the job was saved without all of its settings: Spark uses the settings of the asking session, "
    "DuckDB uses Spark's defaults"
)
_UNSAMPLED = (
    "the job was saved without fingerprints of its sources: changes are noticed only by sizes "
    "and times"
)


def unrecorded(job: Job) -> list[str]:
    """Notes on what the record of an earlier version lacks."""
    results = [item.result for item in job.intermediates]
    results += [] if job.output is None else [job.output]
    files = [file for source in job.sources if not source.is_computed for file in source.files]
    found = []
    if not all(result.files for result in results):
        found.append(_UNSEALED)
    if not all(file.fingerprint for file in files):
        found.append(_UNSAMPLED)
    if not job.settings.conf:
        found.append(_UNSET)
    return found


def elsewhere(sources: Sequence[Source]) -> list[str]:
    """Notes on files that do not lie where the record says."""
    found = ((source, links_out(source)) for source in sources)
    return [
        f"source {source.name}: {links[0]}, outside of its paths"
        + (f" (and {len(links) - 1} more)" if len(links) > 1 else "")
        for source, links in found
        if links
    ]
