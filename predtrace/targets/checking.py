"""Checking the target of a lineage question against the output's columns.

A target is a row, a positional sequence, a dict with some of the columns, a SQL
predicate over the output columns, or a list of these.
"""

from __future__ import annotations

import datetime as dt
import zoneinfo
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from predtrace.errors import TargetError
from predtrace.jobs.model import EngineSettings
from predtrace.targets.predicates import parse_predicate
from predtrace.targets.specs import TargetSpec, TargetSpecs, bindable
from predtrace.targets.values import convert
from predtrace.text.layout import counted
from symbolic.expr import Column, Expr, columns_of
from symbolic.types import Array, DataType, Record, Timestamp, comparable, type_name

if TYPE_CHECKING:
    pass

_ROWS_OF: Mapping[str, str] = {
    "collect": "its rows (frame.collect()) or one of them",
    "iterrows": "one of its rows as a dict (frame.iloc[0].to_dict())",
    "to_pylist": "its rows (table.to_pylist()) or one of them",
    "to_dict": "its values as a dict (series.to_dict())",
}
"""How to turn rows of frames, tables and series into targets, by a method that these have."""


def check_target(
    target: Any, columns: Sequence[Column], settings: EngineSettings, of: str = "the output"
) -> TargetSpecs:
    """Check a target's names and types against the columns; `of` names what has these columns.

    Raises TargetError for an empty list, an unknown or ambiguous column, a value that its column
    cannot have, a predicate that does not parse, or a wrong number of values.
    """
    if columns and not bindable(columns):
        raise TargetError(f"{of} has only maps, which are not compared: no row of it can be named")
    reader = _Reader(columns, settings, of)
    several = isinstance(target, list) and not _is_plain_row(target)
    given = target if several else [target]
    if not given:
        raise TargetError("the list of targets is empty; give at least one")
    return TargetSpecs(
        targets=tuple(reader.read(item, number) for number, item in enumerate(given)),
        numbered=several,
        columns=tuple(columns),
    )


def _way_out(target: Any) -> str:
    """The hint how to turn the rows of such an object into targets."""
    way = next((way for name, way in _ROWS_OF.items() if hasattr(target, name)), None)
    return "" if way is None else f"; give {way}, or a dict such as {{'column': value}}"


def _is_plain_row(target: Sequence[Any]) -> bool:
    """Whether a list of values is one row; a list of texts only is a list of predicates."""
    composite = (str, tuple, list, Mapping)
    return bool(target) and not all(
        isinstance(item, composite) or _way_out(item) for item in target
    )


class _Reader:
    def __init__(
        self,
        columns: Sequence[Column],
        settings: EngineSettings,
        of: str,
        naive: Callable[[dt.datetime], dt.datetime] | None = None,
    ) -> None:
        self._columns = tuple(columns)
        self._of = of
        self._settings = settings
        self._naive = naive or self._of_job
        self._fold: Callable[[str], str] = str if settings.case_sensitive else str.lower

    def read(self, target: Any, number: int) -> TargetSpec:
        if isinstance(target, str):
            predicate = parse_predicate(target, self.find, self._instant, self._settings)
            self._refuse_maps(predicate)
            return TargetSpec(number=number, predicate=predicate)
        if isinstance(target, Mapping):
            return self._named(list(target.items()), number)
        if isinstance(target, (tuple, list)):
            names = getattr(target, "__fields__", None)
            if names is None:
                return self._positional(target, number)
            # PySpark gives naive times in the zone of the process, not in the session's.
            reader = _Reader(self._columns, self._settings, self._of, naive=_of_process)
            if reader._is_output_row(names):
                return reader._positional(target, number)
            return reader._named(list(zip(names, target, strict=True)), number)
        raise TargetError(
            f"a target is a row, a dict, a SQL predicate or a list of these, "
            f"not {type(target).__name__}{_way_out(target)}"
        )

    def _refuse_maps(self, predicate: Expr) -> None:
        # Only the other columns identify its rows, and further rows may agree in them.
        names = sorted(c.name for c in columns_of(predicate) if not comparable(c.type))
        if names:
            raise TargetError(
                f"the predicate reads {names[0]}; maps are not compared: name rows by other columns"
            )

    def _is_output_row(self, names: Sequence[str]) -> bool:
        output = [self._fold(column.name) for column in self._columns]
        return [self._fold(name) for name in names] == output

    def find(self, name: str) -> Column:
        """The output column of this name."""
        found = [
            (position, column)
            for position, column in enumerate(self._columns, 1)
            if self._fold(column.name) == self._fold(name)
        ]
        if len(found) == 1:
            return found[0][1]
        if found:
            positions = ", ".join(str(position) for position, _ in found)
            raise TargetError(
                f"{self._of} has {len(found)} columns {name} (at positions {positions}, counted "
                "from 1); give the whole row as a tuple"
            )
        raise TargetError(f"{self._of} has no column {name}; it has {self._listed()}")

    def _listed(self) -> str:
        return ", ".join(f"{c.name} ({type_name(c.type)})" for c in self._columns)

    def _named(self, items: Sequence[tuple[Any, Any]], number: int) -> TargetSpec:
        values: dict[int, Any] = {}
        for name, value in items:
            if not isinstance(name, str):
                raise TargetError(f"columns are named by text, not {name!r}")
            column = self.find(name)
            if column.id in values:
                raise TargetError(f"the target gives column {column.name} twice")
            values[column.id] = self._value(value, column)
        if not values:
            raise TargetError(f"the target names no column; the output has {self._listed()}")
        return self._spec(values, number)

    def _positional(self, row: Sequence[Any], number: int) -> TargetSpec:
        if len(row) != len(self._columns):
            raise TargetError(
                f"the target has {counted(len(row), 'value')}, {self._of} "
                f"{counted(len(self._columns), 'column')}: {self._listed()}; "
                "give a dict to name only some"
            )
        pairs = zip(self._columns, row, strict=True)
        spec = self._spec({c.id: self._value(v, c) for c, v in pairs if comparable(c.type)}, number)
        overlooked = tuple(c.name for c in self._columns if not comparable(c.type))
        return msgspec.structs.replace(spec, overlooked=overlooked)

    def _spec(self, values: dict[int, Any], number: int) -> TargetSpec:
        complete = len(values) == len({column.id for column in self._columns})
        return TargetSpec(number=number, values=values, complete=complete)

    def _value(self, value: Any, column: Column) -> Any:
        return self._placed(convert(value, column.type, column.name), column.type)

    def _placed(self, value: Any, data_type: DataType) -> Any:
        """A converted value, its zoned timestamps (nested ones, too) as instants."""
        match value, data_type:
            case None, _:
                return None
            case _, Timestamp(True):
                return self._instant(value)
            case _, Array(element):
                return [self._placed(item, element) for item in value]
            case _, Record(fields):
                return {field.name: self._placed(value[field.name], field.type) for field in fields}
        return value

    def _of_job(self, value: dt.datetime) -> dt.datetime:
        """A naive time in the job's time zone."""
        return value.replace(tzinfo=_zone(self._settings.time_zone))

    def _instant(self, value: dt.datetime) -> dt.datetime:
        """A zoned timestamp in UTC."""
        try:
            known = self._naive(value) if value.tzinfo is None else value
            return known.astimezone(dt.UTC)
        except (OverflowError, OSError, ValueError) as error:
            raise TargetError(
                f"in UTC the timestamp {value} is outside the years 1 to 9999, which Python "
                "has; name the output row by other columns"
            ) from error


def _of_process(value: dt.datetime) -> dt.datetime:
    """A naive time in the zone of the process; ``fold`` distinguishes hours that occur twice."""
    return value.astimezone()


def _zone(name: str) -> dt.tzinfo:
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError) as error:
        raise TargetError(
            f"the job's time zone {name} is not known here; give timestamps with their zone"
        ) from error
