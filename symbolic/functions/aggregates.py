"""Aggregate functions."""

from __future__ import annotations

from functools import partial

from symbolic.functions.base import Aggregate, Combines, Semantics

_ATTAINS, _COUNTS, _ADDS = Combines.ATTAINS, Combines.COUNTS, Combines.ADDS
_SORTS, _COMPUTES = Combines.SORTS, Combines.COMPUTES

_spark = partial(Aggregate, semantics=Semantics.SPARK)
_nullable = partial(_spark, never_null=False)
_never_null = partial(_spark, never_null=True)

ROWS = (
    _never_null(
        "count",
        _COUNTS,
        "number of rows whose arguments are not NULL (all rows without any)",
    ),
    _nullable("sum", _ADDS, "sum, NULL for none"),
    _nullable(
        "try_sum",
        _ADDS,
        "sum, NULL for none and where adding the rows leaves the range",
        try_of="sum",
    ),
    _nullable("avg", _ADDS, "mean, NULL for none"),
    _nullable("min", _ATTAINS, "smallest value"),
    _nullable("max", _ATTAINS, "largest value"),
    _nullable("stddev_samp", _COMPUTES, "sample standard deviation"),
    _nullable("stddev_pop", _COMPUTES, "population standard deviation"),
    _nullable("var_samp", _COMPUTES, "sample variance"),
    _nullable("var_pop", _COMPUTES, "population variance"),
    _nullable("bool_and", _COUNTS, "true if all are"),
    _nullable("bool_or", _COUNTS, "true if one is"),
    _nullable("corr", _COMPUTES, "correlation of two arguments"),
    _nullable("covar_pop", _COMPUTES, "population covariance"),
    _nullable("covar_samp", _COMPUTES, "sample covariance"),
    _nullable("median", _SORTS, "median"),
    _nullable("percentile", _SORTS, "exact percentile"),
    _never_null("count_if", _COUNTS, "number of rows where the argument is true"),
)
"""All are Spark's."""
