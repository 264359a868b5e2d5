"""Random window functions, and filters on rankings."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable, Sequence
from typing import Any

from tests.sqltruth.conditions import Conditions
from tests.sqltruth.functions import (
    BOOL,
    DATE,
    DECIMAL,
    DOUBLE,
    INT,
    LOCAL,
    LONG,
    MOMENT,
    TEXT,
    TINY,
    comparison,
    fits,
    generic,
    months_later,
)
from tests.sqltruth.names import Scope
from tests.sqltruth.syntax import Call, Constant, Edge, Expr, Frame, Ref, Sorting, Window, Windows
from tests.sqltruth.values import RaisesError, Settings
from tests.sqltruth.windows import RANKINGS

Shift = Callable[[Settings, Any, int], Any]
DIRECTIONS = ("ASC", "DESC", "ASC NULLS LAST", "DESC NULLS FIRST")
BY_PLACE = ("row_number", "ntile", "lag", "lead", "first_value", "last_value", "nth_value")
"""Functions whose result is up to the run among peers."""
_OF_ROWS = BY_PLACE[2:]
_AGGREGATES: dict[str, tuple[tuple[str, str], ...]] = {
    INT: (("sum", LONG), ("avg", DOUBLE), ("bit_or", INT), ("sizes of sets", INT)),
    LONG: (("sum", LONG), ("bit_xor", LONG)),
    BOOL: (("bool_and", BOOL), ("bool_or", BOOL), ("count_if", LONG)),
    TEXT: (("sizes of lists", INT),),
}


def _moved(by: Any) -> Shift:
    return lambda settings, value, sign: value + by * sign


def _whole(by: int, bits: int) -> Shift:
    def shift(settings: Settings, value: int, sign: int) -> int:
        if not fits(value + by * sign, bits):
            raise RaisesError("overflow")
        return value + by * sign

    return shift


OFFSETS: dict[str, tuple[tuple[tuple[str, Shift], ...], ...]] = {
    INT: ((("0", _whole(0, 32)), ("1", _whole(1, 32)), ("2", _whole(2, 32))),),
    LONG: ((("1L", _whole(1, 64)), ("10L", _whole(10, 64))),),
    DOUBLE: ((("1.5D", _moved(1.5)),),),
    DATE: (
        (("INTERVAL '1' DAY", _moved(dt.timedelta(1))),
         ("INTERVAL '400' DAY", _moved(dt.timedelta(400)))),
        (("INTERVAL '1' MONTH", lambda settings, value, sign: months_later(value, sign)),),
    ),
    MOMENT: ((("INTERVAL '60' MINUTE", _moved(dt.timedelta(hours=1))),
              ("INTERVAL '30' MINUTE", _moved(dt.timedelta(minutes=30)))),),
    LOCAL: ((("INTERVAL '1' HOUR", _moved(dt.timedelta(hours=1))),),),
}  # fmt: skip
"""Distances of RANGE frames by the sort key's type; those of one frame are of one kind."""


class Windowing(Conditions):
    """Draws window functions."""

    def windows(self, scope: Scope) -> tuple[Windows, list[Ref], list[Ref]]:
        """Windows over some of the columns; these columns; and references to the windows'."""
        pool = self.rng.sample(list(scope), min(len(scope), self.pick((1, 2, 2, 3))))
        base = self._spec(pool)
        label = f"w{self.number()}" if self.chance(0.25) else ""
        functions = []
        for _ in range(self.pick((1, 1, 2, 3))):
            shared = bool(label) and self.chance(0.7)
            spec = dataclasses.replace(base, label=label) if shared else self._spec(pool)
            functions.append(self._function(spec, pool))
        found = Windows(self.number(), tuple(functions))
        return found, pool, self.window_columns(found)

    def window_columns(self, windows: Windows) -> list[Ref]:
        """References to the columns of window functions."""
        return [
            Ref(windows.relation, place, function.type, of=function)
            for place, function in enumerate(windows.functions)
        ]

    def ranking(self, pool: Sequence[Ref]) -> Window:
        """A ranking that a filter alone reads."""
        name = self.pick((*RANKINGS, "row_number"))
        return dataclasses.replace(self._spec(pool), name=name, type=INT, frame=None, silent=True)

    def cut(self, number: Ref) -> Expr:
        """A filter that leaves the first rows of a ranking."""
        operator, most = self.pick((("=", 1), ("=", 1), ("<=", 2), ("<", 3), ("<=", 1)))
        return Call(comparison(operator, INT), (number, Constant(most, INT, str(most))))

    def window_item(self, ref: Ref) -> Expr:
        """A window's value, perhaps inside a function."""
        if self.chance(0.8) or ref.type in (DOUBLE, BOOL):
            return ref
        return Call(self.pick(generic(ref.type)[:2]), (ref, self.constant(ref.type)))

    def _spec(self, pool: Sequence[Ref]) -> Window:
        """A window without a function: its order has all columns that its partition has not."""
        partition = self.rng.sample(list(pool), min(self.pick((0, 1, 1, 1, 2)), len(pool)))
        others = [ref for ref in pool if ref not in partition]
        self.rng.shuffle(others)
        order = tuple(Sorting(ref, self.pick(DIRECTIONS)) for ref in others or pool[:1])
        return Window("", (), "", tuple(partition), order)

    def _function(self, spec: Window, pool: Sequence[Ref]) -> Window:
        name = self.pick((*RANKINGS, "ntile", "percent_rank", "cume_dist", *_OF_ROWS, *_OF_ROWS,
                          *["aggregate"] * 9))  # fmt: skip
        if name == "aggregate":
            return self._aggregated(spec, pool)
        frame: Frame | None = None
        arguments: tuple[Expr, ...] = ()
        kind = DOUBLE if name in ("percent_rank", "cume_dist") else INT
        if name == "ntile":
            arguments = (Constant(2, INT, "2"),)
        if name in _OF_ROWS:
            held = self.pick(pool)
            arguments, kind = self._held(name, held), held.type
            if name.endswith("value") and not spec.label:
                frame = self._frame(spec)
        elif name in RANKINGS and name != "row_number" and not spec.label and self.chance(0.5):
            spec = dataclasses.replace(spec, order=spec.order[:1])
        skips = name in _OF_ROWS and self.chance(0.35)
        return dataclasses.replace(
            spec, name=name, arguments=arguments, type=kind, frame=frame, skips=skips
        )

    def _held(self, name: str, held: Ref) -> tuple[Expr, ...]:
        if name in ("first_value", "last_value"):
            return (held,)
        steps = self.pick((1, 1, 2))
        given = (held, Constant(steps, INT, str(steps)))
        if name != "nth_value" and held.type not in (DECIMAL, TINY) and self.chance(0.3):
            return (*given, self.constant(held.type))
        return given

    def _aggregated(self, spec: Window, pool: Sequence[Ref]) -> Window:
        held = self.pick(pool)
        options = (("min", held.type), ("max", held.type), ("count", LONG), ("count all", LONG),
                   *_AGGREGATES.get(held.type, ()))  # fmt: skip
        name, kind = self.pick(options)
        frame = None
        if not spec.label:
            if self.chance(0.25):
                spec = dataclasses.replace(spec, order=())
            elif self.chance(0.6):
                spec = dataclasses.replace(spec, order=spec.order[:1])
            frame = self._frame(spec, total=len(spec.order) != 1 or len(pool) == 1)
        arguments = () if name == "count all" else (held,)
        return dataclasses.replace(spec, name=name, arguments=arguments, type=kind, frame=frame)

    def _frame(self, spec: Window, total: bool = True) -> Frame | None:
        """A frame, of rows only where the order is that of all columns."""
        if not spec.order or self.chance(0.3):
            return None
        kind = spec.order[0].value.type
        kinds = OFFSETS.get(kind) if len(spec.order) == 1 else None
        offsets = self.pick(kinds) if kinds else ()
        if total and self.chance(0.6):
            return self._between("ROWS", [(str(n), n) for n in (0, 1, 1, 2)])
        return self._between("RANGE", offsets)

    def _between(self, unit: str, offsets: Sequence[tuple[str, Any]]) -> Frame:
        first, last = Edge(-1), Edge(1)
        here = Edge(0)
        before = [first, here] + [Edge(-1, *self.pick(offsets)) for _ in offsets[:2]]
        after = [last, here] + [Edge(1, *self.pick(offsets)) for _ in offsets[:2]]
        if offsets and self.chance(0.2):
            # Beside the row: all before it or all after it.
            far, near = Edge(-1), Edge(-1, *self.pick(offsets))
            return self.pick((Frame(unit, far, near), Frame(unit, Edge(1, *near[1:]), last)))
        return Frame(unit, self.pick(before), self.pick(after))
