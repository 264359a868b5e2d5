"""Connectives, comparisons, and choices among values."""

from __future__ import annotations

from functools import partial

from symbolic.functions.base import Encoding, Function, Nulls, Semantics, Zeros
from symbolic.types import BOOLEAN

_PROPAGATES_ONLY, _ONLY_FROM_NULLS = Nulls.PROPAGATES_ONLY, Nulls.ONLY_FROM_NULLS
_NEVER_NULL, _OWN = Nulls.NEVER_NULL, Nulls.OWN
_SAME, _EQUAL, _APART = Zeros.SAME, Zeros.EQUAL, Zeros.APART

_spark = partial(Function, semantics=Semantics.SPARK)
_known = partial(_spark, encoding=Encoding.INTERPRETED)
_opaque = partial(_spark, encoding=Encoding.UNINTERPRETED)

ROWS = (
    _known("and", BOOLEAN, _ONLY_FROM_NULLS, "three-valued AND of two or more", _EQUAL),
    _known("or", BOOLEAN, _ONLY_FROM_NULLS, "three-valued OR of two or more", _EQUAL),
    _known("not", BOOLEAN, _ONLY_FROM_NULLS, "three-valued NOT", _EQUAL),
    _known("in", BOOLEAN, _ONLY_FROM_NULLS, "value IN (list): the OR of equalities", _EQUAL),
    _known("case", None, _OWN, "CASE WHEN condition THEN value … ELSE value END", _EQUAL),
    _known("coalesce", None, _OWN, "first argument that is not NULL", _EQUAL),
    _known("eq", BOOLEAN, _PROPAGATES_ONLY, "equal", _SAME),
    _known("lt", BOOLEAN, _PROPAGATES_ONLY, "less than", _SAME),
    _known("le", BOOLEAN, _PROPAGATES_ONLY, "less than or equal", _SAME),
    _known("gt", BOOLEAN, _PROPAGATES_ONLY, "greater than", _SAME),
    _known("ge", BOOLEAN, _PROPAGATES_ONLY, "greater than or equal", _SAME),
    _known("is_null", BOOLEAN, _NEVER_NULL, "IS NULL", _SAME),
    _known("is_not_null", BOOLEAN, _NEVER_NULL, "IS NOT NULL", _SAME),
    _known("nullsafe_eq", BOOLEAN, _NEVER_NULL, "equal, NULL equal to NULL", _SAME),
    _opaque("is_nan", BOOLEAN, _NEVER_NULL, "is not a number (false for NULL)", _SAME),
    _opaque("greatest", None, _OWN, "largest argument, NULLs skipped", _EQUAL),
    _opaque("least", None, _OWN, "smallest argument, NULLs skipped", _EQUAL),
    _opaque("nullif", None, _OWN, "NULL if both are equal, else the first", _EQUAL),
    _opaque("hash", None, _OWN, "Spark's Murmur3 hash", _APART),
    _opaque("xxhash64", None, _OWN, "Spark's xxHash64", _APART),
)
"""All are Spark's."""
