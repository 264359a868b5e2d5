"""Dates, timestamps and intervals; wall-clock fields are those of the session time zone."""

from __future__ import annotations

import calendar
import datetime as dt
from collections.abc import Callable
from typing import Any

from symbolic.expr import Call
from symbolic.types import Timestamp, YearMonthInterval
from tests.reference.functions.base import Builder, Settings, plain

_WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_UNITS = {
    "YEAR": "year", "YYYY": "year", "YY": "year",
    "QUARTER": "quarter",
    "MONTH": "month", "MON": "month", "MM": "month",
    "WEEK": "week",
    "DAY": "day", "DD": "day",
    "HOUR": "hour", "MINUTE": "minute", "SECOND": "second",
}  # fmt: skip


def add_months(day: dt.date, months: int) -> dt.date:
    """The same day some months on, or the last of the month where there is no such day."""
    total = day.year * 12 + day.month - 1 + months
    year, month = divmod(total, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return day.replace(year=year, month=month + 1, day=min(day.day, last))


def _field(read: Callable[[Any], int]) -> Builder:
    def build(expr: Call, settings: Settings) -> Callable[..., Any]:
        if isinstance(expr.args[0].type, Timestamp):
            return lambda value: read(settings.local(value))
        return read

    return build


def _date_add_interval(expr: Call, settings: Settings) -> Callable[..., Any]:
    months = isinstance(expr.args[1].type, YearMonthInterval)
    zoned = isinstance(expr.type, Timestamp) and expr.type.zoned

    def apply(day: dt.date, interval: int) -> Any:
        if months:
            return add_months(day, interval)
        if not isinstance(expr.type, Timestamp):
            return day + dt.timedelta(microseconds=interval)
        midnight = dt.datetime(day.year, day.month, day.day)
        return settings.instant(midnight, zoned) + dt.timedelta(microseconds=interval)

    return apply


def _timestamp_add_interval(expr: Call, settings: Settings) -> Callable[..., Any]:
    months = isinstance(expr.args[1].type, YearMonthInterval)

    def apply(time: dt.datetime, interval: int) -> Any:
        if not months:
            return time + dt.timedelta(microseconds=interval)
        moved = add_months(settings.local(time), interval)
        assert isinstance(moved, dt.datetime)
        return settings.instant(moved, time.tzinfo is not None)

    return apply


def _timestamp_diff(left: dt.datetime, right: dt.datetime) -> int:
    return (left - right) // dt.timedelta(microseconds=1)


def _last_day(day: dt.date) -> dt.date:
    return day.replace(day=calendar.monthrange(day.year, day.month)[1])


def _next_day(day: dt.date, weekday: str) -> dt.date | None:
    name = weekday[:2].upper()
    if name not in _WEEKDAYS:
        return None
    ahead = (_WEEKDAYS.index(name) - day.weekday() - 1) % 7 + 1
    return day + dt.timedelta(days=ahead)


def cut(value: Any, unit: str) -> Any:
    """A date or wall-clock time cut to a unit; None for a unit it does not have."""
    name = _UNITS.get(unit.upper())
    if isinstance(value, dt.datetime):
        if name in ("hour", "minute", "second"):
            minute = 0 if name == "hour" else value.minute
            second = value.second if name == "second" else 0
            return value.replace(minute=minute, second=second, microsecond=0)
        day = cut(value.date(), unit) if name != "day" else value.date()
        return None if day is None else dt.datetime(day.year, day.month, day.day)
    match name:
        case "year":
            return value.replace(month=1, day=1)
        case "quarter":
            return value.replace(month=value.month - (value.month - 1) % 3, day=1)
        case "month":
            return value.replace(day=1)
        case "week":
            return value - dt.timedelta(days=value.weekday())
        case _:
            return None


def _trunc_timestamp(expr: Call, settings: Settings) -> Callable[..., Any]:
    # Spark's date_trunc takes the unit first; trunc takes it last.
    def apply(unit: str, time: dt.datetime) -> Any:
        wall = cut(settings.local(time), unit)
        return None if wall is None else settings.instant(wall, time.tzinfo is not None)

    return apply


def _make_date(year: int, month: int, day: int) -> dt.date | None:
    try:
        return dt.date(year, month, day)
    except ValueError:
        return None


_EPOCH = dt.datetime(1970, 1, 1)


def _unix_micros(expr: Call, settings: Settings) -> Callable[..., Any]:
    def apply(time: dt.datetime) -> int:
        since = _EPOCH if time.tzinfo is None else _EPOCH.replace(tzinfo=dt.UTC)
        return (time - since) // dt.timedelta(microseconds=1)

    return apply


def _timestamp_micros(expr: Call, settings: Settings) -> Callable[..., Any]:
    zoned = isinstance(expr.type, Timestamp) and expr.type.zoned
    since = _EPOCH.replace(tzinfo=dt.UTC) if zoned else _EPOCH
    return lambda micros: since + dt.timedelta(microseconds=micros)


DATES: dict[str, Builder] = {
    "unix_micros": _unix_micros,
    "timestamp_micros": _timestamp_micros,
    "year": _field(lambda value: value.year),
    "quarter": _field(lambda value: (value.month + 2) // 3),
    "month": _field(lambda value: value.month),
    "day": _field(lambda value: value.day),
    "day_of_week": _field(lambda value: value.isoweekday() % 7 + 1),
    "weekday": _field(lambda value: value.weekday()),
    "day_of_year": _field(lambda value: value.timetuple().tm_yday),
    "week_of_year": _field(lambda value: value.isocalendar()[1]),
    "hour": _field(lambda value: value.hour),
    "minute": _field(lambda value: value.minute),
    "second": _field(lambda value: value.second),
    "date_add": plain(lambda day, days: day + dt.timedelta(days=days)),
    "date_sub": plain(lambda day, days: day - dt.timedelta(days=days)),
    "date_diff": plain(lambda end, start: (end - start).days),
    "date_add_interval": _date_add_interval,
    "timestamp_add_interval": _timestamp_add_interval,
    "timestamp_diff": plain(_timestamp_diff),
    "add_months": plain(add_months),
    "last_day": plain(_last_day),
    "next_day": plain(_next_day),
    "trunc_date": plain(cut),
    "trunc_timestamp": _trunc_timestamp,
    "make_date": plain(_make_date),
}
