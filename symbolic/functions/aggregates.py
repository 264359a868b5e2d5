"""Aggregate functions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from symbolic.functions.base import Aggregate, Combines, Semantics
from symbolic.functions.carried import KEY

_ATTAINS, _COUNTS, _ADDS = Combines.ATTAINS, Combines.COUNTS, Combines.ADDS
_SORTS, _COMPUTES = Combines.SORTS, Combines.COMPUTES
_PICKS, _COLLECTS, _MERGES = Combines.PICKS, Combines.COLLECTS, Combines.MERGES

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

COMBINES: Mapping[str, Combines] = {
    "any_value": _PICKS,
    "approx_count_distinct": _COUNTS,
    "approx_percentile": _MERGES,
    "approx_top_k": _MERGES,
    "approx_top_k_accumulate": _MERGES,
    "approx_top_k_combine": _MERGES,
    "array_agg": _COLLECTS,
    "bit_and": _COUNTS,
    "bit_or": _COUNTS,
    "bit_xor": _COUNTS,
    "bitmap_and_agg": _COUNTS,
    "bitmap_construct_agg": _COUNTS,
    "bitmap_or_agg": _COUNTS,
    "collect_list": _COLLECTS,
    "collect_set": _COLLECTS,
    "collect_union": _COLLECTS,
    "count_min_sketch": _COUNTS,
    "first": _PICKS,
    "first_value": _PICKS,
    "histogram_numeric": _MERGES,
    "hll_sketch_agg": _MERGES,
    "hll_union_agg": _MERGES,
    "kll_merge_agg_bigint": _MERGES,
    "kll_merge_agg_double": _MERGES,
    "kll_merge_agg_float": _MERGES,
    "kll_sketch_agg_bigint": _MERGES,
    "kll_sketch_agg_double": _MERGES,
    "kll_sketch_agg_float": _MERGES,
    "kurtosis": _COMPUTES,
    "last": _PICKS,
    "last_value": _PICKS,
    "listagg": _COLLECTS,
    "max_by": _PICKS,
    "min_by": _PICKS,
    "mode": _PICKS,
    "percentile": _SORTS,
    "percentile_approx": _MERGES,
    "percentile_cont": _SORTS,
    "percentile_disc": _SORTS,
    "regr_avgx": _COMPUTES,
    "regr_avgy": _COMPUTES,
    "regr_count": _COUNTS,
    "regr_intercept": _COMPUTES,
    "regr_r2": _COMPUTES,
    "regr_slope": _COMPUTES,
    "regr_sxx": _COMPUTES,
    "regr_sxy": _COMPUTES,
    "regr_syy": _COMPUTES,
    "schema_of_variant_agg": _MERGES,
    "skewness": _COMPUTES,
    "string_agg": _COLLECTS,
    "theta_intersection_agg": _MERGES,
    "theta_sketch_agg": _MERGES,
    "theta_union_agg": _MERGES,
    "tuple_intersection_agg_double": _MERGES,
    "tuple_intersection_agg_integer": _MERGES,
    "tuple_sketch_agg_double": _MERGES,
    "tuple_sketch_agg_integer": _MERGES,
    "tuple_union_agg_double": _MERGES,
    "tuple_union_agg_integer": _MERGES,
    "vector_avg": _COMPUTES,
    "vector_sum": _COMPUTES,
}
"""How Spark's aggregates without a row of their own combine the group's values, by name.

One whose result the order of the rows may decide is opaque; the others may be carried by name. The
row of percentile is for one share without frequencies.
"""

CARRIED_AGGREGATE = _nullable(KEY, Combines.OPAQUE, "an aggregate by the engine's name")
"""What holds of every carried aggregate; `COMBINES` has what differs."""
OPAQUE_AGGREGATE = _nullable("opaque", Combines.OPAQUE, "an aggregate that only the run evaluates")
"""What holds of every opaque aggregate."""
