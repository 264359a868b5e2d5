"""Functions of arrays, which are tuples here; lambdas arrive as Python functions."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from symbolic.expr import Call, Lambda, Literal
from symbolic.types import Record
from tests.reference.functions.base import Builder, Settings, plain
from tests.reference.values import order_key, value_key

Array = tuple[Any, ...]


def _same(left: Any, right: Any) -> bool:
    return value_key(left) == value_key(right)


def _element_at(array: Array, place: int) -> Any:
    there = place != 0 and abs(place) <= len(array)
    return array[place - 1 if place > 0 else place] if there else None


def _get_item(array: Array, place: int) -> Any:
    return array[place] if 0 <= place < len(array) else None


def _slice(array: Array, start: int, length: int) -> Array:
    first = start - 1 if start > 0 else len(array) + start
    return () if first < 0 else array[first : first + length]


def _position(array: Array, value: Any) -> int:
    places = (n for n, item in enumerate(array, 1) if item is not None and _same(item, value))
    return next(places, 0)


def _contains(array: Array, value: Any) -> bool | None:
    if _position(array, value):
        return True
    return None if None in array else False


def _sorted(array: Array, ascending: bool = True) -> Array:
    known = sorted((item for item in array if item is not None), key=order_key)
    nulls = (None,) * (len(array) - len(known))
    return (*nulls, *known) if ascending else (*reversed(known), *nulls)


def _flatten(array: Array) -> Array | None:
    return None if None in array else tuple(itertools.chain.from_iterable(array))


def _remove(array: Array, value: Any) -> Array:
    return tuple(item for item in array if item is None or not _same(item, value))


def _distinct(array: Array) -> Array:
    firsts: dict[Any, Any] = {}
    for item in array:
        firsts.setdefault(value_key(item), item)
    return tuple(firsts.values())


def _each(expr: Call, array: Array, function: Callable[..., Any]) -> Array:
    """The function's values; with two parameters it gets the positions, too."""
    chosen = expr.args[1]
    assert isinstance(chosen, Lambda)
    with_place = len(chosen.parameters) > 1
    places = enumerate(array)
    return tuple(function(item, n) if with_place else function(item) for n, item in places)


def _transform(expr: Call, settings: Settings) -> Callable[..., Array]:
    return lambda array, function: _each(expr, array, function)


def _filter(expr: Call, settings: Settings) -> Callable[..., Array]:
    def apply(array: Array, function: Callable[..., Any]) -> Array:
        kept = _each(expr, array, function)
        return tuple(item for item, keep in zip(array, kept, strict=True) if keep is True)

    return apply


def _zip_with(left: Array, right: Array, function: Callable[..., Any]) -> Array:
    return tuple(itertools.starmap(function, itertools.zip_longest(left, right)))


def _exists(array: Array, function: Callable[..., Any]) -> bool | None:
    found = [function(item) for item in array]
    return True if True in found else None if None in found else False


def _forall(array: Array, function: Callable[..., Any]) -> bool | None:
    found = [function(item) for item in array]
    return False if False in found else None if None in found else True


def _get_field(expr: Call, settings: Settings) -> Callable[..., Any]:
    record, name = expr.args
    assert isinstance(record.type, Record)
    assert isinstance(name, Literal)
    place = [field.name for field in record.type.fields].index(name.value)
    return lambda value, _: value[place]


ARRAYS: dict[str, Builder] = {
    "array_size": plain(len),
    "array_contains": plain(_contains),
    "array_position": plain(_position),
    "element_at": plain(_element_at),
    "get_field": _get_field,
    "get_item": plain(_get_item),
    "slice": plain(_slice),
    "flatten": plain(_flatten),
    "sort_array": plain(_sorted),
    "array_distinct": plain(_distinct),
    "array_remove": plain(_remove),
    "transform": _transform,
    "filter": _filter,
    "zip_with": plain(_zip_with),
    "array_exists": plain(_exists),
    "array_forall": plain(_forall),
}
