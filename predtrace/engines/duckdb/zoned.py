"""Timestamps in DuckDB: local times of the session's zone, and the way back.

Whatever depends on the zone is computed on local times, which know no zone; DuckDB's own functions
of instants follow another calendar before 1582. `ZONES` are the zones for which DuckDB's rules were
compared with the JVM's; others are left to Spark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from predtrace.engines.duckdb.zones import has_same_rules
from predtrace.engines.sql.compiler import named
from predtrace.engines.sql.functions import Exactness
from predtrace.engines.sql.literals import number, sql_type, text_literal
from predtrace.jobs.model import EngineSettings
from symbolic.expr import Call, Literal
from symbolic.types import Date, DayTimeInterval, Timestamp, type_name

if TYPE_CHECKING:
    from predtrace.engines.sql.compiler import Args, Builder

_DAY = 86_400_000_000
"""Microseconds."""
_INFINITE = 2**63 - 1
_PARTS_OF_DAY = ("day", "hour", "minute", "second", "millisecond", "microsecond")
_UNITS = {
    "YEAR": "year", "YYYY": "year", "YY": "year", "QUARTER": "quarter", "MONTH": "month",
    "MM": "month", "MON": "month", "WEEK": "week", "DAY": "day", "DD": "day",
    **{unit.upper(): unit for unit in _PARTS_OF_DAY},
}  # fmt: skip
"""What Spark calls the units of DATE_TRUNC, to DuckDB's names."""


def _is_zoned(data_type: object) -> bool:
    return isinstance(data_type, Timestamp) and data_type.zoned


def _zone() -> exp.Expr:
    return named("current_setting", text_literal("TimeZone"))


def local(value: exp.Expr, call: Call, place: int = 0) -> exp.Expr:
    """The local time of an argument: a timestamp without a zone."""
    kind = call.args[place].type
    if _is_zoned(kind):
        return named("timezone", _zone(), value)
    return exp.Cast(this=value, to=exp.DataType.build("TIMESTAMP")) if kind == Date() else value


def instant(value: exp.Expr) -> exp.Expr:
    """The instant at which it is a local time: the earlier of two, and in a gap as much later."""
    return named("timezone", _zone(), value)


def to_date(call: Call, args: Args) -> exp.Expr:
    """The local day of a timestamp."""
    return exp.Cast(this=local(args[0], call), to=sql_type(Date(), "duckdb"))


def of_date(call: Call, args: Args) -> exp.Expr:
    """The first instant of a day, or its midnight as a local time."""
    midnight = exp.Cast(this=args[0], to=exp.DataType.build("TIMESTAMP"))
    return instant(midnight) if _is_zoned(call.type) else midnight


def part(name: str) -> Builder:
    """A field of the local time."""

    def build(call: Call, args: Args) -> exp.Expr:
        value = named(name, local(args[0], call))
        return exp.Cast(this=value, to=sql_type(call.type, "duckdb"))

    return build


def micros(call: Call, args: Args) -> exp.Expr:
    """Microseconds since 1970; of a local time as if it were of UTC."""
    return named("epoch_us", args[0])


def of_micros(call: Call, args: Args) -> exp.Expr:
    """The instant so many microseconds after 1970; a local time as if it were of UTC.

    DuckDB has infinities for the outermost instants, and NULL stands for those before the year
    -290308.
    """
    count = exp.Cast(this=args[0], to=exp.DataType.build("BIGINT"))
    ends = ((exp.GTE, _INFINITE, "infinity"), (exp.LTE, -_INFINITE, "-infinity"))
    branches = [
        exp.If(
            this=compare(this=count.copy(), expression=number(end)),
            true=exp.Cast(this=text_literal(text), to=sql_type(call.type, "duckdb")),
        )
        for compare, end, text in ends
    ]
    make = "make_timestamptz" if _is_zoned(call.type) else "make_timestamp"
    return exp.Case(ifs=branches, default=named("try", named(make, count.copy())))


def add_interval(call: Call, args: Args) -> exp.Expr:
    """A timestamp plus a constant interval: its days on the local calendar, then the rest."""
    interval = call.args[1]
    assert isinstance(interval, Literal)
    assert isinstance(interval.value, int)
    days = abs(interval.value) // _DAY * (1 if interval.value > 0 else -1)
    rest = interval.value - days * _DAY
    moved = args[0]
    if days and _is_zoned(call.args[0].type):
        moved = instant(_plus(local(moved, call), "to_days", days))
    elif days:
        moved = _plus(moved, "to_days", days)
    return named("try", _plus(moved, "to_microseconds", rest) if rest else moved)


def truncated(call: Call, args: Args) -> exp.Expr:
    """DATE_TRUNC to a constant unit; NULL for what is no unit.

    Where clocks are set back, units of up to a day keep to the offset of the timestamp.
    """
    unit = _unit(call)
    if unit is None:
        return exp.Cast(this=exp.Null(), to=sql_type(call.type, "duckdb"))
    moment = args[1]
    start = named("date_trunc", text_literal(unit), local(moment, call, 1))
    if unit not in _PARTS_OF_DAY:
        return instant(start)
    since = named("epoch_us", exp.paren(exp.Sub(
        this=local(moment.copy(), call, 1), expression=start), copy=False))  # fmt: skip
    earlier = exp.paren(exp.Sub(
        this=moment.copy(), expression=named("to_microseconds", since)), copy=False)  # fmt: skip
    same = exp.EQ(this=local(earlier, call, 1), expression=start.copy())
    return exp.Case(ifs=[exp.If(this=same, true=earlier.copy())], default=instant(start.copy()))


def _unit(call: Call) -> str | None:
    given = call.args[0]
    assert isinstance(given, Literal)
    return _UNITS.get(given.value.upper()) if isinstance(given.value, str) else None


def _plus(moment: exp.Expr, unit: str, amount: int) -> exp.Expr:
    return exp.paren(exp.Add(this=moment, expression=named(unit, number(amount))), copy=False)


def _zoned(call: Call, settings: EngineSettings) -> str | None:
    """Judge the zone, if an argument or the result is an instant."""
    if not any(map(_is_zoned, (call.type, *(arg.type for arg in call.args)))):
        return None
    if has_same_rules(settings.time_zone):
        return None
    return f"DuckDB was not compared with Java on the time zone {settings.time_zone}"


def _of_time(call: Call, settings: EngineSettings) -> str | None:
    if not isinstance(call.args[0].type, Timestamp):
        return f"it is exact on timestamps only, not on {type_name(call.args[0].type)}"
    return _zoned(call, settings)


def _interval(call: Call, settings: EngineSettings) -> str | None:
    interval = call.args[1]
    constant = isinstance(interval, Literal) and isinstance(interval.value, int)
    if not (constant and isinstance(interval.type, DayTimeInterval)):
        return "it is exact with a constant interval of days and less only"
    return _of_time(call, settings)


def _truncated(call: Call, settings: EngineSettings) -> str | None:
    if not isinstance(call.args[0], Literal):
        return "the unit is not constant"
    if not _is_zoned(call.args[1].type):
        return "it is exact on timestamps with a zone only"
    return _zoned(call, settings)


ZONED = Exactness("in zones whose rules were compared", _zoned)
OF_TIME = Exactness("on timestamps, in zones whose rules were compared", _of_time)
WITH_INTERVAL = Exactness(
    "with a constant interval of days, in zones whose rules were compared", _interval
)
TRUNCATED = Exactness("to a constant unit, in zones whose rules were compared", _truncated)
