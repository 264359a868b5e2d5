"""The systems that are asked, one instance of each for every query.

All run on the same engine, over the same Parquet files, and give their answers as Arrow tables.
predtrace is asked through its public interface, in each of its modes. `QUERY` runs the query
itself; few answers can be much faster.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tpch.bench.figures import ROWS
from tpch.bench.systems.base import Subject, System
from tpch.bench.systems.eager import Eager
from tpch.bench.systems.ours import Indexed, OurMode, PlainQuery, Unproved
from tpch.bench.systems.pages import Pages
from tpch.bench.systems.panda import Panda
from tpch.bench.systems.rewritten import Perm, Trace
from tpch.bench.systems.smokedduck import SmokedDuck

PAGES = "pages"
PRECISE = ("stored", "replayed", "indexed", "perm", "trace", "panda", "eager", PAGES)
"""Systems whose answers must be the same."""
FOREIGN = ("smokedduck",)
"""Third-party software, asked only if named: its different answers are not our errors."""
QUERY = "query"
ONLY = {PAGES: (ROWS,)}
"""The measures of systems that answer less than others."""
PERM = "perm"

MAKERS: dict[str, Callable[[Subject], System]] = {
    QUERY: PlainQuery,
    "stored": partial(OurMode, mode="stored"),
    "replayed": partial(OurMode, mode="replayed"),
    "refined": partial(Unproved, mode="refined"),
    "indexed": Indexed,
    "naive": partial(Unproved, mode="naive"),
    PERM: Perm,
    "trace": Trace,
    "panda": Panda,
    "eager": Eager,
    PAGES: Pages,
    "smokedduck": SmokedDuck,
}
"""System: the function that makes it for a query."""
SYSTEMS = tuple(MAKERS)
DEFAULT = tuple(name for name in SYSTEMS if name not in FOREIGN)
