"""Functions that DuckDB declares exact, measured against Spark on boundary values."""

from __future__ import annotations

import datetime as dt
import decimal
import itertools
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlglot import exp

from predtrace.engines.duckdb.dialect import DUCKDB_DIALECTS
from predtrace.engines.duckdb.functions import inexactness
from predtrace.engines.duckdb.process import database
from predtrace.engines.duckdb.source import source_inexactness
from predtrace.engines.spark.dialect import QUESTIONS
from predtrace.engines.spark.engine import SparkEngine
from predtrace.engines.sql.compiler import Compiler
from predtrace.engines.values import arrow_type, target_table
from predtrace.frontends.spark.functions_table import PRECISION_LOSS
from predtrace.jobs.model import EngineSettings
from predtrace.jobs.settings import PREFIX, TIME_PARSER, read_settings
from symbolic.expr import Call, Column, Expr, Lambda, Literal, Variable
from symbolic.functions.carried import KEY
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
    Record,
    Timestamp,
    YearMonthInterval,
)
from tests.engines.exact_calls import further, without_ansi
from tests.engines.tables import source
from tests.spark_settings import other_value

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = EngineSettings(
    engine_version="4", time_zone="Europe/Berlin", ansi=True, case_sensitive=False
)
MONEY = Decimal(15, 2)
WIDE = Decimal(18, 4)
LARGEST = Decimal(38, 10)
NTZ = Timestamp(zoned=False)
D = decimal.Decimal
UTC = dt.UTC

NUMERALS: list[Any] = [
    "", ".", "-", "0", "-0", " 12 ", "1.5", "-.5", "+7.", "1e3", "-1E-2", "128", "-32769",
    "2147483648", "99999999999999999999", "0.125", "NaN", "-inf", "1d", "\u00a01", "\t1\n", "tRue ",
    "n", "1_0", "\u0661", None,
]  # fmt: skip
MOMENTS: list[Any] = [
    "2021-03-28", "2021-3-8", " 2024-02-29 ", "2023-02-29", "2021", "2021-07", "2021-07-01 ",
    "2021-07-01 x", "2021-07-01T10:00:00", "0000-01-01", "12021-01-01", "+2021-01-01",
    "-0044-03-15", "202-01-01", "2021-1-1x",
    "2021-13-01", "1582-10-10", "", None,
]  # fmt: skip
VALUES: dict[str, tuple[DataType, list[Any]]] = {
    "flag": (BOOLEAN, [True, False, None]),
    # Small, so that sums and products stay in range: overflow has a test of its own.
    "small": (INTEGER, [0, 1, -1, 7, -7, 12, -31, 28, 400, None]),
    "whole": (LONG, [0, 1, -1, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), None]),
    "tiny": (Integer(8), [0, 1, -128, 127, None]),
    "money": (
        MONEY,
        [D("0.00"), D("-0.01"), D("0.05"), D("0.10"), D("-2.50"), D("9999999999999.99"), None],
    ),
    "wide": (
        WIDE,
        [D("0.0000"), D("1.0050"), D("-1.0050"), D("2.4950"), D("99999999999999.9999"), None],
    ),
    "unit": (
        Decimal(4, 4),
        [D("0.0000"), D("0.5000"), D("-0.5000"), D("0.0001"), D("-0.0001"), D("0.9999"), None],
    ),
    "largest": (
        LARGEST,
        [D("0"), D("1.0050000000"), D("-0.0000000001"), D("9" * 28 + ".9999999999"), None],
    ),
    "real": (
        DOUBLE,
        [0.0, -0.0, 1.5, -2.5, -1e300, 5e-324, 2147483647.5, 2.0**63, 300.7,
         math.nan, math.inf, -math.inf, 0.1, None],
    ),
    "single": (Float(32), [0.0, -0.0, 1.5, math.nan, math.inf, 0.1, None]),
    "text": (
        STRING,
        ["", " ", "a", "A", "ab", "  ab  ", "a_b", "a%b", "é", "e\u0301", "ß", "🦆x", "\U0001f600",
         "ΑΣ ΣΑ", "aΣ.", "ǆ İ", "a\\b", "line\nbreak", "\u00a0x\u00a0", "\tx\t", "zz",
         "\uffff", "Ab cd", None],
    ),
    "numeral": (STRING, NUMERALS),
    "moment": (STRING, MOMENTS),
    "bytes": (Binary(), [b"", b"\x00", b"\xff", b"a", b"ab", None]),
    "day": (
        DATE,
        [dt.date(1, 1, 1), dt.date(1582, 10, 4), dt.date(1582, 10, 15), dt.date(1969, 12, 31),
         dt.date(1970, 1, 1), dt.date(2000, 2, 29), dt.date(2023, 1, 1), dt.date(2024, 1, 31),
         dt.date(2024, 2, 29), dt.date(2024, 12, 30), dt.date(2024, 12, 31), dt.date(2026, 1, 4),
         dt.date(9999, 12, 31), None],
    ),
    "instant": (
        TIMESTAMP,
        [dt.datetime(1970, 1, 1, tzinfo=UTC), dt.datetime(2024, 3, 31, 1, 30, tzinfo=UTC),
         dt.datetime(2024, 10, 27, 0, 30, 0, 1, tzinfo=UTC), dt.datetime(1900, 1, 1, tzinfo=UTC),
         dt.datetime(2024, 10, 27, 1, 30, 59, 999_999, tzinfo=UTC),
         dt.datetime(2024, 3, 31, 0, 59, 59, tzinfo=UTC), dt.datetime(1582, 10, 10, 12, tzinfo=UTC),
         dt.datetime(1893, 3, 31, 23, 6, 32, tzinfo=UTC), dt.datetime(2, 1, 1, tzinfo=UTC),
         dt.datetime(9998, 12, 31, 23, 30, tzinfo=UTC), None],
    ),
    "local": (
        NTZ,
        [dt.datetime(1970, 1, 1), dt.datetime(2024, 3, 31, 2, 30), dt.datetime(1900, 1, 1), None],
    ),
}  # fmt: skip


def _columns() -> dict[str, Column]:
    found = {}
    for index, (name, (data_type, _)) in enumerate(VALUES.items()):
        for side, letter in enumerate("ab"):
            found[f"{name}_{letter}"] = Column(2 * index + side, f"{name}_{letter}", data_type)
    return found


COLUMNS = _columns()


def table() -> pa.Table:
    """All pairs of boundary values of each type, side by side."""
    longest = max(len(values) ** 2 for _, values in VALUES.values())
    arrays = []
    for data_type, values in VALUES.values():
        pairs = itertools.cycle(itertools.product(values, values))
        taken = list(itertools.islice(pairs, longest))
        arrays += [
            pa.array([pair[side] for pair in taken], arrow_type(data_type)) for side in (0, 1)
        ]
    return pa.table(arrays, names=[f"c{column.id}" for column in COLUMNS.values()])


def col(name: str) -> Column:
    return COLUMNS[name]


def text(value: str | None) -> Literal:
    return Literal(value, STRING)


def number(value: int) -> Literal:
    return Literal(value, INTEGER)


def of(function: str, *args: Expr, type: DataType = BOOLEAN) -> Call:
    return Call(function, args, type)


COMPARED = [name for name in VALUES if name not in ("small", "tiny", "numeral", "moment")]
DATE_PARTS = (
    "year", "quarter", "month", "day", "day_of_week", "weekday", "day_of_year", "week_of_year",
)  # fmt: skip
PATTERNS = ["a%", "%b", "_", "__", "", "%", "%a_b%", "é", "A", "line%break", "_x", "%\n%", None]
AFFIXES = ["", "a", "ab", "🦆", "\u0301", "%", None]


def cases() -> list[Call]:
    a, b = col("flag_a"), col("flag_b")
    found = [
        of("and", a, b), of("or", a, b), of("not", a),
        of("and", a, b, of("is_null", a)), of("or", a, b, of("is_not_null", a)),
        of("case", a, col("text_a"), b, col("text_b"), text(None), type=STRING),
        of("coalesce", col("text_a"), col("text_b"), type=STRING),
        of("is_nan", col("real_a")), of("is_nan", col("single_a")),
        of("length", col("text_a"), type=INTEGER),
        of("concat", col("text_a"), col("text_b"), type=STRING),
        of("instr", col("text_a"), col("text_b"), type=INTEGER),
        of("replace", col("text_a"), col("text_b"), text("<>"), type=STRING),
        of("date_diff", col("day_a"), col("day_b"), type=INTEGER),
        of("last_day", col("day_a"), type=DATE),
        of("eq", col("single_a"), col("real_b")), of("lt", col("single_a"), col("real_b")),
        of("eq", col("money_a"), col("wide_b")), of("lt", col("money_a"), col("wide_b")),
        of("eq", col("small_a"), col("whole_b")), of("le", col("tiny_a"), col("whole_b")),
    ]  # fmt: skip
    for name in COMPARED:
        pair = col(f"{name}_a"), col(f"{name}_b")
        found += [of(f, *pair) for f in ("eq", "lt", "le", "gt", "ge", "nullsafe_eq")]
        found += [of("in", *pair, pair[1])]
        found += [of(f, *pair, type=pair[0].type) for f in ("greatest", "least", "nullif")]
        found += [of("is_null", pair[0]), of("is_not_null", pair[0])]
    found += _arithmetic() + _casts() + _texts() + _dates() + _tried()
    return found + further(COLUMNS)


def _tried() -> list[Call]:
    """What wraps without ANSI, and what is NULL there."""
    found = [
        of(f"try_{f}", col(f"{kind}_a"), col(f"{kind}_b"), type=VALUES[kind][0])
        for f in ("add", "subtract", "multiply")
        for kind in ("small", "whole", "tiny")
    ]
    return found + [msgspec.structs.replace(call, function="try_cast") for call in _casts()]


def _arithmetic() -> list[Call]:
    small = col("small_a"), col("small_b")
    found = [of(f, *small, type=INTEGER) for f in ("add", "subtract", "multiply")]
    found += [of("negate", small[0], type=INTEGER), of("abs", small[0], type=INTEGER)]
    for left, right, total, product in (
        ("money", "money", Decimal(16, 2), Decimal(31, 4)),
        ("money", "wide", Decimal(19, 4), Decimal(34, 6)),
        ("wide", "wide", Decimal(19, 4), Decimal(37, 8)),
    ):
        pair = col(f"{left}_a"), col(f"{right}_b")
        found += [of(f, *pair, type=total) for f in ("add", "subtract")]
        found += [of("multiply", *pair, type=product)]
    # l_extendedprice * (1 - l_discount)
    one = Literal(D("1"), Decimal(1, 0))
    less = of("subtract", one, col("money_b"), type=Decimal(16, 2))
    found.append(of("multiply", col("money_a"), less, type=Decimal(32, 4)))
    for name in ("money", "wide"):
        column = col(f"{name}_a")
        found += [of(f, column, type=column.type) for f in ("negate", "abs")]
    return found + _quotients() + _of_bits() + _nested()


def _nested() -> list[Call]:
    """Arrays and structs of columns, and what is asked of them."""
    found = []
    for name in ("text", "small", "money", "real", "day"):
        kind = VALUES[name][0]
        pair = col(f"{name}_a"), col(f"{name}_b")
        array = of("make_array", *pair, type=Array(kind))
        item, place = Variable(0, "x", kind), Variable(1, "i", INTEGER)
        record = Record((Field("a b", kind), Field("n", INTEGER)))
        struct = of("make_struct", pair[0], col("small_b"), type=record)
        found += [
            of("array_size", array, type=INTEGER),
            of("array_exists", array, Lambda((item,), of("eq", item, pair[1]))),
            of("array_exists", array, Lambda((item,), of("nullsafe_eq", item, pair[1]))),
            of("array_exists", _or_null(array), Lambda((item,), of("lt", item, pair[1]))),
            of("get_field", struct, text("a b"), type=kind),
            of("get_field", _or_null(struct), text("n"), type=INTEGER),
        ]
        if name != "real":
            placed = of("make_struct", item, place, type=record)
            pairs = of(
                "transform", _or_null(array), Lambda((item, place), placed), type=Array(record)
            )
            found += [
                array,
                struct,
                pairs,
                of("transform", array, Lambda((item,), item), type=array.type),
            ]
    return found


def _or_null(value: Call) -> Call:
    return of("case", col("flag_a"), value, Literal(None, value.type), type=value.type)


def _of_bits() -> list[Call]:
    found = [
        of(f, col(f"{name}_a"), col(f"{name}_b"), type=VALUES[name][0])
        for f in ("bit_and", "bit_or", "bit_xor")
        for name in ("small", "whole", "tiny")
    ]
    found += [of("shift_right", col("whole_a"), number(n), type=LONG) for n in (0, 1, 31, 40, 63)]
    found += [of("shift_right", col("small_a"), number(n), type=INTEGER) for n in (0, 1, 31)]
    for mask in (1, 127):
        bit = of("bit_and", found[9], Literal(mask, LONG), type=LONG)
        found.append(of("cast", bit, type=Integer(8)))
    return found


def _quotients() -> list[Call]:
    """Many exact quotients are half-way between two results: 0.05 / 32, -0.01 / 32."""
    count = of("cast", col("small_b"), type=Decimal(10, 0))
    return [
        of("divide", col("money_a"), col("money_b"), type=Decimal(33, 18)),
        of("divide", col("money_a"), constant("32", 2, 0), type=Decimal(19, 6)),
        of("divide", col("money_a"), constant("-0.7", 1, 1), type=Decimal(20, 6)),
        of("divide", constant("1", 1, 0), col("money_b"), type=Decimal(19, 16)),
        of("divide", col("wide_a"), constant("64", 2, 0), type=Decimal(21, 7)),
        of("divide", col("money_a"), count, type=Decimal(26, 13)),
    ]


def constant(value: str, precision: int, scale: int) -> Literal:
    return Literal(D(value), Decimal(precision, scale))


def _casts() -> list[Call]:
    wanted: list[tuple[str, DataType]] = [
        ("small", LONG), ("small", MONEY), ("small", DOUBLE), ("small", STRING),
        ("whole", DOUBLE), ("whole", MONEY), ("whole", STRING), ("tiny", INTEGER),
        ("money", Decimal(15, 1)), ("money", Decimal(5, 0)), ("money", LARGEST),
        ("money", DOUBLE), ("money", STRING), ("wide", MONEY), ("wide", Decimal(20, 6)),
        ("largest", Decimal(38, 12)), ("largest", Decimal(38, 2)), ("wide", STRING),
        ("largest", STRING), ("unit", STRING), ("unit", DOUBLE), ("unit", WIDE),
        ("small", Decimal(9, 9)),
        ("single", DOUBLE), ("day", STRING), ("day", NTZ), ("local", DATE),
    ]  # fmt: skip
    found = [of("cast", col(f"{name}_a"), type=data_type) for name, data_type in wanted]
    return [*found, of("check_overflow", col("wide_a"), type=Decimal(6, 2))]


def _texts() -> list[Call]:
    value = col("text_a")
    found = [of("like", value, text(pattern)) for pattern in PATTERNS]
    found += [of("like", value, text("a_b"), text("/"))]
    for function in ("starts_with", "ends_with", "contains"):
        found += [of(function, value, text(affix)) for affix in AFFIXES]
        found.append(of(function, value, col("text_b")))
    for position, length in ((0, 2), (1, 1), (2, 3), (1, 0), (3, 100), (50, 2)):
        found.append(of("substring", value, number(position), number(length), type=STRING))
    for function in ("trim", "ltrim", "rtrim"):
        found.append(of(function, value, type=STRING))
        found += [of(function, value, text(chars), type=STRING) for chars in ("a ", "🦆", "")]
    found += [of("char_pad", value, number(n), type=STRING) for n in (0, 1, 3, 10)]
    return found


def _dates() -> list[Call]:
    day = col("day_a")
    found = [of(function, day, type=INTEGER) for function in DATE_PARTS]
    found.append(of("add_months", day, col("small_b"), type=DATE))
    for function in ("date_add", "date_sub"):
        found.append(of(function, day, col("tiny_b"), type=DATE))
        found += [of(function, day, number(days), type=DATE) for days in (0, 400, -31, 10_000)]
    for months in (0, 1, -1, 12, 13, -25):
        interval = Literal(months, YearMonthInterval())
        found.append(of("date_add_interval", day, interval, type=DATE))
    for days in (0, 1, -1, 90, -366):
        interval = Literal(days * 86_400_000_000, DayTimeInterval())
        found.append(of("date_add_interval", day, interval, type=DATE))
    return found


CASES = cases()
CASES_WITHOUT_ANSI = without_ansi(COLUMNS)


def test_every_faithful_function_is_measured() -> None:
    # Carried functions are measured in tests/functions; results that a job kept are looked up:
    # tests/test_kept_function_results.py.
    elsewhere = {KEY, "python"}
    assert {case.function for case in CASES} == DUCKDB_DIALECTS[True].functions.keys() - elsewhere
    for case in CASES:
        assert inexactness([case], SETTINGS) is None, case


def _query(compiler: Compiler, source: exp.Expr, some: list[Call]) -> exp.Select:
    results = [exp.alias_(compiler(case), f"r{i}") for i, case in enumerate(some)]
    return exp.select(*results).from_(exp.alias_(source, "s", table=True))


def _values(column: pa.ChunkedArray) -> list[Any]:
    # Both engines count days and microseconds beyond the years that Python has.
    if pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    values: list[Any] = column.to_pylist()
    return values


def _shown(value: Any) -> Any:
    """A value to compare by: NaN equals itself, 0.0 equals -0.0."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


def in_duckdb(file: Path, some: list[Call], *, ansi: bool = True) -> list[list[Any]]:
    files = exp.Anonymous(this="read_parquet", expressions=[exp.Literal.string(str(file))])
    functions = DUCKDB_DIALECTS[ansi].functions
    query = _query(Compiler("duckdb", functions), exp.select("*").from_(files).subquery(), some)
    with database().cursor() as connection:
        connection.execute(f"SET TimeZone = '{SETTINGS.time_zone}'")
        found = connection.sql(query.sql("duckdb")).to_arrow_table()
    return [_values(column) for column in found.columns]


def in_spark(
    spark: SparkSession, file: Path, some: list[Call], settings: EngineSettings = SETTINGS
) -> list[list[Any]]:
    from predtrace.engines.base import Targets

    # The session that the Spark engine evaluates lineage in.
    session = SparkEngine(spark).open(Targets(target_table([], []), (), False), settings).session
    session.read.parquet(str(file)).createOrReplaceTempView("boundaries")
    # Compiling hundreds of expressions to Java takes minutes; a few hundred rows do not.
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    compiler = Compiler("spark", QUESTIONS[settings.ansi].functions)
    query = _query(compiler, exp.to_table("boundaries"), some)
    found = session.sql(query.sql("spark")).toArrow()
    return [_values(column) for column in found.columns]


@pytest.fixture(scope="module")
def boundaries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("boundaries") / "values.parquet"
    pq.write_table(table(), file)
    return file


# By these the values that are read, and the types of decimals, are other ones.
_OF_FILES = ("parquet.", "files.", "legacy.parquet.")


@pytest.mark.spark
@pytest.mark.parametrize("default", [True, False])
def test_duckdb_gives_what_spark_gives(
    spark: SparkSession, boundaries: Path, default: bool
) -> None:
    settings = SETTINGS
    if not default:
        conf = read_settings(spark.conf, spark.version).conf
        others = {
            key: other_value(key, value)
            for key, value in conf.items()
            if not key.removeprefix(PREFIX).startswith(_OF_FILES) and key != PRECISION_LOSS
        }
        settings = msgspec.structs.replace(SETTINGS, ansi=False, conf=others)
    some = CASES if default else [*CASES, *CASES_WITHOUT_ANSI]
    cases = [case for case in some if inexactness([case], settings) is None]
    assert len(cases) > 0.8 * len(CASES)
    expected = in_spark(spark, boundaries, cases, settings)
    found = in_duckdb(boundaries, cases, ansi=settings.ansi)
    rows = table().to_pylist()
    problems = []
    for case, theirs, ours in zip(cases, expected, found, strict=True):
        for row, wanted, got in zip(rows, theirs, ours, strict=True):
            if _shown(wanted) != _shown(got):
                args = [
                    row.get(f"c{arg.id}") if isinstance(arg, Column) else arg for arg in case.args
                ]
                problems.append(
                    f"{case.function}{args} {case.type}: Spark {wanted!r}, DuckDB {got!r}"
                )
                break
    assert not problems, "\n".join(problems)


def test_overflow_gives_null(boundaries: Path) -> None:
    """Rows that the pipeline never evaluated must not make a question fail."""
    whole = col("whole_a")
    overflowing = [
        of("add", whole, Literal(2**63 - 1, LONG), type=LONG),
        of("multiply", whole, Literal(2**62, LONG), type=LONG),
        of("negate", whole, type=LONG),
        of("abs", whole, type=LONG),
        of("cast", whole, type=Decimal(3, 0)),
    ]
    for case, values in zip(overflowing, in_duckdb(boundaries, overflowing), strict=True):
        assert None in values, case
        assert any(value is not None for value in values), case


LONG_FRACTION = Literal(D("0.5"), Decimal(38, 37))
CHECKED = of("divide", col("largest_a"), col("money_b"), type=Decimal(38, 6))
"""A quotient that fails for the largest values."""


def test_a_quotient_of_too_many_digits_fails(boundaries: Path) -> None:
    assert inexactness([CHECKED], SETTINGS) is None
    with pytest.raises(duckdb.Error, match="more digits"):
        in_duckdb(boundaries, [CHECKED])
    hidden = of("negate", CHECKED, type=CHECKED.type)
    with pytest.raises(duckdb.Error, match="TRY"):
        in_duckdb(boundaries, [hidden])


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (of("divide", col("real_a"), col("real_b"), type=DOUBLE), "decimals only"),
        (of("divide", col("largest_a"), LONG_FRACTION, type=Decimal(38, 30)), "too many digits"),
        (of("negate", CHECKED, type=CHECKED.type), "more digits"),
        (of("multiply", col("real_a"), col("real_b"), type=DOUBLE), "round"),
        (of("multiply", col("largest_a"), col("money_b"), type=Decimal(38, 6)), "rounded"),
        (of("negate", col("largest_a"), type=LARGEST), "rounded"),
        (of("like", col("text_a"), text("a\\_b"), text("\\")), "escape"),
        (of("like", col("text_a"), col("text_b"), text("\\")), "not constant"),
        (of("rlike", col("text_a"), text("a+")), "Java"),
        (of("substring", col("text_a"), number(-2), number(1), type=STRING), "from 0"),
        (of("cast", col("text_a"), type=TIMESTAMP), "casts from string to timestamp"),
        (of("cast", Column(1, "all_a", Decimal(38, 38)), type=STRING), "casts from decimal(38,38)"),
        (of("eq", col("text_a"), number(1)), "conversions"),
        (of("year", col("instant_a"), type=INTEGER), "dates only"),
        (of("my_udf", col("text_a"), type=STRING), "unknown"),
    ],
)
def test_what_is_not_faithful_says_why(case: Call, reason: str) -> None:
    problem = inexactness([of("is_null", case)], SETTINGS)
    assert problem is not None
    assert reason in problem
    assert case.function in problem


def test_settings_of_the_job_say_what_is_exact() -> None:
    """What each of these gives is measured above, where it is exact."""
    date, digits = (of("cast", col(f"{name}_a"), type=STRING) for name in ("day", "largest"))
    for policy, exact in (("CORRECTED", True), ("EXCEPTION", True), ("LEGACY", False)):
        settings = msgspec.structs.replace(SETTINGS, conf={TIME_PARSER: policy})
        assert (inexactness([date], settings) is None) is exact
    for ansi in (True, False):
        settings = msgspec.structs.replace(SETTINGS, ansi=ansi)
        assert (inexactness([digits], settings) is None) is ansi


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("files.ignoreCorruptFiles", "true"),
        ("parquet.datetimeRebaseModeInRead", "LEGACY"),
        ("parquet.int96RebaseModeInRead", "LEGACY"),
        ("parquet.int96TimestampConversion", "true"),
        ("parquet.fieldId.read.enabled", "true"),
        ("legacy.parquet.nanosAsLong", "true"),
        ("legacy.parquet.returnNullStructIfAllFieldsMissing", "true"),
    ],
)
def test_files_that_the_job_read_otherwise_are_left_to_spark(
    boundaries: Path, name: str, value: str
) -> None:
    read = source("boundaries", boundaries, list(COLUMNS.values()))
    assert source_inexactness(read, SETTINGS) is None
    settings = msgspec.structs.replace(SETTINGS, conf={f"{PREFIX}{name}": value})
    assert f"{name}={value}" in (source_inexactness(read, settings) or "")


def test_integers_wrap_without_ansi(boundaries: Path) -> None:
    top = Literal(2**63 - 1, LONG)
    cases = [
        of("add", col("whole_a"), top, type=LONG),
        of("multiply", top, col("whole_a"), type=LONG),
        of("cast", col("whole_a"), type=INTEGER),
    ]
    values = table().column(f"c{col('whole_a').id}").to_pylist()
    wanted = [
        [None if value is None else (f(value) + half) % (2 * half) - half for value in values]
        for f, half in (
            (lambda value: value + 2**63 - 1, 2**63),
            (lambda value: value * (2**63 - 1), 2**63),
            (lambda value: value, 2**31),
        )
    ]
    assert in_duckdb(boundaries, cases, ansi=False) == wanted
