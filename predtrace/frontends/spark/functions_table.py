"""Catalyst's names for the functions of the IR: one row per expression class.

The table has only classes whose arguments are exactly their children, in order. Functions in
`expressions` read all other classes. The function table has result types and NULL behaviour.
"""

from __future__ import annotations

from functools import partial

import msgspec

from symbolic.functions import Semantics

SEMANTICS = Semantics.SPARK
"""The semantics of Catalyst's functions."""


class CatalystClass(msgspec.Struct, frozen=True):
    """An expression class: a function of the table, applied to the class's children in order.

    `has_mode`: it has an evaluation mode (ANSI, legacy, TRY), which has to be the session's.
    """

    function: str
    has_mode: bool


_plain = partial(CatalystClass, has_mode=False)
_moded = partial(CatalystClass, has_mode=True)

SCALAR: dict[str, CatalystClass] = {
    "Not": _plain("not"),
    "EqualTo": _plain("eq"),
    "EqualNullSafe": _plain("nullsafe_eq"),
    "LessThan": _plain("lt"),
    "LessThanOrEqual": _plain("le"),
    "GreaterThan": _plain("gt"),
    "GreaterThanOrEqual": _plain("ge"),
    "In": _plain("in"),
    "IsNull": _plain("is_null"),
    "IsNotNull": _plain("is_not_null"),
    "IsNaN": _plain("is_nan"),
    "RLike": _plain("rlike"),
    "StartsWith": _plain("starts_with"),
    "EndsWith": _plain("ends_with"),
    "Contains": _plain("contains"),
    "ArrayContains": _plain("array_contains"),
    "ArrayExists": _plain("array_exists"),
    "ArrayForAll": _plain("array_forall"),
    "Add": _moded("add"),
    "Subtract": _moded("subtract"),
    "Multiply": _moded("multiply"),
    "Divide": _moded("divide"),
    "IntegralDivide": _moded("integer_divide"),
    "Remainder": _moded("remainder"),
    "Pmod": _moded("pmod"),
    # A pattern decides their result types. They are NULL where the others fail.
    "ToNumber": _plain("to_number"),
    "TryToNumber": _plain("to_number"),
    "UnaryMinus": _plain("negate"),
    "Abs": _plain("abs"),
    "Round": _plain("round"),
    "BRound": _plain("bround"),
    "Floor": _plain("floor"),
    "Ceil": _plain("ceil"),
    "BitwiseAnd": _plain("bit_and"),
    "BitwiseOr": _plain("bit_or"),
    "BitwiseXor": _plain("bit_xor"),
    "ShiftRight": _plain("shift_right"),
    "Coalesce": _plain("coalesce"),
    "Greatest": _plain("greatest"),
    "Least": _plain("least"),
    "Concat": _plain("concat"),
    "Reverse": _plain("reverse"),
    "MakeDecimal": _plain("decimal_of"),
    "CheckOverflow": _plain("check_overflow"),
    "CreateArray": _plain("make_array"),
    "CreateMap": _plain("make_map"),
    "MapEntries": _plain("map_entries"),
    "MapFromArrays": _plain("map_from_arrays"),
    "Slice": _plain("slice"),
    "Flatten": _plain("flatten"),
    "ArrayRepeat": _plain("array_repeat"),
    "SortArray": _plain("sort_array"),
    "ArrayDistinct": _plain("array_distinct"),
    "ArrayRemove": _plain("array_remove"),
    "ArrayTransform": _plain("transform"),
    "ArrayFilter": _plain("filter"),
    "ZipWith": _plain("zip_with"),
    "ArrayAggregate": _plain("array_aggregate"),
    "NormalizeNaNAndZero": _plain("normalize_float"),
    "SubtractTimestamps": _plain("timestamp_diff"),
    "SubtractDates": _plain("timestamp_diff"),
    "TimestampAddYMInterval": _plain("timestamp_add_interval"),
    "TimestampAddInterval": _plain("timestamp_add_interval"),
    "TimeAdd": _plain("timestamp_add_interval"),
    "Sqrt": _plain("sqrt"),
    "Pow": _plain("power"),
    "Exp": _plain("exp"),
    "Log": _plain("ln"),
    "Log10": _plain("log10"),
    "Signum": _plain("sign"),
    "MonthsBetween": _plain("months_between"),
    "Substring": _plain("substring"),
    "Upper": _plain("upper"),
    "Lower": _plain("lower"),
    "InitCap": _plain("initcap"),
    "StringTrim": _plain("trim"),
    "StringTrimLeft": _plain("ltrim"),
    "StringTrimRight": _plain("rtrim"),
    "StringLPad": _plain("lpad"),
    "StringRPad": _plain("rpad"),
    "ConcatWs": _plain("concat_ws"),
    "StringReplace": _plain("replace"),
    "StringTranslate": _plain("translate"),
    "StringRepeat": _plain("repeat"),
    "RegExpReplace": _plain("regexp_replace"),
    "RegExpExtract": _plain("regexp_extract"),
    "StringSplit": _plain("split"),
    "Md5": _plain("md5"),
    "Sha2": _plain("sha2"),
    "DateFormatClass": _plain("date_format"),
    "FromUnixTime": _plain("from_unix_time"),
    "GetTimestamp": _plain("parse_timestamp"),
    "TruncTimestamp": _plain("trunc_timestamp"),
    "Length": _plain("length"),
    "StringLocate": _plain("position"),
    "StringInstr": _plain("instr"),
    "Ascii": _plain("ascii"),
    "Year": _plain("year"),
    "Quarter": _plain("quarter"),
    "Month": _plain("month"),
    "DayOfMonth": _plain("day"),
    "DayOfWeek": _plain("day_of_week"),
    "WeekDay": _plain("weekday"),
    "DayOfYear": _plain("day_of_year"),
    "WeekOfYear": _plain("week_of_year"),
    "Hour": _plain("hour"),
    "Minute": _plain("minute"),
    "Second": _plain("second"),
    "DateDiff": _plain("date_diff"),
    "ArraySize": _plain("array_size"),
    "DateAdd": _plain("date_add"),
    "DateSub": _plain("date_sub"),
    "DateAddYMInterval": _plain("date_add_interval"),
    "DateAddInterval": _plain("date_add_interval"),
    "AddMonths": _plain("add_months"),
    "LastDay": _plain("last_day"),
    "NextDay": _plain("next_day"),
    "TruncDate": _plain("trunc_date"),
    "MakeDate": _plain("make_date"),
    "UnscaledValue": _plain("unscaled"),
    "ArrayPosition": _plain("array_position"),
    "ToUnixTimestamp": _plain("unix_time"),
    "UnixTimestamp": _plain("unix_time"),
    "UnixMicros": _plain("unix_micros"),
    "MicrosToTimestamp": _plain("timestamp_micros"),
}
"""Scalar expression classes whose children are the function's arguments."""

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

AGGREGATE: dict[str, CatalystClass] = {
    "Count": _plain("count"),
    "Sum": _moded("sum"),
    "Average": _moded("avg"),
    "Min": _plain("min"),
    "Max": _plain("max"),
    "StddevSamp": _plain("stddev_samp"),
    "StddevPop": _plain("stddev_pop"),
    "VarianceSamp": _plain("var_samp"),
    "VariancePop": _plain("var_pop"),
    "BoolAnd": _plain("bool_and"),
    "BoolOr": _plain("bool_or"),
    "Corr": _plain("corr"),
    "CovPopulation": _plain("covar_pop"),
    "CovSample": _plain("covar_samp"),
    "Median": _plain("median"),
    "CountIf": _plain("count_if"),
    "Percentile": _plain("percentile"),
}
"""Aggregate function classes."""

WINDOW: dict[str, str] = {
    "Rank": "rank",
    "DenseRank": "dense_rank",
    "PercentRank": "percent_rank",
    "CumeDist": "cume_dist",
    "RowNumber": "row_number",
    "NTile": "ntile",
    "Lag": "lag",
    "Lead": "lead",
    "First": "first_value",
    "AnyValue": "first_value",
    "Last": "last_value",
    "NthValue": "nth_value",
}
"""Classes of functions that only windows have: the id."""

UNSUPPORTED: dict[str, str] = {
    "PivotFirst": "it stands outside of a pivot; write an aggregate with FILTER for each value",
    "ScalaUDF": "user functions of the JVM are opaque so far; use SQL functions",
    "WindowExpression": "windows stand beside other columns; compute it in a subquery of FROM",
    "OuterReference": "this correlation of a subquery is not traced yet; write it as a join",
    "InSubquery": "IN is not traced at this place; move it to WHERE",
    **dict.fromkeys(
        ("ScalarSubquery", "Exists"),
        "it stands beside the keys and aggregates of a GROUP BY; group in a subquery of FROM, and "
        "compute it in the query around that",
    ),
    "LateralSubquery": "lateral joins are not traced yet; write it as a plain join",
}
"""Expression classes known to be refused, with the reason and the way out."""
OF_VALUES = frozenset({"ScalaUDF"})
"""Those that are functions of their arguments and no more; the others say something of the plan."""

PRECISION_LOSS = "spark.sql.decimalOperations.allowPrecisionLoss"
_YES, _NO = {True: "true", False: "false"}, {True: "false", False: "true"}
CAPTURED: dict[str, tuple[str, dict[bool, str]]] = {
    "allowNullComparisonResult": ("spark.sql.legacy.allowNullComparisonResultInArraySort", _YES),
    "followThreeValuedLogic": ("spark.sql.legacy.followThreeValuedLogicInArrayExists", _YES),
    "nullOnDivideByZero": ("spark.sql.legacy.statisticalAggregate", _NO),
}
"""Fields of expressions that hold a setting's value from their creation: its name and values."""

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
"""Expression classes whose value another run may not repeat."""
