"""Programs over groups of one table or two: each row comes with the key of its group.

In a run the plan's program is called by one of ours, which adds the key. The key travels as text,
since pandas has no other way to tell NULL from NaN.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from predtrace.environment.grouped_programs import KINDS, with_key
from predtrace.frontends.spark.building import Builder
from predtrace.frontends.spark.catalyst import JavaObject, items, scala_seq
from predtrace.frontends.spark.expressions.python_functions import sent_bytes
from predtrace.frontends.spark.pass_through import build_of
from predtrace.frontends.spark.translation import Build, Prepared, Translation
from pushdown.operators import GroupKey
from symbolic import types as t
from symbolic.expr import Column


@dataclass(frozen=True)
class _Text:
    """How a value becomes a text from which it can be read again."""

    write: Callable[[Builder, JavaObject], JavaObject]
    read: Callable[[Builder, JavaObject, JavaObject], JavaObject]


def _as_number(write: str, read: str, kind: str) -> _Text:
    """Through a whole number, by functions of Catalyst."""
    return _Text(
        lambda builder, value: builder.as_text(builder.call(write, value)),
        lambda builder, text, wanted: builder.call(read, builder.cast(text, builder.type(kind))),
    )


_CAST = _Text(
    lambda builder, value: builder.as_text(value),
    lambda builder, text, wanted: builder.cast(text, wanted),
)
_TEXTS: dict[type, _Text] = {
    t.Boolean: _CAST,
    t.Integer: _CAST,
    t.Float: _CAST,
    t.Decimal: _CAST,
    t.String: _Text(lambda builder, value: value, lambda builder, text, wanted: text),
    t.Date: _as_number("UnixDate", "DateFromUnixDate", "IntegerType"),
    t.Timestamp: _as_number("UnixMicros", "MicrosToTimestamp", "LongType"),
    t.Binary: _Text(
        lambda builder, value: builder.call("Hex", value),
        lambda builder, text, wanted: builder.call("Unhex", text),
    ),
}
"""The types of keys that can be told."""


@dataclass(frozen=True)
class Grouping:
    """The keys of a program's groups, and the plan that gives them with the rows."""

    keys: tuple[GroupKey, ...]
    build: Build


def grouping(translation: Translation, prepared: Prepared) -> Grouping | None:
    """The keys of a program over groups; None for another program, or if they cannot be told."""
    function = prepared.one("functionExpr")
    if function is None or int(function.fields["evalType"]) not in KINDS:
        return None
    found = _key_columns(prepared)
    if not all(_can_be_told(columns) for columns in found):
        return None
    builder = translation.builder
    ids = [builder.new_id() for _ in found]
    keys = tuple(
        GroupKey(translation.column(int(each.id()), columns[0].name, columns[0].type), columns)
        for each, columns in zip(ids, found, strict=True)
    )
    return Grouping(keys, _building(translation, prepared, keys, ids))


def _key_columns(prepared: Prepared) -> list[tuple[Column, ...]]:
    """The columns of each key, one for each input."""
    handle = prepared.node.handle
    if len(prepared.inputs) == 1:
        attributes = [handle.groupingAttributes()]
    else:
        attributes = [handle.leftAttributes(), handle.rightAttributes()]
    sides = [
        [each.scope[int(attribute.exprId().id())] for attribute in items(keys)]
        for each, keys in zip(prepared.inputs, attributes, strict=True)
    ]
    return list(zip(*sides, strict=True))


def _can_be_told(columns: Sequence[Column]) -> bool:
    kind = columns[0].type
    zoneless = isinstance(kind, t.Timestamp) and not kind.zoned
    return type(kind) in _TEXTS and not zoneless and all(each.type == kind for each in columns)


def _building(
    translation: Translation,
    prepared: Prepared,
    keys: tuple[GroupKey, ...],
    ids: Sequence[JavaObject],
) -> Build:
    if not keys:
        return build_of(translation, prepared)
    builder, node = translation.builder, prepared.node

    def build(plans: Sequence[JavaObject]) -> JavaObject:
        given = list(items(node.handle.output()))
        names = _names(given, len(keys))
        texts = [_attribute(builder, name) for name in names]
        inputs = [
            _with_texts(translation, plan, [key.of[place] for key in keys], names)
            for place, plan in enumerate(plans)
        ]
        fields = {
            "functionExpr": _with_key(builder, prepared, names, inputs),
            "output": scala_seq(builder.jvm, [*given, *texts]),
        }
        program = builder.with_children(
            builder.with_expressions(node, {}, {}, given=fields), inputs
        )
        told = [
            builder.alias(
                _TEXTS[type(key.column.type)].read(
                    builder, text, _type_of(translation, key, plans)
                ),
                key.column.name,
                expr_id,
            )
            for key, text, expr_id in zip(keys, texts, ids, strict=True)
        ]
        return builder.project([*given, *told], program)

    return build


def _type_of(translation: Translation, key: GroupKey, plans: Sequence[JavaObject]) -> JavaObject:
    return _found(translation, plans[0], key.of[0]).dataType()


def _found(translation: Translation, plan: JavaObject, column: Column) -> JavaObject:
    """The attribute of a column in a plan."""
    wanted = translation.expr_ids[column.id]
    return next(each for each in items(plan.output()) if int(each.exprId().id()) == wanted)


def _with_texts(
    translation: Translation, plan: JavaObject, columns: Sequence[Column], names: Sequence[str]
) -> JavaObject:
    """The plan with its keys as texts, at the end."""
    builder = translation.builder
    texts = [
        builder.alias(
            _TEXTS[type(column.type)].write(builder, _found(translation, plan, column)),
            name,
            builder.new_id(),
        )
        for column, name in zip(columns, names, strict=True)
    ]
    return builder.project([*items(plan.output()), *texts], plan)


def _names(given: Sequence[JavaObject], count: int) -> tuple[str, ...]:
    """Names for the texts, which no column of the program's has."""
    taken = {str(each.name()).casefold() for each in given}
    prefix = "key"
    while any(name.startswith(prefix) for name in taken):
        prefix += "_"
    return tuple(f"{prefix}{place}" for place in range(count))


def _attribute(builder: Builder, name: str) -> JavaObject:
    text = builder.null(builder.type("StringType"))
    return builder.alias(text, name, builder.new_id()).toAttribute()


def _with_key(
    builder: Builder, prepared: Prepared, names: tuple[str, ...], inputs: Sequence[JavaObject]
) -> JavaObject:
    """The call of the program, by one that adds the key, which it is given from each input."""
    from pyspark.sql.types import StringType, StructField, StructType, _parse_datatype_json_string

    node = prepared.one("functionExpr")
    assert node is not None
    call = node.handle
    schema = _parse_datatype_json_string(call.dataType().json())
    texts = [StructField(name, StringType()) for name in names]
    returns = StructType([*schema.fields, *texts])
    given = [each for plan in inputs for each in list(items(plan.output()))[-len(names) :]]
    command = with_key(sent_bytes(builder.jvm, call.func()), call.evalType(), names, returns)
    return call.copy(
        call.name(),
        _same_function(builder.jvm, call.func(), command),
        builder.jvm.org.apache.spark.sql.types.DataType.fromJson(json.dumps(returns.jsonValue())),
        scala_seq(builder.jvm, [*items(call.children()), *given]),
        call.evalType(),
        call.udfDeterministic(),
        call.resultId(),
    )


def _same_function(jvm: Any, function: JavaObject, command: bytes) -> JavaObject:
    """A Python function with other bytes, called in the same surroundings."""
    return jvm.org.apache.spark.api.python.SimplePythonFunction(
        bytearray(command),
        function.envVars(),
        function.pythonIncludes(),
        function.pythonExec(),
        function.pythonVer(),
        function.broadcastVars(),
        function.accumulator(),
    )
