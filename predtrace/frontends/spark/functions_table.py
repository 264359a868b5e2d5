"""How Catalyst names the functions of the IR: one row per expression class.

Only classes whose arguments are exactly their children, in order, stand here; those
with more to them are read by functions in `expressions`.
"""

from __future__ import annotations

import msgspec

from symbolic import types as t


class Spelling(msgspec.Struct, frozen=True):
    """`function`: id in `symbolic.functions`; `type`: result type (None: ask Catalyst).

    `failing` ones have an evaluation mode (ANSI or not), which has to be the session's.
    """

    function: str
    type: t.DataType | None = None
    failing: bool = False


def _rows(type: t.DataType | None, failing: bool = False, **classes: str) -> dict[str, Spelling]:
    return {name: Spelling(function, type, failing) for name, function in classes.items()}


SCALAR: dict[str, Spelling] = {
    **_rows(
        t.BOOLEAN,
        Not="not",
        EqualTo="eq",
        EqualNullSafe="nullsafe_eq",
        LessThan="lt",
        LessThanOrEqual="le",
        GreaterThan="gt",
        GreaterThanOrEqual="ge",
        In="in",
        IsNull="is_null",
        IsNotNull="is_not_null",
        IsNaN="is_nan",
        RLike="rlike",
        StartsWith="starts_with",
        EndsWith="ends_with",
        Contains="contains",
        ArrayContains="array_contains",
        ArrayExists="array_exists",
        ArrayForAll="array_forall",
    ),
    **_rows(
        None,
        failing=True,
        Add="add",
        Subtract="subtract",
        Multiply="multiply",
        Divide="divide",
        IntegralDivide="integer_divide",
        Remainder="remainder",
        Pmod="pmod",
    ),
    # Their result types are what a pattern says. What fails is NULL: they differ in failing.
    **_rows(None, ToNumber="to_number", TryToNumber="to_number"),
    **_rows(
        None,
        UnaryMinus="negate",
        Abs="abs",
        Round="round",
        BRound="bround",
        Floor="floor",
        Ceil="ceil",
        BitwiseAnd="bit_and",
        BitwiseOr="bit_or",
        BitwiseXor="bit_xor",
        Coalesce="coalesce",
        Greatest="greatest",
        Least="least",
        Concat="concat",
        Reverse="reverse",
        MakeDecimal="decimal_of",
        CheckOverflow="check_overflow",
        CreateArray="make_array",
        CreateMap="make_map",
        MapFromArrays="map_from_arrays",
        Slice="slice",
        Flatten="flatten",
        ArrayRepeat="array_repeat",
        SortArray="sort_array",
        ArrayDistinct="array_distinct",
        ArrayRemove="array_remove",
        ArrayTransform="transform",
        ArrayFilter="filter",
        ZipWith="zip_with",
        ArrayAggregate="array_aggregate",
        NormalizeNaNAndZero="normalize_float",
        SubtractTimestamps="timestamp_diff",
        SubtractDates="timestamp_diff",
        TimestampAddYMInterval="timestamp_add_interval",
        TimestampAddInterval="timestamp_add_interval",
        TimeAdd="timestamp_add_interval",
    ),
    **_rows(
        t.DOUBLE,
        Sqrt="sqrt",
        Pow="power",
        Exp="exp",
        Log="ln",
        Log10="log10",
        Signum="sign",
        MonthsBetween="months_between",
    ),
    **_rows(
        None,
        Substring="substring",
        Upper="upper",
        Lower="lower",
        InitCap="initcap",
        StringTrim="trim",
        StringTrimLeft="ltrim",
        StringTrimRight="rtrim",
        StringLPad="lpad",
        StringRPad="rpad",
        ConcatWs="concat_ws",
        StringReplace="replace",
        StringTranslate="translate",
        StringRepeat="repeat",
        RegExpReplace="regexp_replace",
        RegExpExtract="regexp_extract",
        StringSplit="split",
        Md5="md5",
        Sha2="sha2",
        DateFormatClass="date_format",
        FromUnixTime="from_unix_time",
        GetTimestamp="parse_timestamp",
        TruncTimestamp="trunc_timestamp",
    ),
    **_rows(
        t.INTEGER,
        Length="length",
        StringLocate="position",
        StringInstr="instr",
        Ascii="ascii",
        Year="year",
        Quarter="quarter",
        Month="month",
        DayOfMonth="day",
        DayOfWeek="day_of_week",
        WeekDay="weekday",
        DayOfYear="day_of_year",
        WeekOfYear="week_of_year",
        Hour="hour",
        Minute="minute",
        Second="second",
        DateDiff="date_diff",
        ArraySize="array_size",
    ),
    **_rows(
        t.DATE,
        DateAdd="date_add",
        DateSub="date_sub",
        DateAddYMInterval="date_add_interval",
        DateAddInterval="date_add_interval",
        AddMonths="add_months",
        LastDay="last_day",
        NextDay="next_day",
        TruncDate="trunc_date",
        MakeDate="make_date",
    ),
    **_rows(
        t.LONG,
        UnscaledValue="unscaled",
        ArrayPosition="array_position",
        ToUnixTimestamp="unix_time",
        UnixTimestamp="unix_time",
    ),
}
"""Scalar expression classes whose children are the function's arguments."""

TRIED: dict[str, str] = {
    "add": "try_add",
    "subtract": "try_subtract",
    "multiply": "try_multiply",
    "cast": "try_cast",
    "sum": "try_sum",
}
"""Functions that wrap or truncate without ANSI: what they are in TRY mode then.

Without ANSI the others are NULL where they fail in ANSI mode, as they are in TRY mode.
"""

TRANSPARENT = frozenset(
    {
        "KnownNotNull",
        "KnownNullable",
        "KnownNotContainsNull",
        "KnownFloatingPointNormalized",
        "UnaryPositive",
    }
)
"""Classes that only mark their first child."""

AGGREGATE: dict[str, str] = {
    "Count": "count",
    "Sum": "sum",
    "Average": "avg",
    "Min": "min",
    "Max": "max",
    "StddevSamp": "stddev_samp",
    "StddevPop": "stddev_pop",
    "VarianceSamp": "var_samp",
    "VariancePop": "var_pop",
    "BoolAnd": "bool_and",
    "BoolOr": "bool_or",
    "Corr": "corr",
    "CovPopulation": "covar_pop",
    "CovSample": "covar_samp",
    "Median": "median",
    "CountIf": "count_if",
    "Percentile": "percentile",
}
"""Aggregate function classes: the id in `symbolic.functions.AGGREGATES`."""

UNSUPPORTED: dict[str, str] = {
    "PivotFirst": "pivots are not traced yet; write an aggregate with FILTER for each value",
    "PreciseTimestampConversion": "time windows (window, session_window) are not traced yet; "
    "group by date_trunc",
    "PythonUDF": "Python functions are opaque so far; use SQL functions",
    "ScalaUDF": "user functions of the JVM are opaque so far; use SQL functions",
    "WindowExpression": "window functions are not traced yet",
    "Explode": "row generators are not traced yet",
    "OuterReference": "this correlation of a subquery is not traced yet; write it as a join",
    "InSubquery": "IN is not traced at this place; move it to WHERE",
    **dict.fromkeys(
        ("ScalarSubquery", "Exists"),
        "it stands beside the keys and aggregates of a GROUP BY; group in a subquery of FROM, and "
        "compute it in the query around that",
    ),
    "LateralSubquery": "lateral joins are not traced yet; write it as a plain join",
    "First": "its result depends on the order of rows; use min or max",
    "Last": "its result depends on the order of rows; use min or max",
    "AnyValue": "its result depends on the order of rows; use min or max",
    "MaxBy": "ties make its result depend on the order of rows; use a window or a join",
    "MinBy": "ties make its result depend on the order of rows; use a window or a join",
    "CollectList": "its result depends on the order of rows; trace the rows before it",
    "CollectSet": "its result depends on the order of rows; trace the rows before it",
    "ListAgg": "its result depends on the order of rows; trace the rows before it",
    "ApproximatePercentile": "it approximates; use percentile",
    "HyperLogLogPlusPlus": "it approximates; use count(DISTINCT …)",
    "Grouping": "grouping sets are not traced yet",
    "GroupingID": "grouping sets are not traced yet",
    "ArraySort": "its comparison may not be an order; use sort_array",
    **dict.fromkeys(
        ("MapFilter", "TransformKeys", "TransformValues", "MapZipWith"),
        "functions over maps are not traced yet; use arrays",
    ),
    "Size": "its result for NULL depends on a setting; use array_size",
}
"""Expression classes known to be refused, with the reason and the way out."""

PRECISION_LOSS = "spark.sql.decimalOperations.allowPrecisionLoss"
_YES, _NO = {True: "true", False: "false"}, {True: "false", False: "true"}
CAPTURED: dict[str, tuple[str, dict[bool, str]]] = {
    "allowNullComparisonResult": ("spark.sql.legacy.allowNullComparisonResultInArraySort", _YES),
    "followThreeValuedLogic": ("spark.sql.legacy.followThreeValuedLogicInArrayExists", _YES),
    "nullOnDivideByZero": ("spark.sql.legacy.statisticalAggregate", _NO),
}
"""Fields of expressions that hold what a setting was when they were made: its name and values."""

NON_DETERMINISTIC = (
    "Rand",
    "Randn",
    "RandStr",
    "Uniform",
    "Uuid",
    "Shuffle",
    "MonotonicallyIncreasingID",
    "SparkPartitionID",
    "InputFileName",
    "InputFileBlockStart",
    "InputFileBlockLength",
    "CurrentBatchTimestamp",
)
"""Expression classes whose value another run need not repeat."""
