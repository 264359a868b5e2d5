"""What a row of the function table says: one struct for functions, one for aggregates.

No fact has a default that could be wrong in silence: a row that leaves one out cannot be made.
"""

from __future__ import annotations

from enum import Enum

import msgspec

from symbolic.types import DataType

STRICT_TEST = "strict test "
"""Prefix of the ids of predicates that a proof makes up and that are NULL for NULL."""

OF_COMPARED = " of what comparisons see"
"""Suffix of such ids where the predicate is the same for values that are equal."""


class Semantics(Enum):
    """Whose function it is. The value is the prefix of the ids."""

    SPARK = ""
    """Spark SQL's, under the settings of the job. Plain ids."""


class Nulls(Enum):
    """Where a function's result is NULL."""

    PROPAGATES = "propagates"
    """Where an argument is NULL, and perhaps elsewhere (a failed cast)."""
    PROPAGATES_ONLY = "propagates only"
    """Where an argument is NULL and nowhere else, under all settings."""
    ONLY_FROM_NULLS = "only from nulls"
    """At most where an argument is NULL (AND)."""
    NEVER_NULL = "never null"
    """Nowhere (IS NULL, <=>)."""
    OWN = "own"
    """By a rule of its own (CASE, COALESCE), or by one that nobody has stated."""

    @property
    def propagates(self) -> bool:
        """Whether a NULL argument makes the result NULL."""
        return self in (Nulls.PROPAGATES, Nulls.PROPAGATES_ONLY)

    @property
    def only_from_nulls(self) -> bool:
        """Whether the result of arguments that are not NULL is not NULL."""
        return self in (Nulls.PROPAGATES_ONLY, Nulls.ONLY_FROM_NULLS, Nulls.NEVER_NULL)


class Zeros(Enum):
    """What 0.0 and -0.0, which comparisons take for one value, make of the result."""

    SAME = "same"
    """The same result."""
    EQUAL = "equal"
    """Results that are equal to comparisons (and may be 0.0 and -0.0 again)."""
    APART = "apart"
    """Perhaps different results."""


class Encoding(Enum):
    """What the solver knows of a function."""

    INTERPRETED = "interpreted"
    """`symbolic.encode` gives its exact meaning."""
    UNINTERPRETED = "uninterpreted"
    """Only that equal arguments give equal results, and what `nulls` says."""


class Function(msgspec.Struct, frozen=True):
    """One deterministic function.

    `type` is the result type that every call has; None if it differs between calls, or is
    left to the front end to find out. `meaning` is a line for people. `try_of` names the
    function that fails, or wraps, where this one is NULL.
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
    """What an aggregate does with the values of its group."""

    ATTAINS = "attains"
    """It takes one of them: the rows that have it are a lineage of their own."""
    COUNTS = "counts"
    """It counts them, or connects truth values."""
    ADDS = "adds"
    """It adds them up."""
    SORTS = "sorts"
    """It sorts them and computes with those in the middle."""
    COMPUTES = "computes"
    """It computes with all of them as floating-point numbers."""


class Aggregate(msgspec.Struct, frozen=True):
    """One aggregate function that gives the same result for any order of exact values.

    `never_null`: not even for no rows. `try_of` names the aggregate that fails where this one
    is NULL: where that is may depend on the order of the rows.
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
