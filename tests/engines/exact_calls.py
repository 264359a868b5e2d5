"""More calls that DuckDB evaluates exactly: casts, whole numbers, texts, times and arrays."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from symbolic.expr import Call, Column, Expr, Lambda, Literal, Variable
from symbolic.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    Array,
    Binary,
    DataType,
    DayTimeInterval,
    Decimal,
    Integer,
    Timestamp,
)

_NTZ = Timestamp(zoned=False)
_DAY = 86_400_000_000
_WHOLE = (Integer(8), Integer(16), INTEGER, LONG)
Columns = Mapping[str, Column]


def _of(function: str, *args: Expr, type: DataType) -> Call:
    return Call(function, args, type)


def _text(value: str | None) -> Literal:
    return Literal(value, STRING)


def _number(value: int) -> Literal:
    return Literal(value, INTEGER)


def further(columns: Columns) -> list[Call]:
    """The calls, of columns by their names."""
    return [
        *_casts(columns),
        *_numbers(columns),
        *_texts(columns),
        *_times(columns),
        *_arrays(columns),
    ]


def _casts(columns: Columns) -> list[Call]:
    decimals = (Decimal(5, 2), Decimal(38, 10), Decimal(10, 0))
    wanted: list[tuple[str, DataType]] = [
        *itertools.product(("numeral", "moment"), (*_WHOLE, *decimals, DOUBLE, BOOLEAN)),
        *itertools.product(("text", "numeral", "moment"), (DATE, Binary())),
        *itertools.product(("whole", "small", "wide", "largest", "unit", "flag"), _WHOLE),
        *itertools.product(("flag",), (STRING, DOUBLE, Decimal(5, 2))),
        *itertools.product(("whole", "money", "unit"), (BOOLEAN,)),
        ("instant", DATE), ("day", TIMESTAMP), ("day", _NTZ),
    ]  # fmt: skip
    found = [_of("cast", columns[f"{name}_a"], type=result) for name, result in wanted]
    return [*found, *(_of("try_cast", call.args[0], type=call.type) for call in found)]


def without_ansi(columns: Columns) -> list[Call]:
    """Calls that are exact without ANSI mode only: casts that cut off."""
    pairs = itertools.product(("real", "single"), (*_WHOLE, BOOLEAN))
    return [_of("cast", columns[f"{name}_a"], type=result) for name, result in pairs]


def _numbers(columns: Columns) -> list[Call]:
    found = []
    for name in ("small", "whole", "tiny"):
        one, other = columns[f"{name}_a"], columns[f"{name}_b"]
        found += [_of(f, one, other, type=one.type) for f in ("remainder", "pmod")]
        found += [_of(f, one, type=one.type) for f in ("negate", "abs")]
    # The least number divided by -1 has no quotient in ANSI mode.
    found.append(_of("integer_divide", columns["small_a"], columns["small_b"], type=LONG))
    for name in ("real", "single"):
        found += [_of(f, columns[f"{name}_a"], type=LONG) for f in ("floor", "ceil")]
    for name in ("money", "wide", "largest", "unit"):
        value = columns[f"{name}_a"]
        assert isinstance(value.type, Decimal)
        whole = value.type.precision - value.type.scale + 1
        for places in range(value.type.scale):
            rounded = Decimal(whole + places, places)
            found.append(_of("round", value, _number(places), type=rounded))
        found += [_of(f, value, type=Decimal(whole, 0)) for f in ("floor", "ceil")]
    return found


def _texts(columns: Columns) -> list[Call]:
    one, other, length = columns["text_a"], columns["text_b"], columns["tiny_b"]
    found = [_of(f, one, type=STRING) for f in ("upper", "lower", "initcap", "reverse")]
    found.append(_of("ascii", one, type=INTEGER))
    for pad in ("lpad", "rpad"):
        for size, filling in itertools.product((0, 1, 3, 5), ("*", "ab", "", "é")):
            found.append(_of(pad, one, _number(size), _text(filling), type=STRING))
        found.append(_of(pad, one, _of("cast", length, type=INTEGER), other, type=STRING))
    for count in (-1, 0, 1, 3):
        found.append(_of("repeat", one, _number(count), type=STRING))
    for start in (1, 2, 3, 50):
        found.append(_of("position", other, one, _number(start), type=INTEGER))
    found += [
        _of("translate", one, _text("aé "), _text("b"), type=STRING),
        _of("translate", one, _text("aa"), _text("bc"), type=STRING),
        _of("concat_ws", _text("-"), one, other, type=STRING),
        _of("concat_ws", one, other, _text("x"), type=STRING),
        _of("md5", columns["bytes_a"], type=STRING),
        _of("sha2", columns["bytes_a"], _number(256), type=STRING),
        _of("sha2", columns["bytes_a"], _number(0), type=STRING),
    ]
    for parting in ("a", " ", "\\\\", "\\.", "_b", "é"):
        split = _of("split", one, _text(parting), _number(-1), type=Array(STRING))
        found.append(split)
    return found


def _times(columns: Columns) -> list[Call]:
    found = []
    for name, kind in (("instant", TIMESTAMP), ("local", _NTZ)):
        value = columns[f"{name}_a"]
        found += [_of(f, value, type=INTEGER) for f in ("hour", "minute", "second")]
        found.append(_of("unix_micros", value, type=LONG))
        for moved in (0, 1, -1, _DAY, -_DAY, _DAY * 7 + 1, -3_600_000_001):
            interval = Literal(moved, DayTimeInterval())
            found.append(_of("timestamp_add_interval", value, interval, type=kind))
    for pattern in ("yyyy-MM", "dd.MM.yyyy HH:mm:ss", "yyyyMMdd", "yyyy-MM-dd'T'HH_mm"):
        found.append(_of("date_format", columns["instant_a"], _text(pattern), type=STRING))
    for unit in ("YEAR", "quarter", "MON", "WEEK", "DD", "HOUR", "MINUTE", "SECOND", "no"):
        instant = columns["instant_a"]
        found.append(_of("trunc_timestamp", _text(unit), instant, type=TIMESTAMP))
    day, days = columns["day_a"], columns["small_b"]
    found += [_of(f, day, days, type=DATE) for f in ("date_add", "date_sub")]
    count = _of("cast", columns["small_a"], type=LONG)
    late = _of("greatest", columns["whole_a"], Literal(-(2**53), LONG), type=LONG)
    for kind in (TIMESTAMP, _NTZ):
        found += [_of("timestamp_micros", each, type=kind) for each in (count, late)]
    return found


def _arrays(columns: Columns) -> list[Call]:
    found = []
    for name in ("text", "small", "money", "day"):
        one, other = columns[f"{name}_a"], columns[f"{name}_b"]
        array = _of("make_array", one, other, one, type=Array(one.type))
        absent = _of("case", columns["flag_a"], array, Literal(None, array.type), type=array.type)
        item = Variable(0, "x", one.type)
        test = Lambda((item,), _of("lt", item, other, type=BOOLEAN))
        found += [
            _of("array_contains", absent, other, type=BOOLEAN),
            _of("array_position", absent, other, type=LONG),
            _of("array_distinct", absent, type=array.type),
            _of("sort_array", absent, Literal(True, BOOLEAN), type=array.type),
            _of("sort_array", absent, Literal(False, BOOLEAN), type=array.type),
            _of("filter", absent, test, type=array.type),
            _of("nullsafe_eq", array, absent, type=BOOLEAN),
            _of("eq", array, absent, type=BOOLEAN),
            _of("reverse", absent, type=array.type),
            *(_of("get_item", absent, _number(place), type=one.type) for place in (0, 2, 3)),
            *(_of("element_at", absent, _number(place), type=one.type) for place in (1, -1, 4)),
        ]
        if one.type == STRING:
            found.append(_of("concat_ws", _text("-"), absent, other, type=STRING))
    return found
