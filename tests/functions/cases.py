"""Calls of every function, written for the kinds of values that it takes.

A template has places for arguments: ``{kinds}`` is a column of each of these kinds in turn
(the first place its `_a` column, the next ones `_b`, `_c`), ``{=}`` a column of the kind
of the place before. The names in `CLASSES` stand for several kinds.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import NamedTuple

from tests.functions.values import TYPES

CLASSES: dict[str, str] = {
    "integer": "i8 i16 i32 i64",
    "decimal": "d5 d18 d38 unit frac",
    "float": "f32 f64",
    "number": "i8 i16 i32 i64 d5 d18 d38 unit frac f32 f64",
    "some": "i32 i64 d5 d18 f64",
    "string": "text num odd",
    "time": "day ts ntz",
    "plain": "flag i8 i16 i32 i64 f32 f64 d5 d18 d38 unit text bytes day ts ntz",
    "ordered": "flag i8 i32 i64 f32 f64 d5 d18 d38 unit frac text pad bytes day ts ntz ym ds af at "
    "st",
    "array": "ai af at",
    "all": " ".join(TYPES),
}
"""Name to the kinds that it stands for."""
_PLACE = re.compile(r"\{([a-z0-9| =]+)\}")


class Case(NamedTuple):
    """A call as SQL text, and the id of the function that it is there for."""

    function: str
    text: str


_COMPARED = "{ordered} %s {=}; {some} %s {some}; {day|ts|ntz} %s {day|ts|ntz}"
_LITERALS = (
    "; {i32} %s 1; {i64} %s 9007199254740993; {f64} %s 0.0D; {f32} %s 0.1D; {d18} %s 1.5BD"
    "; {text} %s 'a'; {pad} %s 'a'; {day} %s DATE '1582-10-15'; {num} %s 1"
    "; {ts} %s TIMESTAMP '2021-10-31 02:30:00'; CAST({ts} AS TIMESTAMP_NTZ) %s {ntz}"
)


def _compared(operator: str) -> str:
    return (_COMPARED + _LITERALS).replace("%s", operator)


_PATTERNS = ("a%", "%b", "_", "", "%", "a_b", "%\\\\_%", "%\\\\%%", "é", "_x", "%\\\\\\\\%", "A%")
_TEXTS = ("''", "'a'", "'%'", "'é'", "' '", "'\U0001f986'")
_PARTS = ("0", "1", "2", "-2", "0, 1", "1, 2", "-3, 2", "2, -1", "2147483647, 1",
          "-2147483648, 2147483647")  # fmt: skip
_UNITS = (
    "YEAR",
    "QUARTER",
    "MONTH",
    "WEEK",
    "DAY",
    "HOUR",
    "MINUTE",
    "SECOND",
    "MICROSECOND",
    "no",
)
_FORMATS = ("yyyy-MM-dd", "y-M-d H:m:s", "yyyy-MM-dd HH:mm:ss.SSSSSS", "EEE d MMM uuuu z", "DDD",
            "yyyy-MM-dd\\'T\\'HH:mm:ssXXX")  # fmt: skip


def _each(template: str, values: tuple[str, ...]) -> str:
    return "; ".join(template.replace("%s", value) for value in values)


TEMPLATES: dict[str, str] = {
    "and": "{flag} AND {flag}; {i32} > 0 AND {f64} < 1",
    "or": "{flag} OR {flag}; {i32} > 0 OR {f64} < 1",
    "not": "NOT {flag}; NOT ({i32} = {i32})",
    "in": "{plain} IN ({=}, {=}); {i32} IN (0, 1, NULL); {text} IN ('a', '', 'é')"
    "; {f64} IN (0.0D, double('NaN')); {day} IN (DATE '2021-10-31', DATE '0001-01-01')"
    "; {ts} IN (TIMESTAMP '2021-10-31 02:30:00'); {d5} IN (0.05, 1, 32.0)",
    "case": "CASE WHEN {flag} THEN {plain} ELSE {=} END; CASE {i32} WHEN 1 THEN 'one' END"
    "; if({flag}, {number}, {i32}); nanvl({float}, {=}); CASE WHEN {flag} THEN {ai} END"
    "; nvl2({i32}, {text}, {num}); decode({i32}, 1, 'a', NULL, 'b', 'c')",
    "coalesce": "coalesce({ordered}, {=}); coalesce({some}, {some}); coalesce({text}, 'none')",
    "eq": _compared("=") + "; {num} = {some}; {num} = {time|flag}",
    "lt": _compared("<") + "; {num} < {some}; {num} < {time}",
    "le": _compared("<="),
    "gt": _compared(">"),
    "ge": _compared(">=") + "; {some} BETWEEN {=} AND {=}",
    "nullsafe_eq": _compared("<=>"),
    "is_null": "{all} IS NULL",
    "is_not_null": "{all} IS NOT NULL",
    "is_nan": "isnan({float}); isnan({i32|d5|num})",
    "add": "{number} + {=}; {some} + {some}; try_add({decimal|float}, {=}); {i32} + 1"
    "; {d38} + 0.5; {num} + 1",
    "subtract": "{number} - {=}; {some} - {some}; try_subtract({decimal|float}, {=}); 1 - {d5}",
    "multiply": "{number} * {=}; {some} * {some}; try_multiply({decimal|float}, {=}); {d18} * 2",
    "try_add": "try_add({integer}, {=}); try_add({i64}, 1L); try_add({i64}, {i32} + 1)"
    "; try_add({i32} + {i32}, 1) + 1; try_add({d38}, {d18})",
    "try_subtract": "try_subtract({integer}, {=}); try_subtract(0, {i32})",
    "try_multiply": "try_multiply({integer}, {=}); try_multiply({i64}, 3)",
    "divide": "{number} / {=}; {some} / {some}; try_divide({number}, {=}); {d5} / 3; {i32} / 0",
    "integer_divide": "{number} DIV {=}; {i64} DIV {d5|i32}; {i32} DIV 2; {ds} DIV {=}"
    "; {ym} DIV {=}",
    "remainder": "{number} % {=}; {some} % {some}; try_mod({number}, {=}); mod({i64}, 3)",
    "pmod": "pmod({number}, {=}); pmod({i32}, 3); pmod({f64}, 0.3D)",
    "negate": "-{number}; -{d18}",
    "abs": "abs({number})",
    "round": "round({number}); round({number}, 1); round({number}, -1); round({f64}, 2)",
    "bround": "bround({number}); bround({number}, 1); bround({number}, -1)",
    "floor": "floor({number}); floor({decimal|f64}, 1)",
    "ceil": "ceil({number}); ceil({decimal|f64}, 1)",
    "sqrt": "sqrt({number})",
    "power": "power({number}, 2); power({f64}, {f64}); power({f64}, -1); power({i32}, {f64})",
    "exp": "exp({number})",
    "ln": "ln({number})",
    "log10": "log10({number})",
    "sign": "sign({number}); sign({ym|ds})",
    "bit_and": "{integer} & {=}; {i32} & 6",
    "bit_or": "{integer} | {=}",
    "bit_xor": "{integer} ^ {=}",
    "shift_right": "shiftright({i32|i64}, {i32}); shiftright({i64}, 3)",
    "cast": "",
    "try_cast": "try_cast({text} AS INT); try_cast(try_cast({i64} AS INT) AS TINYINT)"
    "; try_cast(CAST({i64} AS INT) AS SMALLINT); CAST(try_cast({f64} AS BIGINT) AS INT)",
    "to_number": "to_number({num}, '9'); try_to_number({num}, '9'); try_to_number({num}, '999.99')"
    "; try_to_number({num}, 'S999'); to_number({text}, '9G999'); try_to_number({text}, '999PR')",
    "like": _each("{text} LIKE '%s'", _PATTERNS)
    + "; {text} LIKE {text}; {text} LIKE 'a/_b' ESCAPE '/'; {text} LIKE {num}; {pad} LIKE 'a%'"
    "; {text} LIKE ALL ('a%', '%b'); {text} LIKE ANY ('a%', '%b'); {text} NOT LIKE 'a%'",
    "ilike": _each("{text} ILIKE '%s'", _PATTERNS[:6]) + "; {text} ILIKE {text}",
    "rlike": "{text} RLIKE '^a.b$'; {text} RLIKE '\\\\s'; {text} RLIKE '[^a-z]'",
    "starts_with": "startswith({text}, {text}); startswith({bytes}, {bytes}); "
    + _each("startswith({text}, %s)", _TEXTS),
    "ends_with": "endswith({text}, {text}); endswith({bytes}, {bytes}); "
    + _each("endswith({text}, %s)", _TEXTS),
    "contains": "contains({text}, {text}); contains({bytes}, {bytes}); "
    + _each("contains({text}, %s)", _TEXTS),
    "substring": _each("substring({text}, %s)", _PARTS)
    + "; substring({text}, {i32}, {i32}); substring({bytes}, 1, 1); left({text}, {i8})"
    "; right({text}, 2); substring_index({text}, 'a', 1); substring({i64}, 1, 3)",
    "upper": "upper({string|pad})",
    "lower": "lower({string|pad})",
    "initcap": "initcap({string})",
    "trim": "trim({string|pad}); trim('a ' FROM {text}); trim({text} FROM {text})"
    "; trim('' FROM {text})",
    "ltrim": "ltrim({string|pad}); trim(LEADING 'a ' FROM {text})"
    "; trim(LEADING {text} FROM {text})",
    "rtrim": "rtrim({string|pad}); trim(TRAILING 'b ' FROM {text})"
    "; trim(TRAILING {text} FROM {text})",
    "lpad": "lpad({text}, {i8}, '*'); lpad({text}, 3, 'ab'); lpad({text}, 2, {text})"
    "; lpad({text}, 3)",
    "rpad": "rpad({text}, {i8}, '*'); rpad({text}, 3, 'ab'); rpad({text}, 2, {text})"
    "; rpad({text}, 3)",
    "char_pad": "{pad}; concat({pad}, '|')",
    "length": "length({string|bytes|pad}); length({i64})",
    "concat": "concat({text}, {text}); {text} || {i32}; {text} || 'a'; concat({bytes}, {bytes})"
    "; concat({array}, {=}); concat({text}, {day}, {ts}); concat({text}, {f64}); {d18} || {d5}",
    "replace": "replace({text}, {text}, 'x'); replace({text}, 'a', {text})"
    "; replace({text}, '', 'x')"
    "; replace({text}, 'a')",
    "translate": "translate({text}, 'aé', 'b'); translate({text}, {text}, 'xyz')",
    "reverse": "reverse({text}); reverse({array})",
    "repeat": "repeat({text}, 3); repeat({text}, {i8})",
    "position": "position({text} IN {text}); locate('a', {text}, {i32}); locate('a', {text}, 2)",
    "instr": "instr({text}, {text}); instr({text}, 'a'); instr({text}, '')",
    "regexp_replace": "regexp_replace({text}, '[aé]', '<$0>'); regexp_replace({text}, 'a', 'b', 2)",
    "regexp_extract": "regexp_extract({text}, '(a)(.)', 2); regexp_extract({text}, '[^ ]+', 0)",
    "split": "split({text}, ','); split({text}, '', 2); split({text}, {text})",
    "ascii": "ascii({text})",
    "md5": "md5({text|bytes})",
    "sha2": "sha2({text}, 256); sha2({bytes}, 224); sha2({text}, {i32})",
    "year": "year({time}); extract(YEAR FROM {ym})",
    "quarter": "quarter({time})",
    "month": "month({time}); extract(MONTH FROM {ym})",
    "day": "day({time}); extract(DAY FROM {ds})",
    "day_of_week": "dayofweek({time})",
    "weekday": "weekday({time})",
    "day_of_year": "dayofyear({time})",
    "week_of_year": "weekofyear({time}); extract(YEAROFWEEK FROM {time})",
    "hour": "hour({time}); extract(HOUR FROM {ds})",
    "minute": "minute({time}); extract(MINUTE FROM {ds})",
    "second": "second({time}); extract(SECOND FROM {ts|ntz}); extract(SECOND FROM {ds})",
    "date_add": "try_add({day}, {i32}); try_add({day}, {i32} + 1)"
    "; date_add({day}, {i8|i32}); date_add({ts|ntz}, 1); {day} + 1; date_add({day}, 31)",
    "date_sub": "date_sub({day}, {i8|i32}); {day} - 1; date_sub({ts}, 31)"
    "; try_subtract({day}, {i32})",
    "date_diff": "datediff({day}, {day}); datediff({ts}, {ntz})",
    "date_add_interval": "{day} + {ym}; {day} + INTERVAL '1' MONTH; {day} - INTERVAL '13' MONTH"
    "; try_add({day}, {ym})"
    "; {day} + INTERVAL '1' DAY; {day} - INTERVAL '30' DAY; {day} - {ym}"
    "; {day} + make_interval(0, 1)",
    "timestamp_add_interval": "{ts|ntz} + {ym|ds}; {ts|ntz} - {ym|ds}; {ts|ntz} + INTERVAL '1' DAY"
    "; {ts|ntz} + INTERVAL '1' MONTH; {ts|ntz} + INTERVAL '24' HOUR; {day} + INTERVAL '2' HOUR"
    "; {ts} + INTERVAL '1' YEAR; {day} + {ds}; try_add({ts}, {ds})"
    "; {ts} + make_interval(0, 1, 0, 1)",
    "timestamp_diff": "{ts} - {ts}; {ntz} - {ntz}; {day} - {day}; {ts} - {ntz}; {ts} - {day}",
    "add_months": "add_months({day}, {i8|i32}); add_months({ts}, 1); add_months({day}, -13)",
    "months_between": "months_between({ts}, {ts}); months_between({day}, {day}, false)",
    "last_day": "last_day({time})",
    "next_day": "next_day({day}, 'Mon'); next_day({day}, {text}); next_day({day}, 'no')",
    "trunc_date": _each("trunc({day}, '%s')", _UNITS) + "; trunc({day}, {text})",
    "trunc_timestamp": _each("date_trunc('%s', {ts})", _UNITS) + "; date_trunc('DAY', {ntz|day})",
    "date_format": _each("date_format({time}, '%s')", _FORMATS),
    "parse_timestamp": "to_timestamp({when}, 'yyyy-MM-dd HH:mm:ss'); to_timestamp({when}, 'y-M-d')"
    "; to_date({when}, 'yyyy-MM-dd'); try_to_timestamp({when}, 'yyyy-MM-dd'); to_timestamp({when})"
    "; to_timestamp_ntz({when}, 'yyyy-MM-dd HH:mm:ss'); to_date({when})"
    "; try_to_date({when}, 'y-M-d')",
    "from_unix_time": "from_unixtime({i64}); from_unixtime({i32}, 'yyyy-MM-dd HH:mm:ss')",
    "unix_time": "unix_timestamp({time}); unix_timestamp({when}, 'yyyy-MM-dd')"
    "; to_unix_timestamp({ts})",
    "unix_micros": "unix_micros({ts})",
    "timestamp_micros": "timestamp_micros({integer})",
    "make_date": "make_date({i32}, 2, 29); make_date(2021, {i8}, {i8}); make_date({i16}, 1, 1)",
    "get_field": "{st}.a; {st}.b",
    "get_item": "{array}[0]; {array}[{i8}]; {mp}['a']; {mp}[{text}]; try_element_at({mp}, 'b')"
    "; element_at({mp}, 'a'); get({array}, {i8})",
    "array_size": "array_size({array}); cardinality({array}); size({ai})",
    "array_contains": "array_contains({ai}, 1); array_contains({af}, double('NaN'))"
    "; array_contains({at}, {text})",
    "array_position": "array_position({ai}, {i32}); array_position({af}, 0.0D)",
    "element_at": "element_at({array}, 1); element_at({array}, {i8})"
    "; try_element_at({array}, {i8})",
    "slice": "slice({array}, 1, 2); slice({array}, -1, 1); slice({ai}, {i8}, {i8})",
    "flatten": "flatten({aa})",
    "sort_array": "sort_array({array}); sort_array({array}, false)",
    "array_distinct": "array_distinct({array})",
    "array_remove": "array_remove({ai}, 1); array_remove({af}, double('NaN'))"
    "; array_remove({at}, '')",
    "transform": "transform({ai}, (x, i) -> x + i); transform({at}, x -> x || {text})",
    "filter": "filter({ai}, x -> x > {i8}); filter({af}, x -> isnan(x))",
    "zip_with": "zip_with({ai}, {ai}, (x, y) -> coalesce(x, 0) + y)",
    "array_exists": "exists({ai}, x -> x > 1); exists({af}, x -> isnan(x))",
    "array_forall": "forall({ai}, x -> x > 0)",
    "concat_ws": "concat_ws(',', {text}, {text}); concat_ws({text}, {text}, 'a')"
    "; concat_ws('-', {at})",
    "greatest": "greatest({plain|ai}, {=}); greatest({some}, {some}); greatest({f64}, 0.0D)",
    "least": "least({plain|ai}, {=}); least({some}, {some}); least({f64}, 0.0D)",
    "hash": "hash({plain}); hash({i32}, {text}); hash({ai})",
    "xxhash64": "xxhash64({plain}); xxhash64({f64}, {d38})",
    "array_repeat": "array_repeat({text}, 2); array_repeat({i32}, {i8})",
    "array_aggregate": "aggregate({ai}, 0, (x, y) -> x + coalesce(y, 0))"
    "; reduce({ai}, 0, (x, y) -> y)",
    "make_array": "array({plain}, {=}); array({i32}, {d5})",
    "make_struct": "struct({plain}); named_struct('x', {i32}, 'y', {text})",
    "map_entries": "map_entries({mp}); map_entries({mp})[0].key",
    "make_map": "element_at(map('a', {i32}, 'b', 2), 'a')",
    "map_from_arrays": "element_at(map_from_arrays(array('a', 'b'), array({i32}, 1)), 'b')",
    "normalize_float": "CASE WHEN {f64} = 0 THEN array_distinct({af}) END",
}  # fmt: skip
"""Function id to templates, separated by semicolons. Casts are all pairs of types: `casts`."""

FURTHER: dict[str, str] = {
    "round": "round({decimal}, 3); round({decimal}, -2)",
    "position": "position({text} IN {text}, 1); locate({text}, {text}, 3)",
    "split": "split({odd}, ','); split({text}, '\\\\.'); split({text}, 'a', -1)",
    "sha2": "sha2({text}, 0); sha2({text}, 512)",
    "concat_ws": "concat_ws('-', {text}, {at}, 'x'); concat_ws(','); array_join({at}, '-')",
    "trunc_timestamp": "date_trunc('DAY', {ts|ntz}); date_trunc('HOUR', {ts|ntz})"
    "; date_trunc('WEEK', {ts}); date_trunc({text}, {ts})",
    "get_item": "{array}[{i32}]",
    "array_contains": "array_contains({ai}, {i32})",
    "array_position": "array_position({at}, {text})",
    "array_distinct": "array_distinct(transform({ai}, x -> x % 2))",
    "date_add": "date_add({day}, {i32}); {day} + {i32}",
    "date_sub": "date_sub({day}, {i32})",
    "nullsafe_eq": "{aa} <=> {aa}; {ai} = {ai}",
    "array_size": "size({array})",
}
"""More templates of some of the functions."""

UNREACHED: dict[str, str] = {
    "nullif": "Spark rewrites it to CASE",
    "unscaled": "only the optimizer makes it (DecimalAggregates)",
    "decimal_of": "only the optimizer makes it (DecimalAggregates)",
    "check_overflow": "no analyzed plan of Spark 4 has it",
}
"""Function ids that no query has, with the reason."""


def cases() -> list[Case]:
    """All calls, in the order of the table."""
    found: dict[Case, None] = {}
    for function, templates in itertools.chain(TEMPLATES.items(), FURTHER.items()):
        for template in filter(None, (part.strip() for part in templates.split("; "))):
            found.update((Case(function, text), None) for text in expanded(template))
    found.update((Case("cast", text), None) for text in casts())
    return list(found)


def casts() -> Iterator[str]:
    """CAST and TRY_CAST of every kind to every type."""
    targets = dict.fromkeys([*TYPES.values(), "DECIMAL(10,0)"])
    for kind, target in itertools.product(TYPES, targets):
        for function in ("CAST", "TRY_CAST"):
            if target != TYPES[kind]:
                yield f"{function}({kind}_a AS {target})"


def expanded(template: str) -> Iterator[str]:
    """The template with columns of all kinds in its places."""
    places = _PLACE.findall(template)
    choices = [_kinds(place) for place in places if place != "="]
    for chosen in itertools.product(*choices):
        yield _filled(template, places, chosen)


def _filled(template: str, places: list[str], chosen: tuple[str, ...]) -> str:
    kinds, kind, columns = iter(chosen), "", []
    for place, letter in zip(places, itertools.chain("abc", itertools.repeat("c")), strict=False):
        kind = kind if place == "=" else next(kinds)
        columns.append(f"{kind}_{letter}")
    pieces = iter(columns)
    return _PLACE.sub(lambda match: next(pieces), template)


def _kinds(place: str) -> list[str]:
    return [kind for name in place.split("|") for kind in CLASSES.get(name, name).split()]
