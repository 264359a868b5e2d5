"""The function table: what every function of the IR means to the rest of the system.

One row per function id. How an engine spells a function stands in `predtrace/engines`,
how Catalyst names it in `predtrace/frontends/spark`; completeness tests join the tables.
A function that is absent here does not exist: front ends refuse it by name.
"""

from __future__ import annotations

from enum import Enum

import msgspec


class Nulls(Enum):
    """How a function treats NULL arguments."""

    PROPAGATES = "propagates"
    """NULL if any argument is NULL; may also be NULL otherwise (a failed cast)."""
    NEVER_NULL = "never_null"
    """Never NULL (IS NULL, <=>)."""
    OWN = "own"
    """Has its own rule (AND, CASE, COALESCE …): encoded, or unknown to the solver."""


STRICT_TEST = "strict test "
"""How the functions are called that a proof makes up for tests: NULL of a NULL, else unknown."""


OF_COMPARED = " of what comparisons see"
"""How those of them end that tell equal values apart as little as comparisons do."""


class Encoding(Enum):
    """What the solver knows of a function."""

    INTERPRETED = "interpreted"
    """`symbolic.encode` gives its exact meaning."""
    UNINTERPRETED = "uninterpreted"
    """Only that equal arguments give equal results, and its NULL behaviour."""


class Function(msgspec.Struct, frozen=True):
    """One function: its NULL behaviour, what the solver knows of it, and a line for people."""

    id: str
    nulls: Nulls
    encoding: Encoding
    meaning: str


class Aggregate(msgspec.Struct, frozen=True):
    """One aggregate function. `attained` ones (min, max) take the value of some row."""

    id: str
    attained: bool
    meaning: str


def _rows(nulls: Nulls, encoding: Encoding, **meanings: str) -> list[Function]:
    return [Function(name.rstrip("_"), nulls, encoding, text) for name, text in meanings.items()]


_I, _U = Encoding.INTERPRETED, Encoding.UNINTERPRETED

FUNCTIONS: dict[str, Function] = {
    function.id: function
    for function in [
        *_rows(
            Nulls.OWN,
            _I,
            and_="three-valued AND of two or more",
            or_="three-valued OR of two or more",
            not_="three-valued NOT",
            in_="value IN (list): the OR of equalities",
            case="CASE WHEN condition THEN value … ELSE value END",
            coalesce="first argument that is not NULL",
        ),
        *_rows(
            Nulls.PROPAGATES,
            _I,
            eq="equal",
            lt="less than",
            le="less than or equal",
            gt="greater than",
            ge="greater than or equal",
        ),
        *_rows(
            Nulls.NEVER_NULL,
            _I,
            is_null="IS NULL",
            is_not_null="IS NOT NULL",
            nullsafe_eq="equal, NULL equal to NULL",
        ),
        *_rows(Nulls.NEVER_NULL, _U, is_nan="is not a number (false for NULL)"),
        *_rows(
            Nulls.PROPAGATES,
            _U,
            # arithmetic
            add="a + b in the result type",
            subtract="a - b in the result type",
            multiply="a * b in the result type",
            try_add="a + b, NULL where that wraps",
            try_subtract="a - b, NULL where that wraps",
            try_multiply="a * b, NULL where that wraps",
            divide="a / b in the result type",
            integer_divide="a DIV b",
            remainder="a % b, sign of a",
            pmod="positive modulus",
            negate="-a",
            abs="absolute value",
            round="round half up to n digits",
            bround="round half even to n digits",
            floor="largest whole number not above",
            ceil="smallest whole number not below",
            sqrt="square root",
            power="a to the power of b",
            exp="e to the power of a",
            ln="natural logarithm",
            log10="logarithm to base 10",
            sign="-1, 0 or 1",
            bit_and="bitwise and",
            bit_or="bitwise or",
            bit_xor="bitwise exclusive or",
            unscaled="the decimal's digits as a bigint",
            decimal_of="a bigint of digits as a decimal",
            check_overflow="the decimal in the result type, or NULL",
            # casts
            cast="convert to the result type (NULL where it fails)",
            try_cast="convert as in ANSI mode, NULL where that fails",
            to_number="number from text by a pattern, NULL where it does not match",
            # strings
            like="SQL LIKE; the arguments are value, pattern and escape character",
            ilike="LIKE without regard to case",
            rlike="matches a Java regular expression",
            starts_with="begins with",
            ends_with="ends with",
            contains="has as a part",
            substring="part from position (1-based, negative from the end), with a length",
            upper="in upper case",
            lower="in lower case",
            initcap="words with a capital",
            trim="without the given characters (blank) on both sides",
            ltrim="without the given characters (blank) on the left",
            rtrim="without the given characters (blank) on the right",
            lpad="padded on the left to a length",
            rpad="padded on the right to a length",
            char_pad="a CHAR(n) value, padded with blanks on reading",
            length="number of characters",
            concat="the arguments one after the other",
            replace="every occurrence replaced",
            translate="characters exchanged one by one",
            reverse="back to front",
            repeat="the text n times",
            position="1-based position of a part, from a start",
            instr="1-based position of a part",
            regexp_replace="every match of a Java regular expression replaced",
            regexp_extract="group of the first match of a Java regular expression",
            split="array of the parts between matches of a Java regular expression",
            ascii="code of the first character",
            md5="MD5 sum as text",
            sha2="SHA-2 sum as text",
            # dates and times
            year="year",
            quarter="quarter of the year",
            month="month of the year",
            day="day of the month",
            day_of_week="1 for Sunday to 7",
            weekday="0 for Monday to 6",
            day_of_year="day of the year",
            week_of_year="ISO week",
            hour="hour in the session time zone",
            minute="minute",
            second="second",
            date_add="date plus days",
            date_sub="date minus days",
            date_diff="days from the second date to the first",
            date_add_interval="date plus an interval of months or days",
            timestamp_add_interval="timestamp plus an interval",
            timestamp_diff="interval between two timestamps",
            add_months="date plus months",
            months_between="months between two times",
            last_day="last day of the month",
            next_day="next such weekday",
            trunc_date="date cut to a unit",
            trunc_timestamp="timestamp cut to a unit",
            date_format="text by a Java pattern",
            parse_timestamp="timestamp from text by a Java pattern",
            from_unix_time="text of an epoch second by a Java pattern",
            unix_time="epoch second of a time or of text by a Java pattern",
            make_date="date of year, month and day",
            # nested values
            get_field="field of a struct, by name",
            get_item="element of an array or map, NULL if absent",
            array_size="number of elements",
            array_contains="whether an array has an element",
            array_position="1-based position of the first such element, 0 if there is none",
            element_at="element of an array, from 1 or, negative, from the end; NULL if absent",
            slice="elements from a position (1-based, negative from the end), with a length",
            flatten="the elements of an array's arrays, one after the other",
            sort_array="the elements in ascending or descending order",
            array_distinct="the elements, equal ones once",
            array_remove="the elements that are not equal to a value",
            # functions of elements: the last arguments are lambdas
            transform="a function of each element, and of its position from 0",
            filter="the elements for which a function is true",
            zip_with="a function of the elements of two arrays, the shorter padded with NULLs",
            array_exists="whether a function is true for an element",
            array_forall="whether a function is true for all elements",
        ),
        *_rows(
            Nulls.OWN,
            _U,
            concat_ws="texts joined by a separator, NULLs skipped",
            greatest="largest argument, NULLs skipped",
            least="smallest argument, NULLs skipped",
            nullif="NULL if both are equal, else the first",
            hash="Spark's Murmur3 hash",
            xxhash64="Spark's xxHash64",
            array_repeat="array of a value n times",
            array_aggregate="a function of the elements and the result so far, then another",
            make_array="array of the arguments",
            make_struct="struct of the arguments; names are in the result type",
            make_map="map of keys and values in turn",
            map_from_arrays="map from an array of keys and one of values",
        ),
        *_rows(Nulls.PROPAGATES, _U, normalize_float="-0.0 as 0.0 and one NaN"),
    ]
}
"""Every scalar function, by id. All are deterministic: others are refused by front ends."""

SAME_FOR_EQUALS = frozenset(
    {
        "abs", "add", "and", "bround", "case", "ceil", "check_overflow", "coalesce", "divide", "eq",
        "exp", "floor", "ge", "greatest", "gt", "in", "is_nan", "is_not_null", "is_null", "le",
        "least", "ln", "log10", "lt", "multiply", "negate", "normalize_float", "not", "nullif",
        "nullsafe_eq", "or", "remainder", "round", "sign", "sqrt", "subtract",
    }
)  # fmt: skip
"""Functions that give equal results for 0.0 and -0.0."""

AGGREGATES: dict[str, Aggregate] = {
    aggregate.id: aggregate
    for aggregate in [
        Aggregate(
            "count", False, "number of rows whose arguments are not NULL (all rows without any)"
        ),
        Aggregate("sum", False, "sum, NULL for none"),
        Aggregate(
            "try_sum", False, "sum, NULL for none and where adding the rows leaves the range"
        ),
        Aggregate("avg", False, "mean, NULL for none"),
        Aggregate("min", True, "smallest value"),
        Aggregate("max", True, "largest value"),
        Aggregate("stddev_samp", False, "sample standard deviation"),
        Aggregate("stddev_pop", False, "population standard deviation"),
        Aggregate("var_samp", False, "sample variance"),
        Aggregate("var_pop", False, "population variance"),
        Aggregate("bool_and", False, "true if all are"),
        Aggregate("bool_or", False, "true if one is"),
        Aggregate("corr", False, "correlation of two arguments"),
        Aggregate("covar_pop", False, "population covariance"),
        Aggregate("covar_samp", False, "sample covariance"),
        Aggregate("median", False, "median"),
        Aggregate("percentile", False, "exact percentile"),
        Aggregate("count_if", False, "number of rows where the argument is true"),
    ]
}
"""Every aggregate function, by id, that gives the same result for any order of its rows."""
