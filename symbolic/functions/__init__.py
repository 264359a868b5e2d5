"""The function table: the facts about every function of the IR.

It has one row per function id, in a module per family. `predtrace/engines` says how an engine
spells a function, and where it is exact. `predtrace/frontends/spark` says how Catalyst names it.
`tests/test_function_table.py` joins the tables. A function without a row is carried by its engine's
own name (`carried`), known by its bytes if users wrote it (`python`), or refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from msgspec.structs import replace

from symbolic.functions.aggregates import CARRIED_AGGREGATE, COMBINES, OPAQUE_AGGREGATE
from symbolic.functions.aggregates import ROWS as _AGGREGATES
from symbolic.functions.arrays import ROWS as _ARRAYS
from symbolic.functions.base import (
    OF_COMPARED,
    STRICT_TEST,
    Aggregate,
    Combines,
    Encoding,
    Function,
    Nulls,
    Semantics,
    Zeros,
)
from symbolic.functions.carried import Carried, carried, is_carried
from symbolic.functions.casts import ROWS as _CASTS
from symbolic.functions.comparisons import ROWS as _COMPARISONS
from symbolic.functions.dates import ROWS as _DATES
from symbolic.functions.described import Described
from symbolic.functions.numbers import ROWS as _NUMBERS
from symbolic.functions.opaque import Opaque, opaque
from symbolic.functions.python import PythonFunction, python_function
from symbolic.functions.pythonic import ROWS as _PYTHONIC
from symbolic.functions.texts import ROWS as _TEXTS
from symbolic.functions.windows import ROWS as _WINDOWS
from symbolic.functions.windows import Draws, Reach, WindowOnly

__all__ = [
    "AGGREGATES",
    "Aggregate",
    "COMBINES",
    "Carried",
    "Combines",
    "DESCRIBED",
    "Described",
    "Draws",
    "Encoding",
    "FUNCTIONS",
    "Function",
    "Nulls",
    "PythonFunction",
    "OF_COMPARED",
    "Opaque",
    "Reach",
    "SAME_FOR_EQUALS",
    "STRICT_TEST",
    "Semantics",
    "TRY_FORMS",
    "WINDOW_ONLY",
    "WindowOnly",
    "Zeros",
    "aggregate_of",
    "by_id",
    "carried",
    "described",
    "is_carried",
    "key_of",
    "opaque",
    "python_function",
    "row_of",
    "shown",
]

_Row = TypeVar("_Row", Function, Aggregate, WindowOnly)


def by_id(*families: Iterable[_Row]) -> dict[str, _Row]:
    """The rows by id. Raises ValueError for an id that is taken, or not of its semantics."""
    found: dict[str, _Row] = {}
    for row in (row for family in families for row in family):
        namespace, dot, _ = row.id.rpartition(".")
        if row.id in found:
            raise ValueError(f"there are two functions {row.id}")
        if namespace + dot != row.semantics.value:
            raise ValueError(f"{row.id} is no id of a function of {row.semantics.name}")
        found[row.id] = row
    return found


FUNCTIONS: Mapping[str, Function] = by_id(
    _COMPARISONS, _NUMBERS, _CASTS, _TEXTS, _DATES, _ARRAYS, _PYTHONIC
)
"""Every scalar function, by id. All are deterministic: others are refused by front ends."""


DESCRIBED: tuple[type[Described], ...] = (Carried, PythonFunction)
"""The kinds of functions without rows of their own."""


def _kind_of(function: str) -> type[Described] | None:
    return next((kind for kind in DESCRIBED if kind.is_kind_of(function)), None)


def described(function: str) -> Described | None:
    """The function of an id that describes it; None for other ids. Raises ValueError."""
    kind = _kind_of(function)
    return None if kind is None else kind.read(function)


def row_of(function: str) -> Function | None:
    """What is known of a function, described ones included; None for an id without a row."""
    kind = _kind_of(function)
    return FUNCTIONS.get(function) if kind is None else kind.ROW


def key_of(function: str) -> str:
    """The key of a function in the tables of engines: its id, or that of all of its kind."""
    kind = _kind_of(function)
    return function if kind is None else kind.KEY


def shown(function: str) -> str:
    """The function as people know it."""
    found = described(function) or opaque(function)
    return function if found is None else found.name


AGGREGATES: Mapping[str, Aggregate] = by_id(_AGGREGATES)
"""Every aggregate function with a row, by id."""


def aggregate_of(function: str) -> Aggregate | None:
    """What is known of an aggregate, carried and opaque ones included; None without a row.

    Raises ValueError for what looks like the id of a carried or opaque one, and is none.
    """
    if opaque(function) is not None:
        return OPAQUE_AGGREGATE
    found = carried(function)
    if found is None:
        return AGGREGATES.get(function)
    return replace(CARRIED_AGGREGATE, combines=COMBINES.get(found.name, Combines.OPAQUE))


WINDOW_ONLY: Mapping[str, WindowOnly] = by_id(_WINDOWS)
"""Every function that only windows have, by id."""

SAME_FOR_EQUALS = frozenset(row.id for row in FUNCTIONS.values() if row.zeros is not Zeros.APART)
"""Functions that give equal results for 0.0 and -0.0."""

TRY_FORMS: Mapping[str, str] = {
    row.try_of: row.id
    for table in (FUNCTIONS, AGGREGATES)
    for row in table.values()
    if row.try_of is not None
}
"""Id of a function that may fail or wrap: its form that gives NULL instead."""
