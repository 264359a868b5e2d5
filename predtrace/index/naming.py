"""Scans by name: a table, an alias, or one occurrence of a table, as ``lineitem[2]``."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from predtrace.errors import PredTraceError
from pushdown.operators import Scan


def chosen_scans(scans: Sequence[Scan], names: Collection[str] | None) -> tuple[Scan, ...]:
    """The scans of these names, in plan order; all without names.

    Raises PredTraceError for a name that no scan has.
    """
    if names is None:
        return tuple(scans)
    if isinstance(names, str):
        names = [names]
    found = {name: [scan for scan in scans if _is_named(scan, name)] for name in names}
    unknown = [name for name, scan in found.items() if not scan]
    if unknown or not found:
        listed = ", ".join(f"{scan.table}[{scan.occurrence}]" for scan in scans)
        wrong = f"no scan of {unknown[0]}" if unknown else "no scan given"
        raise PredTraceError(f"{wrong}; there are {listed}")
    nodes = {scan.id for some in found.values() for scan in some}
    return tuple(scan for scan in scans if scan.id in nodes)


def _is_named(scan: Scan, name: str) -> bool:
    one = re.fullmatch(r"(.+)\[(\d+)\]", name)
    if one is not None:
        return scan.table == one[1] and scan.occurrence == int(one[2])
    return name in (scan.table, scan.alias)
