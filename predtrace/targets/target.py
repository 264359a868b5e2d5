"""The target of a lineage question: checked against the output, then found in it.

A target is a row, a positional sequence, a dict with some of the columns, a SQL
predicate over the output columns, or a list of these. It becomes full output rows,
read back from the stored output by the engine that answers the question.
"""

from __future__ import annotations

import datetime as dt
import zoneinfo
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from predtrace.engines.base import (
    TARGET,
    Evaluation,
    LookedUp,
    StoredLink,
    TargetLink,
    Targets,
    physical_name,
)
from predtrace.engines.values import arrow_type, target_table
from predtrace.errors import TargetError
from predtrace.inference.plan import LineagePlan
from predtrace.jobs.model import EngineSettings, StoredResult
from predtrace.targets.predicates import parse_predicate
from predtrace.targets.values import convert
from predtrace.text.layout import counted
from predtrace.vocabulary import SUPERSET
from symbolic.expr import Column, Expr, Param, columns_of, conjunction, same
from symbolic.types import Array, DataType, Record, Timestamp, comparable, type_name

if TYPE_CHECKING:
    import pyarrow as pa

OutputOf: TypeAlias = Callable[[tuple[Column, ...], Expr], LookedUp]
"""Gives the output rows, with these columns, that a lookup over them selects."""


_ROWS_OF: Mapping[str, str] = {
    "collect": "its rows (frame.collect()) or one of them",
    "iterrows": "one of its rows as a dict (frame.iloc[0].to_dict())",
    "to_pylist": "its rows (table.to_pylist()) or one of them",
    "to_dict": "its values as a dict (series.to_dict())",
}
"""How rows become targets, by a method of what holds them: frames, tables, series."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """One target, checked: `values` by column id, or a `predicate` over the output columns.

    `number` is its position in the list given, from 0; `complete` says that all columns
    have a value. `overlooked` names the columns whose value is not compared: maps.
    """

    number: int
    values: Mapping[int, Any] = {}
    predicate: Expr | None = None
    complete: bool = False
    overlooked: tuple[str, ...] = ()


class Wishes(msgspec.Struct, frozen=True, kw_only=True):
    """The targets of a question; `numbered` if they were given as a list."""

    targets: tuple[Wanted, ...]
    numbered: bool
    columns: tuple[Column, ...]

    @property
    def by_columns(self) -> tuple[tuple[Wanted, ...], ...]:
        """The targets given by values, together where they give the same columns."""
        groups: dict[tuple[int, ...], list[Wanted]] = {}
        for wanted in self.targets:
            if wanted.predicate is None:
                groups.setdefault(tuple(sorted(wanted.values)), []).append(wanted)
        return tuple(map(tuple, groups.values()))

    @property
    def predicates(self) -> tuple[Expr, ...]:
        """What finding the targets in the stored output evaluates."""
        return tuple(
            _lookup_predicate(self.columns, tuple(wanted.values))
            if wanted.predicate is None
            else wanted.predicate
            for wanted in self.targets
        )


def check_target(
    target: Any, columns: Sequence[Column], settings: EngineSettings, of: str = "the output"
) -> Wishes:
    """Check a target's names and types against the columns, which are those `of` something.

    Raises TargetError for an empty list, an unknown or ambiguous column, a value that its
    column cannot have, a predicate that does not parse, or a wrong number of values.
    """
    if columns and not bindable(columns):
        raise TargetError(f"{of} has only maps, which are not compared: no row of it can be named")
    reader = _Reader(columns, settings, of)
    several = isinstance(target, list) and not _is_plain_row(target)
    given = target if several else [target]
    if not given:
        raise TargetError("the list of targets is empty; give at least one")
    return Wishes(
        targets=tuple(reader.read(item, number) for number, item in enumerate(given)),
        numbered=several,
        columns=tuple(columns),
    )


def _way_out(target: Any) -> str:
    """How to make targets of the rows of something that has rows."""
    way = next((way for name, way in _ROWS_OF.items() if hasattr(target, name)), None)
    return "" if way is None else f"; give {way}, or a dict such as {{'column': value}}"


def _is_plain_row(target: Sequence[Any]) -> bool:
    """A list of values (not all texts, which are predicates) is one row."""
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

    def read(self, target: Any, number: int) -> Wanted:
        if isinstance(target, str):
            predicate = parse_predicate(target, self.find, self._instant, self._settings)
            self._refuse_maps(predicate)
            return Wanted(number=number, predicate=predicate)
        if isinstance(target, Mapping):
            return self._named(list(target.items()), number)
        if isinstance(target, (tuple, list)):
            names = getattr(target, "__fields__", None)
            if names is None:
                return self._positional(target, number)
            # PySpark gives naive times in the zone of the process, whatever the session's is.
            reader = _Reader(self._columns, self._settings, self._of, naive=_of_process)
            if reader._is_output_row(names):
                return reader._positional(target, number)
            return reader._named(list(zip(names, target, strict=True)), number)
        raise TargetError(
            f"a target is a row, a dict, a SQL predicate or a list of these, "
            f"not {type(target).__name__}{_way_out(target)}"
        )

    def _refuse_maps(self, predicate: Expr) -> None:
        # Its rows are known by their other columns, which other rows may have, too.
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

    def _named(self, items: Sequence[tuple[Any, Any]], number: int) -> Wanted:
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
        return self._wanted(values, number)

    def _positional(self, row: Sequence[Any], number: int) -> Wanted:
        if len(row) != len(self._columns):
            raise TargetError(
                f"the target has {counted(len(row), 'value')}, {self._of} "
                f"{counted(len(self._columns), 'column')}: {self._listed()}; "
                "give a dict to name only some"
            )
        pairs = zip(self._columns, row, strict=True)
        wanted = self._wanted(
            {c.id: self._value(v, c) for c, v in pairs if comparable(c.type)}, number
        )
        overlooked = tuple(c.name for c in self._columns if not comparable(c.type))
        return msgspec.structs.replace(wanted, overlooked=overlooked)

    def _wanted(self, values: dict[int, Any], number: int) -> Wanted:
        complete = len(values) == len({column.id for column in self._columns})
        return Wanted(number=number, values=values, complete=complete)

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
                f"in UTC the timestamp {value} is not in the years 1 to 9999, which are those "
                "of Python; name the output row by other columns"
            ) from error


def _of_process(value: dt.datetime) -> dt.datetime:
    """A naive time in the zone of the process; ``fold`` tells hours apart that come twice."""
    return value.astimezone()


def _zone(name: str) -> dt.tzinfo:
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError) as error:
        raise TargetError(
            f"the job's time zone {name} is not known here; give timestamps with their zone"
        ) from error


def _lookup_predicate(columns: Sequence[Column], keys: Sequence[int]) -> Expr:
    return conjunction(
        *(
            same(column, Param(0, column.id, column.name, column.type))
            for column in dict.fromkeys(columns)
            if column.id in keys
        )
    )


def labelled_for(wishes: Wishes, plan: LineagePlan) -> LineagePlan:
    """The plan with labels for these targets: values that are not compared give a superset."""
    overlooked = next((wanted.overlooked for wanted in wishes.targets if wanted.overlooked), ())
    if not overlooked:
        return plan
    reason = (
        f"maps are not compared: rows of the output that differ in {', '.join(overlooked)} alone "
        "are answered for together"
    )
    scans = tuple(
        scan
        if scan.label == SUPERSET
        else msgspec.structs.replace(scan, label=SUPERSET, reason=reason)
        for scan in plan.scans
    )
    return msgspec.structs.replace(plan, scans=scans)


def trusted_targets(wishes: Wishes) -> Targets:
    """Targets taken as given, where there is no stored output to find them in.

    Each must be a complete row.
    """
    rows = [(wanted.number, wanted.values) for wanted in wishes.targets]
    return Targets(
        target_table(bindable(wishes.columns), rows), bindable(wishes.columns), wishes.numbered
    )


def stored_output(output: StoredResult, folder: Path) -> OutputOf:
    """The kept output of the job in `folder`, to look targets up in."""

    def link(columns: tuple[Column, ...], predicate: Expr) -> LookedUp:
        return StoredLink(
            folder=str(folder / output.folder),
            columns=columns,
            predicate=predicate,
            parent=TargetLink(),
            files=output.files,
        )

    return link


def found_targets(
    wishes: Wishes, output: OutputOf, open_evaluation: Callable[[Targets], Evaluation]
) -> Targets:
    """The output rows that the targets name, found in the output.

    Targets that give the same columns are looked up together.
    """
    import pyarrow as pa

    columns = bindable(wishes.columns)
    found: list[pa.Table] = []
    for wanted in wishes.targets:
        if wanted.predicate is None:
            continue
        given = target_table([], [(wanted.number, {})])
        evaluation = open_evaluation(Targets(given, (), True))
        found.append(evaluation.bound(output(columns, wanted.predicate)))
    for group in wishes.by_columns:
        keys = tuple(sorted(group[0].values))
        key_columns = [column for column in columns if column.id in keys]
        given = target_table(key_columns, [(wanted.number, wanted.values) for wanted in group])
        evaluation = open_evaluation(Targets(given, key_columns, True))
        predicate = _lookup_predicate(columns, keys)
        found.append(evaluation.bound(output(columns, predicate)))
    schema = target_schema(columns)
    rows = pa.concat_tables([table.select(schema.names).cast(schema) for table in found])
    return Targets(rows if found else schema.empty_table(), columns, wishes.numbered)


def target_schema(columns: Sequence[Column]) -> pa.Schema:
    """The Arrow schema of target rows with these columns."""
    import pyarrow as pa

    fields = [pa.field(TARGET, pa.int64())]
    fields += [pa.field(physical_name(column.id), arrow_type(column.type)) for column in columns]
    return pa.schema(fields)


def bindable(columns: Sequence[Column]) -> tuple[Column, ...]:
    """One column for each id (an output may show a column twice), without maps.

    SQL does not compare maps, so no predicate can have their values.
    """
    found = {column.id: column for column in columns if comparable(column.type)}
    return tuple(found.values())
