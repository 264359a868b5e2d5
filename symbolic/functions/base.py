"""The rows of the function table: one struct for functions, one for aggregates.

No fact has a default that could be silently wrong: a row cannot leave out a fact.
"""

from __future__ import annotations

from enum import Enum

import msgspec

from symbolic.types import DataType

STRICT_TEST = "strict test "
"""Prefix of the ids of made-up predicates in proofs that are NULL for NULL."""

OF_COMPARED = " of what comparisons see"
"""Suffix of such ids if the predicate gives the same result for equal values."""


class Semantics(Enum):
    """The semantics that a function belongs to. The value is the prefix of the ids."""

    SPARK = ""
    """Spark SQL's, under the settings of the job. Plain ids."""
    PYTHON = "python."
    """Python's, as functions of users are written in it."""


class Nulls(Enum):
    """The cases in which a function's result is NULL."""

    PROPAGATES = "propagates"
    """If an argument is NULL, and perhaps in other cases (a failed cast)."""
    PROPAGATES_ONLY = "propagates only"
    """If an argument is NULL and in no other case, under all settings."""
    ONLY_FROM_NULLS = "only from nulls"
    """At most if an argument is NULL (AND)."""
    NEVER_NULL = "never null"
    """Never (IS NULL, <=>)."""
    OWN = "own"
    """By a rule of its own (CASE, COALESCE), or by a rule that is not stated."""

    @property
    def propagates(self) -> bool:
        """Whether a NULL argument makes the result NULL."""
        return self in (Nulls.PROPAGATES, Nulls.PROPAGATES_ONLY)

    @property
    def only_from_nulls(self) -> bool:
        """Whether the result of arguments that are not NULL is not NULL."""
        return self in (Nulls.PROPAGATES_ONLY, Nulls.ONLY_FROM_NULLS, Nulls.NEVER_NULL)


class Zeros(Enum):
    """The results for 0.0 and -0.0, which comparisons treat as one value."""

    SAME = "same"
    """The same result."""
    EQUAL = "equal"
    """Results that are equal to comparisons (and may be 0.0 and -0.0 again)."""
    APART = "apart"
    """Perhaps different results."""


class Encoding(Enum):
    """The solver's knowledge of a function."""

    INTERPRETED = "interpreted"
    """`symbolic.encode` has its exact meaning."""
    UNINTERPRETED = "uninterpreted"
    """Only that equal arguments give equal results, and what `nulls` says."""


class Function(msgspec.Struct, frozen=True):
    """One deterministic function.

    `type` is the result type of every call; None if it differs between calls, or if the front end
    determines it. `meaning` is a line for people. `try_of` names the function that fails, or wraps,
    where this function is NULL.
    """

    id: str
    type: DataType | None
    nulls: Nulls
    meaning: str
    zeros: Zeros
    semantics: Semantics
    encoding: Encoding
    try_of: str | None = None


class Combines(Enum):
    """The way in which an aggregate combines the values of its group."""

    ATTAINS = "attains"
    """It takes one of them: the rows that have it are the minimal lineage."""
    COUNTS = "counts"
    """It counts them, or connects truth values or bits."""
    ADDS = "adds"
    """It adds them up."""
    SORTS = "sorts"
    """It sorts them and computes with the values in the middle."""
    COMPUTES = "computes"
    """It computes with all of them as floating-point numbers."""
    PICKS = "picks"
    """It takes one of them: the order of the rows decides which."""
    COLLECTS = "collects"
    """It puts them together in the order of the rows."""
    MERGES = "merges"
    """It summarises parts of the group, and how these are merged decides the result."""
    OPAQUE = "opaque"
    """In a way that nothing is known of."""

    @property
    def by_order(self) -> bool:
        """Whether the order of the rows may decide the result, whatever their values are."""
        return self in (Combines.PICKS, Combines.COLLECTS, Combines.MERGES, Combines.OPAQUE)


class Aggregate(msgspec.Struct, frozen=True):
    """One aggregate function; `combines` says whether the order of the rows may matter to it.

    `never_null`: not even for no rows. `try_of` names the aggregate that fails where this aggregate
    is NULL; the order of the rows may decide whether it is.
    """

    id: str
    combines: Combines
    meaning: str
    never_null: bool
    semantics: Semantics
    try_of: str | None = None

    @property
    def attained(self) -> bool:
        """Whether the result is the value of some row (min, max)."""
        return self.combines is Combines.ATTAINS
