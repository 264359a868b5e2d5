"""The time zones whose rules in DuckDB are the JVM's.

`zones.txt` names those whose every change of clocks from 1800 to 2100 was compared (see
`tests/engines/test_zones.py`).
"""

from __future__ import annotations

import functools
from importlib.resources import files


@functools.cache
def compared_zones() -> frozenset[str]:
    """The names of these zones."""
    text = files(__package__).joinpath("zones.txt").read_text(encoding="utf-8")
    return frozenset(text.split())


def has_same_rules(zone: str) -> bool:
    """Whether DuckDB has the JVM's rules of the zone."""
    return zone in compared_zones()
