"""Targets: names, types and predicates, checked before anything is read."""

from __future__ import annotations

import datetime as dt
import decimal
import time
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import Row

from predtrace.errors import TargetError
from predtrace.jobs.model import EngineSettings
from predtrace.targets.checking import check_target
from predtrace.targets.found import trusted_targets
from predtrace.targets.specs import TargetSpec
from predtrace.targets.values import convert
from symbolic.expr import Column, Literal, call, conjunction, disjunction, render, same
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
    Field,
    Float,
    Integer,
    Map,
    Record,
    Timestamp,
    YearMonthInterval,
)

D = decimal.Decimal
UTC = dt.UTC
MONEY = Decimal(15, 2)
WALL = Timestamp(zoned=False)
MICROS = dt.datetime(2020, 1, 1, 0, 0, 0, 123456)
PAIR = Record((Field("a", LONG), Field("b", STRING)))
SETTINGS = EngineSettings(
    engine_version="4.3.0", time_zone="Europe/Berlin", ansi=True, case_sensitive=False
)
SENSITIVE = EngineSettings(engine_version="4.3.0", time_zone="UTC", ansi=True, case_sensitive=True)
K, NAME, TOTAL = Column(1, "k", LONG), Column(2, "Name", STRING), Column(3, "total", MONEY)
DAY, AGAIN = Column(4, "day", DATE), Column(5, "a.b", STRING)
COLUMNS = (K, NAME, TOTAL, DAY, AGAIN)
FULL = (1, "x", "2.50", "1995-03-15", None)
FULL_VALUES = {1: 1, 2: "x", 3: D("2.50"), 4: dt.date(1995, 3, 15), 5: None}


def one(target: Any, columns: tuple[Column, ...] = COLUMNS) -> TargetSpec:
    specs = check_target(target, columns, SETTINGS)
    assert not specs.numbered
    (wanted,) = specs.targets
    return wanted


@pytest.mark.parametrize(
    "target",
    [
        FULL,
        list(FULL),
        Row(k=1, name="x", total=D("2.5"), day=dt.date(1995, 3, 15), **{"a.b": None}),
        Row(*FULL),
        {"K": 1, "name": "x", "total": D("2.5"), "day": "1995-03-15", "a.b": None},
        (np.int64(1), "x", np.float64(2.5), pd.Timestamp("1995-03-15"), None),
    ],
)
def test_complete_rows(target: Any) -> None:
    wanted = one(target)
    assert wanted.complete
    assert wanted.values == FULL_VALUES


def test_partial_dict_and_row_by_name() -> None:
    assert one({"name": "x"}).values == {2: "x"}
    assert not one({"name": "x"}).complete
    assert one(Row(total=1, k=None)).values == {3: D(1), 1: None}


def test_lists_are_several_targets() -> None:
    specs = check_target([FULL, {"k": 1}, "k = 2"], COLUMNS, SETTINGS)
    assert specs.numbered
    assert [wanted.number for wanted in specs.targets] == [0, 1, 2]
    assert specs.targets[2].predicate == call("eq", K, Literal(2, LONG))
    assert check_target([FULL], COLUMNS, SETTINGS).numbered


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (
            pd.DataFrame({"k": [1]}),
            r"not DataFrame; give .*frame\.iloc\[0\]\.to_dict\(\)\), or a dict",
        ),
        (pd.Series({"k": 1}), r"not Series; give .*series\.to_dict\(\)"),
        (pa.table({"k": [1]}), r"not Table; give .*table\.to_pylist\(\)"),
        ([pd.DataFrame({"k": [1]})], "not DataFrame; give "),
    ],
)
def test_frames_are_no_targets(target: Any, said: str) -> None:
    with pytest.raises(TargetError, match=said):
        check_target(target, COLUMNS, SETTINGS)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ({"nope": 1}, r"no column nope; it has k \(bigint\), Name \(string\)"),
        ({"k": 1, "K": 2}, "column k twice"),
        ({1: 1}, "named by text"),
        ({}, "names no column"),
        ((1, 2), "2 values, the output 5 columns"),
        (7, "not int"),
        ([], "empty"),
        ({"k": "abc"}, r"column k is bigint; 'abc' \(str\)"),
        ({"day": "abc"}, "such as '1995-03-15'"),
        ({"total": "0.001"}, "fits exactly"),
        ("nope = 1", "no column nope"),
        ("k = ", "cannot be parsed"),
        ("k = 1; drop table x", "cannot be parsed"),
        ("k = (select 1)", "may compare output columns"),
        ("k = 1 or exists (select 1)", "may compare"),
        ("abs(k) = 1", r"it has ABS\(k\)"),
        ("k in (select 1)", "may compare"),
        ("a.b = 'x'", "in backticks: `a.b`"),
        ("name", "must be a condition, but name is string"),
        (["A", "F"], "no column A"),
        ("name = 1", "column Name is string"),
        ("day > 'soon'", "column day is date"),
        ("k = name", "compares bigint with string"),
        ("k like 'a%'", "LIKE .* needs text"),
        ("k = 1e400", "1e400 is too large"),
    ],
)
def test_bad_targets(target: Any, message: str) -> None:
    with pytest.raises(TargetError, match=message):
        check_target(target, COLUMNS, SETTINGS)


def test_repeated_names_are_ambiguous() -> None:
    columns = (K, NAME, Column(9, "K", LONG))
    with pytest.raises(TargetError, match=r"2 columns k \(at positions 1, 3"):
        check_target({"k": 1}, columns, SETTINGS)
    assert one((1, "x", 2), columns).values == {1: 1, 2: "x", 9: 2}
    specs = check_target({"K": 1}, columns, SENSITIVE)
    assert specs.targets[0].values == {9: 1}


def test_naive_timestamps_are_in_the_jobs_zone() -> None:
    column = Column(1, "moment", TIMESTAMP)
    summer = dt.datetime(2024, 7, 1, 10, 0, tzinfo=UTC)
    for given in (
        dt.datetime(2024, 7, 1, 12, 0),
        summer,
        "2024-07-01 12:00:00",
        "2024-07-01T10:00:00Z",
    ):
        assert one((given,), (column,)).values == {1: summer}
    nested = Column(2, "moments", Array(Record((Field("at", TIMESTAMP),))))
    given = [{"at": dt.datetime(2024, 7, 1, 12, 0)}, {"at": None}, None]
    assert one(([*given],), (nested,)).values == {2: [{"at": summer}, {"at": None}, None]}
    predicate = one("moment >= timestamp '2024-07-01 12:00:00'", (column,)).predicate
    assert predicate == call("ge", column, Literal(summer, TIMESTAMP))


@pytest.mark.parametrize(
    ("value", "data_type", "expected"),
    [
        (True, BOOLEAN, True),
        (3.0, INTEGER, 3),
        ("12", INTEGER, 12),
        (D("5"), LONG, 5),
        (0.1, Decimal(5, 2), D("0.10")),
        (7, Decimal(5, 2), D("7.00")),
        (D("-999.99" + 90 * "0"), Decimal(5, 2), D("-999.99")),
        (D("0E+999999"), Decimal(5, 2), D("0.00")),
        (D("0.05"), Decimal(2, 2), D("0.05")),
        (1, DOUBLE, 1.0),
        (0.1, Float(32), 0.10000000149011612),
        (b"ab", Binary(), b"ab"),
        (dt.datetime(2020, 1, 1), DATE, dt.date(2020, 1, 1)),
        (dt.date(2020, 1, 1), Timestamp(zoned=False), dt.datetime(2020, 1, 1)),
        ([1, None], Array(LONG), [1, None]),
        ((1, "x"), PAIR, {"a": 1, "b": "x"}),
        ({"b": "x", "a": 1}, PAIR, {"a": 1, "b": "x"}),
        (None, Map(LONG, LONG), None),
        (np.float32(0.1), Float(32), float(np.float32(0.1))),
        (16_777_216, Float(32), 16_777_216.0),
        (np.datetime64("2020-01-01T00:00:00.123456000"), WALL, MICROS),
        (np.datetime64("2020-01-01"), DATE, dt.date(2020, 1, 1)),
        (pd.Timestamp("2020-01-01 00:00:00.123456"), WALL, MICROS),
        (np.timedelta64(3000, "ns"), DayTimeInterval(), dt.timedelta(microseconds=3)),
        (
            pd.Timedelta(dt.timedelta(microseconds=1)),
            DayTimeInterval(),
            dt.timedelta(microseconds=1),
        ),
        (dt.datetime.max.replace(tzinfo=UTC), TIMESTAMP, dt.datetime.max.replace(tzinfo=UTC)),
        ("2020-01-01 00:00:00.12345600", WALL, MICROS),
        (b"a\x00b", Binary(), b"a\x00b"),
        ("a\x00b", STRING, "a\x00b"),
        (np.array([1, 2]), Array(LONG), [1, 2]),
        (np.array([[1], [2]]), Array(Array(LONG)), [[1], [2]]),
        (pd.Series([1.5]), Array(DOUBLE), [1.5]),
        (Row(b="x", a=1), PAIR, {"a": 1, "b": "x"}),
        (2**31 - 1, YearMonthInterval(), 2**31 - 1),
    ],
)
def test_values_convert_exactly(value: Any, data_type: DataType, expected: Any) -> None:
    found = convert(value, data_type, "c")
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("value", "data_type"),
    [
        (1, BOOLEAN), (True, INTEGER), (1.5, INTEGER), (128, Integer(8)), ("x", LONG),
        (float("nan"), LONG), ("1e5x", MONEY), (10**13, MONEY), (D("0.005"), MONEY),
        *((far, each) for far in (D("1E+999999"), 10**400) for each in (LONG, MONEY, DOUBLE)),
        (D("1E-999999"), MONEY), (D("1E-999999"), LONG), (D("1." + 90 * "0" + "1"), MONEY),
        ("1.5", DOUBLE), (2**53 + 1, DOUBLE), (1, STRING), ("ab", Binary()),
        (dt.datetime(2020, 1, 1, 1), DATE), (1, DATE), ("2020-13-01", DATE),
        (dt.datetime(2020, 1, 1, tzinfo=UTC), Timestamp(zoned=False)),
        ({"a": 1}, Map(STRING, LONG)), ("ab", Array(STRING)), ((1,), Record(())),
        *((none, each)
          for none in (pd.NaT, pd.NA, np.datetime64("NaT", "us"), np.timedelta64("NaT", "us"))
          for each in (DATE, TIMESTAMP, LONG, STRING, DOUBLE, DayTimeInterval())),
        (pd.Timestamp("2020-01-01 00:00:00.000000001"), WALL), (np.datetime64(1, "ns"), WALL),
        (pd.Timestamp(np.datetime64("20000-01-01", "s")), WALL),
        ("2020-01-01 00:00:00.1234561", WALL), (pd.Timedelta(1, "ns"), DayTimeInterval()),
        *((np.datetime64(2**62, unit), each) for unit in ("D", "us") for each in (DATE, LONG)),
        (np.datetime64(1, "ns"), LONG), (np.timedelta64(1, "M"), YearMonthInterval()),
        (dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=2))), TIMESTAMP),
        (dt.datetime.max.replace(tzinfo=dt.timezone(-dt.timedelta(hours=2))), TIMESTAMP),
        (dt.timedelta.max, DayTimeInterval()), (2**31, YearMonthInterval()),
        (True, MONEY), (np.True_, MONEY), (1 + 0j, LONG), (np.longdouble(1), DOUBLE),
        (D("sNaN"), DOUBLE), (D("1E-999999"), DOUBLE), (2**24 + 1, Float(32)),
        (1e-60, Float(32)), (1.23456789012, Float(32)), ("\ud800", STRING),
        ([10**5000], Array(LONG)),
        ({1}, Array(LONG)), (iter([1]), Array(LONG)), (bytearray(b"a"), Array(LONG)),
        ([pd.NaT], Array(DATE)), (np.array([1, 2]), LONG), (pd.Series([1, 2]), DOUBLE),
        ({1: 1, "b": "x"}, PAIR), (Row(a=1, c="x"), PAIR), ((pd.NaT, "x"), PAIR),
    ],
)  # fmt: skip
def test_values_that_do_not_fit(value: Any, data_type: DataType) -> None:
    with pytest.raises(TargetError, match=r"\Acolumn c is .{1,250}\Z"):
        convert(value, data_type, "c")


@pytest.mark.parametrize("text", ["1e99999", "0e999999999999999", "1e-999999999999999"])
@pytest.mark.parametrize("data_type", [LONG, MONEY])
def test_exponents_are_not_written_out(text: str, data_type: DataType) -> None:
    begun = time.process_time()
    if text.startswith("0"):
        assert convert(text, data_type, "c") == 0
    else:
        with pytest.raises(TargetError, match="column c is"):
            convert(text, data_type, "c")
    assert time.process_time() - begun < 0.5


def eq(column: Column, value: Any) -> Any:
    return call("eq", column, Literal(value, column.type))


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("k = 1 AND name <> 'x'", conjunction(eq(K, 1), call("not", eq(NAME, "x")))),
        ("not (k = 1 or k = 2)", call("not", disjunction(eq(K, 1), eq(K, 2)))),
        ("k in (1, 2)", disjunction(eq(K, 1), eq(K, 2))),
        ("k not in (1)", call("not", eq(K, 1))),
        ("name is null", call("is_null", NAME)),
        ("name is not null", call("not", call("is_null", NAME))),
        ("k <=> null", same(K, Literal(None, LONG))),
        ("day between '1995-01-01' and date '1995-12-31'", conjunction(
            call("ge", DAY, Literal(dt.date(1995, 1, 1), DATE)),
            call("le", DAY, Literal(dt.date(1995, 12, 31), DATE)),
        )),
        ("'x' = name", call("eq", Literal("x", STRING), NAME)),
        ("name like 'a\\\\_%'", call(
            "like", NAME, Literal("a\\_%", STRING), Literal("\\", STRING)
        )),
        ("name not like 'a%'", call(
            "not", call("like", NAME, Literal("a%", STRING), Literal("\\", STRING))
        )),
        ("name not like 'a/%' escape '/'", call(
            "not", call("like", NAME, Literal("a/%", STRING), Literal("/", STRING))
        )),
        ("`a.b` = 'x'", eq(AGAIN, "x")),
        ("k = -1", eq(K, -1)),
        ("k = 1.5", call(
            "eq", call("cast", K, type=Decimal(21, 1)), Literal(D("1.5"), Decimal(21, 1))
        )),
        # As Spark's analysis does.
        ("k > 1.5", call("gt", K, Literal(1, LONG))),
        ("1.5 > k", call("gt", Literal(2, LONG), K)),
        ("true", Literal(True, BOOLEAN)),
    ],
)  # fmt: skip
def test_predicates(predicate: str, expected: Any) -> None:
    found = one(predicate).predicate
    assert found is not None
    assert found == expected, render(found)


def test_complete_rows_are_taken_on_trust() -> None:
    taken = trusted_targets(check_target([FULL, FULL], COLUMNS, SETTINGS))
    assert taken.rows.num_rows == 2
    assert taken.rows.column("c3").to_pylist() == [D("2.50")] * 2


def test_maps_are_left_out() -> None:
    columns = (K, Column(9, "m", Map(STRING, LONG)), Column(10, "ms", Array(Map(LONG, LONG))))
    wanted = one((1, {"a": 1}, []), columns)
    assert wanted.values == {1: 1}
    assert not wanted.complete
    with pytest.raises(TargetError, match="maps are not compared"):
        one({"m": {"a": 1}}, columns)
