"""Codecs for struct fields, derived from their annotations: to JSON and back.

Expressions and data types are *nodes*: a field stores a node as its index in the file's flat node
list. All other structs are written in place. Reading checks every value against the annotation, so
no value of the wrong type gets into a job.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import math
import types
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Protocol, Union, get_args, get_origin, get_type_hints

import msgspec

from symbolic.expr import ExprBase
from symbolic.types import TypeBase

NODE_BASES = (ExprBase, TypeBase)
_ADDED_LATER = {
    "StoredResult": frozenset({"numbers", "files"}),
    "SourceFile": frozenset({"fingerprint"}),
    "ScanLineage": frozenset({"contributes", "also"}),
    "Intermediate": frozenset({"also"}),
    "MarkJoin": frozenset({"matches"}),
    "EngineSettings": frozenset({"conf"}),
    "Job": frozenset({"front_end", "written"}),
    "Opaque": frozenset({"keys", "grouped"}),
    "KeptFunction": frozenset({"id", "modules", "results"}),
}
"""Fields that files of older schemas lack, by class; they then have their defaults."""
_SAID_IF_ANY = {
    "ScanLineage": frozenset({"also"}),
    "Intermediate": frozenset({"also"}),
    "Job": frozenset({"written"}),
    "KeptFunction": frozenset({"results"}),
}
"""Fields that are left out where they are empty: such files are what older versions read."""
AddNode = Callable[[msgspec.Struct], int]
GetNode = Callable[[int], msgspec.Struct]


class Malformed(Exception):
    """Data does not fit the annotation; says where."""


class FieldCodec(Protocol):
    """Writes values of one annotation as JSON data; reads them back and checks them."""

    def encode(self, value: Any, add: AddNode) -> Any:
        """The value as JSON data; `add` returns the index of a node."""

    def decode(self, data: Any, get: GetNode) -> Any:
        """The value from JSON data; `get` returns the node at an index. Raises Malformed."""


class _Scalar:
    def __init__(self, kind: type) -> None:
        self.kind = kind

    def encode(self, value: Any, add: AddNode) -> Any:
        return value

    def decode(self, data: Any, get: GetNode) -> Any:
        if type(data) is not self.kind:
            raise Malformed(f"{self.kind.__name__} expected, {_shown(data)} found")
        return data


class _Float:
    """JSON has no NaN and no infinities: they are written as text."""

    def encode(self, value: Any, add: AddNode) -> Any:
        number = float(value)
        return number if math.isfinite(number) else repr(number)

    def decode(self, data: Any, get: GetNode) -> Any:
        if data in ("nan", "inf", "-inf") or type(data) in (int, float):
            return float(data)
        raise Malformed(f"number expected, {_shown(data)} found")


class _Optional:
    def __init__(self, inner: FieldCodec) -> None:
        self.inner = inner

    def encode(self, value: Any, add: AddNode) -> Any:
        return None if value is None else self.inner.encode(value, add)

    def decode(self, data: Any, get: GetNode) -> Any:
        return None if data is None else self.inner.decode(data, get)


class _Tuple:
    def __init__(self, inner: FieldCodec) -> None:
        self.inner = inner

    def encode(self, value: Any, add: AddNode) -> Any:
        return [self.inner.encode(item, add) for item in value]

    def decode(self, data: Any, get: GetNode) -> Any:
        if not isinstance(data, list):
            raise Malformed(f"list expected, {_shown(data)} found")
        return tuple(self.inner.decode(item, get) for item in data)


class _Dict:
    def __init__(self, inner: FieldCodec) -> None:
        self.inner = inner

    def encode(self, value: Any, add: AddNode) -> Any:
        return {key: self.inner.encode(item, add) for key, item in value.items()}

    def decode(self, data: Any, get: GetNode) -> Any:
        if not isinstance(data, dict):
            raise Malformed(f"object expected, {_shown(data)} found")
        return {key: self.inner.decode(item, get) for key, item in data.items()}


class _Node:
    """A place that holds the index of an expression or data type of one of `classes`."""

    def __init__(self, classes: tuple[type, ...]) -> None:
        self.classes = classes

    def encode(self, value: Any, add: AddNode) -> Any:
        return add(value)

    def decode(self, data: Any, get: GetNode) -> Any:
        if type(data) is not int:
            raise Malformed(f"index of a node expected, {_shown(data)} found")
        node = get(data)
        if not isinstance(node, self.classes):
            raise Malformed(f"node {data} is a {type(node).__name__}, which does not fit here")
        return node


class _Struct:
    """A struct written in place; a tag names its class if there are several."""

    def __init__(self, classes: tuple[type[msgspec.Struct], ...]) -> None:
        self.classes = classes

    def encode(self, value: Any, add: AddNode) -> Any:
        return encode_struct(value, add)

    def decode(self, data: Any, get: GetNode) -> Any:
        return decode_struct(data, self.classes, get)


class _LiteralValue:
    """The constants of `symbolic.expr.Literal`: written with their Python type."""

    def encode(self, value: Any, add: AddNode) -> Any:
        if value is None or isinstance(value, (bool, str)):
            return value
        for name, (kind, write, _) in _LITERALS.items():
            if type(value) is kind:
                return {name: write(value)}
        raise Malformed(f"a literal of the Python type {type(value).__name__} cannot be saved")

    def decode(self, data: Any, get: GetNode) -> Any:
        if data is None or isinstance(data, (bool, str)):
            return data
        if isinstance(data, dict) and len(data) == 1:
            name, text = next(iter(data.items()))
            if name in _LITERALS and isinstance(text, str):
                try:
                    return _LITERALS[name][2](text)
                except (ValueError, ArithmeticError) as error:
                    raise Malformed(f"{text!r} is not a {name} value") from error
        raise Malformed(f"literal value expected, {_shown(data)} found")


_SECOND_TIME = "/second"


def _write_timestamp(value: datetime.datetime) -> str:
    # `fold` distinguishes the two instants of the hour that clocks repeat in autumn.
    return value.isoformat() + (_SECOND_TIME if value.fold else "")


def _read_timestamp(text: str) -> datetime.datetime:
    value = datetime.datetime.fromisoformat(text.removesuffix(_SECOND_TIME))
    return value.replace(fold=int(text.endswith(_SECOND_TIME)))


_LITERALS: Mapping[str, tuple[type, Callable[[Any], str], Callable[[str], Any]]] = {
    "int": (int, str, int),
    "float": (float, repr, float),
    "decimal": (decimal.Decimal, str, decimal.Decimal),
    # a datetime is a date too, hence the exact comparison of types above
    "date": (datetime.date, datetime.date.isoformat, datetime.date.fromisoformat),
    "timestamp": (datetime.datetime, _write_timestamp, _read_timestamp),
    "bytes": (
        bytes,
        lambda value: base64.b64encode(value).decode("ascii"),
        lambda text: base64.b64decode(text, validate=True),
    ),
}
_SCALARS: Mapping[Any, FieldCodec] = {
    bool: _Scalar(bool),
    int: _Scalar(int),
    str: _Scalar(str),
    float: _Float(),
    Any: _LiteralValue(),
}


def codec_for(hint: Any) -> FieldCodec:
    """The codec of an annotation. Raises TypeError for annotations that job records may not use."""
    if hint in _SCALARS:
        return _SCALARS[hint]
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        some = tuple(arg for arg in args if arg is not type(None))
        inner = codec_for(some[0]) if len(some) == 1 else _structs(some)
        return _Optional(inner) if len(some) < len(args) else inner
    if origin is tuple and len(args) == 2 and args[1] is Ellipsis:
        return _Tuple(codec_for(args[0]))
    if origin is dict and args[0] is str:
        return _Dict(codec_for(args[1]))
    return _structs((hint,))


def _structs(classes: tuple[Any, ...]) -> FieldCodec:
    if all(isinstance(item, type) and issubclass(item, NODE_BASES) for item in classes):
        return _Node(classes)
    if all(isinstance(item, type) and issubclass(item, msgspec.Struct) for item in classes):
        return _Struct(classes)
    raise TypeError(f"job records cannot hold {classes}")


@cache
def field_codecs(cls: type[msgspec.Struct]) -> dict[str, FieldCodec]:
    """The codec of every field of a struct class."""
    hints = get_type_hints(cls)
    return {name: codec_for(hints[name]) for name in cls.__struct_fields__}


def encode_struct(value: msgspec.Struct, add: AddNode) -> dict[str, Any]:
    """A struct as a JSON object, with its tag if its class has one."""
    cls = type(value)
    config = cls.__struct_config__
    tag = {} if config.tag_field is None else {config.tag_field: config.tag}
    unsaid = {name for name in _SAID_IF_ANY.get(cls.__name__, ()) if not getattr(value, name)}
    return tag | {
        name: codec.encode(getattr(value, name), add)
        for name, codec in field_codecs(cls).items()
        if name not in unsaid
    }


def decode_struct(
    data: Any, classes: tuple[type[msgspec.Struct], ...], get: GetNode
) -> msgspec.Struct:
    """The struct from JSON data: of the only class, or of the class that the tag names."""
    if not isinstance(data, dict):
        raise Malformed(f"object expected, {_shown(data)} found")
    cls = _class_of(data, classes)
    codecs = field_codecs(cls)
    tag_field = cls.__struct_config__.tag_field
    added = _ADDED_LATER.get(cls.__name__, frozenset()) - set(data)
    if odd := (set(data) ^ set(codecs)) - added - {tag_field}:
        problem = "is missing" if odd - set(data) else "is unknown"
        raise Malformed(f"{cls.__name__}: the field {min(odd)!r} {problem}")
    values = {}
    for name, codec in codecs.items():
        if name in added:
            continue
        try:
            values[name] = codec.decode(data[name], get)
        except Malformed as error:
            raise Malformed(f"{cls.__name__}.{name}: {error}") from error
    return cls(**values)


def _class_of(
    data: dict[str, Any], classes: tuple[type[msgspec.Struct], ...]
) -> type[msgspec.Struct]:
    for cls in classes:
        config = cls.__struct_config__
        if config.tag_field is None or data.get(config.tag_field) == config.tag:
            return cls
    names = ", ".join(cls.__name__ for cls in classes)
    raise Malformed(f"the tag names none of {names}")


def child_nodes(value: Any) -> Iterator[msgspec.Struct]:
    """The nodes in a struct's fields, in order, including the nodes in nested structs."""
    for name in value.__struct_fields__:
        items = getattr(value, name)
        for item in items if isinstance(items, tuple) else (items,):
            if isinstance(item, NODE_BASES):
                yield item
            elif isinstance(item, msgspec.Struct):
                yield from child_nodes(item)


def _shown(data: Any) -> str:
    text = repr(data)
    return text if len(text) <= 40 else text[:37] + "..."
