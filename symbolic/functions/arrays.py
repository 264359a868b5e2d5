"""Functions of arrays, maps and structs."""

from __future__ import annotations

from functools import partial

from symbolic.functions.base import Encoding, Function, Nulls, Semantics, Zeros
from symbolic.types import BOOLEAN, INTEGER, LONG

_PROPAGATES, _OWN = Nulls.PROPAGATES, Nulls.OWN

_spark = partial(
    Function, semantics=Semantics.SPARK, encoding=Encoding.UNINTERPRETED, zeros=Zeros.APART
)

ROWS = (
    _spark("get_field", None, _PROPAGATES, "field of a struct, by name"),
    _spark("get_item", None, _PROPAGATES, "element of an array or map, NULL if absent"),
    _spark("array_size", INTEGER, _PROPAGATES, "number of elements"),
    _spark("array_contains", BOOLEAN, _PROPAGATES, "whether an array has an element"),
    _spark(
        "array_position",
        LONG,
        _PROPAGATES,
        "1-based position of the first such element, 0 if there is none",
    ),
    _spark(
        "element_at",
        None,
        _PROPAGATES,
        "element of an array, from 1 or, negative, from the end; NULL if absent",
    ),
    _spark(
        "slice",
        None,
        _PROPAGATES,
        "elements from a position (1-based, negative from the end), with a length",
    ),
    _spark("flatten", None, _PROPAGATES, "the elements of an array's arrays, one after the other"),
    _spark("sort_array", None, _PROPAGATES, "the elements in ascending or descending order"),
    _spark("array_distinct", None, _PROPAGATES, "the elements, equal ones once"),
    _spark("array_remove", None, _PROPAGATES, "the elements that are not equal to a value"),
    _spark("array_repeat", None, _OWN, "array of a value n times"),
    # The last arguments of these are lambdas.
    _spark(
        "transform", None, _PROPAGATES, "a function of each element, and of its position from 0"
    ),
    _spark("filter", None, _PROPAGATES, "the elements for which a function is true"),
    _spark(
        "zip_with",
        None,
        _PROPAGATES,
        "a function of the elements of two arrays, the shorter padded with NULLs",
    ),
    _spark("array_exists", BOOLEAN, _PROPAGATES, "whether a function is true for an element"),
    _spark("array_forall", BOOLEAN, _PROPAGATES, "whether a function is true for all elements"),
    _spark(
        "array_aggregate",
        None,
        _OWN,
        "a function of the elements and the result so far, then another",
    ),
    _spark("map_entries", None, _PROPAGATES, "the entries of a map, an array of structs"),
    _spark("make_array", None, _OWN, "array of the arguments"),
    _spark("make_struct", None, _OWN, "struct of the arguments; names are in the result type"),
    _spark("make_map", None, _OWN, "map of keys and values in turn"),
    _spark("map_from_arrays", None, _OWN, "map from an array of keys and one of values"),
)
"""All are Spark's, and uninterpreted."""
