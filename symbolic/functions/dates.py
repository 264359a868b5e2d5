"""Functions of dates and times."""

from __future__ import annotations

from functools import partial

from symbolic.functions.base import Encoding, Function, Nulls, Semantics, Zeros
from symbolic.types import DATE, DOUBLE, INTEGER, LONG

_PROPAGATES, _PROPAGATES_ONLY = Nulls.PROPAGATES, Nulls.PROPAGATES_ONLY

_spark = partial(
    Function, semantics=Semantics.SPARK, encoding=Encoding.UNINTERPRETED, zeros=Zeros.APART
)

ROWS = (
    _spark("year", INTEGER, _PROPAGATES_ONLY, "year"),
    _spark("quarter", INTEGER, _PROPAGATES_ONLY, "quarter of the year"),
    _spark("month", INTEGER, _PROPAGATES_ONLY, "month of the year"),
    _spark("day", INTEGER, _PROPAGATES_ONLY, "day of the month"),
    _spark("day_of_week", INTEGER, _PROPAGATES, "1 for Sunday to 7"),
    _spark("weekday", INTEGER, _PROPAGATES, "0 for Monday to 6"),
    _spark("day_of_year", INTEGER, _PROPAGATES, "day of the year"),
    _spark("week_of_year", INTEGER, _PROPAGATES, "ISO week"),
    _spark("hour", INTEGER, _PROPAGATES, "hour in the session time zone"),
    _spark("minute", INTEGER, _PROPAGATES, "minute"),
    _spark("second", INTEGER, _PROPAGATES, "second"),
    _spark("date_add", DATE, _PROPAGATES_ONLY, "date plus days"),
    _spark("date_sub", DATE, _PROPAGATES_ONLY, "date minus days"),
    _spark("date_diff", INTEGER, _PROPAGATES_ONLY, "days from the second date to the first"),
    _spark("date_add_interval", DATE, _PROPAGATES, "date plus an interval of months or days"),
    _spark("timestamp_add_interval", None, _PROPAGATES, "timestamp plus an interval"),
    _spark("timestamp_diff", None, _PROPAGATES, "interval between two timestamps"),
    _spark("add_months", DATE, _PROPAGATES, "date plus months"),
    _spark("months_between", DOUBLE, _PROPAGATES, "months between two times"),
    _spark("last_day", DATE, _PROPAGATES, "last day of the month"),
    _spark("next_day", DATE, _PROPAGATES, "next such weekday"),
    _spark("trunc_date", DATE, _PROPAGATES, "date cut to a unit"),
    _spark("trunc_timestamp", None, _PROPAGATES, "timestamp cut to a unit"),
    _spark("date_format", None, _PROPAGATES, "text by a Java pattern"),
    _spark("parse_timestamp", None, _PROPAGATES, "timestamp from text by a Java pattern"),
    _spark("from_unix_time", None, _PROPAGATES, "text of an epoch second by a Java pattern"),
    _spark("unix_time", LONG, _PROPAGATES, "epoch second of a time or of text by a Java pattern"),
    _spark("unix_micros", LONG, _PROPAGATES_ONLY, "microseconds since 1970, zoned or not"),
    _spark("timestamp_micros", None, _PROPAGATES_ONLY, "timestamp of microseconds since 1970"),
    _spark("make_date", DATE, _PROPAGATES, "date of year, month and day"),
)
"""All are Spark's, and uninterpreted."""
