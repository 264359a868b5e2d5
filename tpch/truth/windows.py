"""Window functions, and the rows that section 2.1 of docs/semantics.md names for each."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from sqlglot import exp

from tpch.truth import values
from tpch.truth.joins import Joined
from tpch.truth.origins import NOTHING, Origin, together
from tpch.truth.scopes import Computed

_PARTITION = "partition"


class Key(NamedTuple):
    """A sort key."""

    value: Computed
    descending: bool
    nulls_first: bool


class Window(NamedTuple):
    """A window function of the text, compiled."""

    node: exp.Window
    argument: Computed | None
    partition: Sequence[Computed]
    order: Sequence[Key]
    silent: bool = False
    """Whether its value is read by a filter on rankings alone: only own rows are lineage."""


def windowed(
    rows: Sequence[Joined], windows: Sequence[Window], reading: str, outer: Any
) -> list[Joined]:
    """The rows with one more item: the windows' values. Equal rows are traced together."""
    own = _own(rows)
    columns = [_column(rows, own, window, reading, outer) for window in windows]
    result = []
    for number, (row, _) in enumerate(rows):
        found = [column[number] for column in columns]
        origin = together(own[number], *(origin for _, origin in found))
        result.append(((*row, tuple(value for value, _ in found)), origin))
    return result


def _own(rows: Sequence[Joined]) -> list[Origin]:
    same: dict[Any, list[Origin]] = {}
    names = [tuple(tuple(map(values.key, item)) for item in row) for row, _ in rows]
    for name, (_, origin) in zip(names, rows, strict=True):
        same.setdefault(name, []).append(origin)
    joined = {name: together(*origins) for name, origins in same.items()}
    return [joined[name] for name in names]


def _column(
    rows: Sequence[Joined], own: Sequence[Origin], window: Window, reading: str, outer: Any
) -> list[tuple[Any, Origin]]:
    partitions: dict[Any, list[int]] = {}
    for number, (row, _) in enumerate(rows):
        found = tuple(values.key(part.value((row, outer))) for part in window.partition)
        partitions.setdefault(found, []).append(number)
    result: list[tuple[Any, Origin]] = [(None, NOTHING)] * len(rows)
    for members in partitions.values():
        peers = _in_order(rows, members, window.order, outer)
        arguments = {
            n: window.argument.value((rows[n][0], outer)) if window.argument else 1 for n in members
        }
        for number, found_value, origin in _PARTS[_kind(window)](
            peers, arguments, own, window, reading
        ):
            result[number] = found_value, NOTHING if window.silent else origin
    return result


def _in_order(
    rows: Sequence[Joined], members: Sequence[int], order: Sequence[Key], outer: Any
) -> list[list[int]]:
    """The members in order: lists of peers."""
    kept = list(members)
    found = {n: [key.value.value((rows[n][0], outer)) for key in order] for n in members}
    for place, key in reversed(list(enumerate(order))):
        nulls = [n for n in kept if found[n][place] is None]
        others = [n for n in kept if found[n][place] is not None]
        by_value = {n: values.key(found[n][place]) for n in others}
        others.sort(key=by_value.__getitem__, reverse=key.descending)
        kept = [*nulls, *others] if key.nulls_first else [*others, *nulls]
    shown = {n: tuple(map(values.key, found[n])) for n in members}
    return [list(peers) for _, peers in itertools.groupby(kept, key=shown.__getitem__)]


def _kind(window: Window) -> str:
    function = window.node.this
    if isinstance(function, exp.Rank):
        return "rank"
    if type(function) in values.AGGREGATES:
        spec = window.node.args.get("spec")
        if spec is not None:
            start, end, unit = spec.args.get("start"), spec.args.get("end"), spec.args.get("kind")
            if (start, end) != ("UNBOUNDED", "CURRENT ROW"):
                raise NotImplementedError(window.node.sql())
            return "rows" if unit == "ROWS" else "range"
        return "range" if window.order else _PARTITION
    raise NotImplementedError(window.node.sql())


def _ranked(peers: Any, arguments: Any, own: Any, window: Window, reading: str) -> Any:
    before = 0
    origin: Origin = NOTHING
    for group in peers:
        for number in group:
            yield number, before + 1, origin
        before += len(group)
        origin = together(origin, *(own[number] for number in group))


def _over_partition(peers: Any, arguments: Any, own: Any, window: Window, reading: str) -> Any:
    everyone = [number for group in peers for number in group]
    found, origin = _aggregated(everyone, arguments, own, window, reading)
    for number in everyone:
        yield number, found, origin


def _running(peers: Any, arguments: Any, own: Any, window: Window, reading: str) -> Any:
    """The frame from the first row to the current row's last peer."""
    frame: list[int] = []
    for group in peers:
        frame = [*frame, *group]
        found, origin = _aggregated(frame, arguments, own, window, reading)
        for number in group:
            yield number, found, origin


def _running_rows(peers: Any, arguments: Any, own: Any, window: Window, reading: str) -> Any:
    """The frame from the first row to the current row; without ties only."""
    if any(len(group) > 1 for group in peers):
        raise NotImplementedError(f"ties under {window.node.sql()}")
    yield from _running(peers, arguments, own, window, reading)


def _aggregated(
    frame: Sequence[int], arguments: Any, own: Any, window: Window, reading: str
) -> tuple[Any, Origin]:
    function = window.node.this
    found = values.AGGREGATES[type(function)](
        [arguments[n] for n in frame if arguments[n] is not None]
    )
    members: Sequence[int] = frame
    if reading == "minimal" and isinstance(function, values.ATTAINED):
        members = [n for n in frame if found is not None and arguments[n] == found]
    return found, together(*(own[n] for n in members))


_PARTS: dict[str, Callable[..., Any]] = {
    "rank": _ranked,
    _PARTITION: _over_partition,
    "range": _running,
    "rows": _running_rows,
}
