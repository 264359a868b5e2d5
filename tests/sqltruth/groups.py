"""Random parts of GROUP BY: keys, aggregates, grouping sets."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from tests.sqltruth.functions import BOOL, DOUBLE, INT, LONG, TEXT, TYPES
from tests.sqltruth.names import Scope
from tests.sqltruth.spelling import text
from tests.sqltruth.syntax import (
    Aggregate,
    Expr,
    Ref,
    quoted,
    subexpressions,
)
from tests.sqltruth.windowing import Windowing


class Groups(Windowing):
    """Draws keys and aggregates."""

    def some_type(self, scope: Scope) -> str:
        known = [ref.type for ref in scope]
        return self.pick(known) if self.chance(0.85) else self.pick(TYPES)

    def levels(self, keys: Sequence[Expr]) -> tuple[tuple[tuple[int, ...], ...], str]:
        """Grouping sets of the keys: a ROLLUP, a CUBE, or some of all."""
        places = range(len(keys))
        every = tuple(c for n in places for c in itertools.combinations(places, n + 1))
        written = ", ".join(map(text, keys))
        kind = self.pick(("ROLLUP", "CUBE", "SETS"))
        if kind == "ROLLUP":
            return tuple(tuple(places[:n]) for n in range(len(keys), -1, -1)), f"ROLLUP ({written})"
        if kind == "CUBE":
            return (*every, ()), f"CUBE ({written})"
        chosen = tuple(self.rng.choices((*every, ()), k=2))
        if {place for each in chosen for place in each} != set(places):
            chosen = (*chosen, tuple(places))
        sets = ", ".join(f"({', '.join(text(keys[place]) for place in each)})" for each in chosen)
        return chosen, f"GROUPING SETS ({sets})"

    def level(self, keys: Sequence[Expr], levels: str) -> Aggregate:
        """A function of a group's level; the text decides the bits' order in GROUPING SETS."""
        if levels.startswith("GROUPING") or self.chance(0.4):
            return Aggregate("grouping", self.pick(keys), INT)
        return Aggregate("grouping_id", None, LONG)

    def of_group(self, data_type: str, columns: Scope) -> Expr:
        fitting = [column for column in columns if column.type == data_type]
        return self.pick(fitting) if fitting else self.value(data_type, columns, 0, (), 1)

    def keys(self, scope: Scope, depth: int) -> list[Expr]:
        keys: list[Expr] = []
        for _ in range(self.pick((0, 1, 1, 1, 2))):
            ref = self.pick(scope)
            key: Expr = ref
            if self.chance(0.25):
                made = self.value(self.some_type(scope), scope, 0, (), 2)
                key = made if any(isinstance(e, Ref) for e in subexpressions(made)) else ref
            if text(key) not in map(text, keys):
                keys.append(key)
        return keys

    def written(self, key: Expr, items: Sequence[Expr], names: Sequence[str]) -> str:
        """The key in GROUP BY: itself, or the place or the name of the item that is the key."""
        for place, item in enumerate(items):
            if isinstance(item, Ref) and item.of is key and self.chance(0.4):
                # Spark reads a dot in the alias as a field, in backticks or not.
                alias = text(key) if "." in names[place] else quoted(names[place])
                return self.pick((str(place + 1), alias))
        return text(key)

    def aggregate(self, scope: Scope, depth: int, data_type: str | None = None) -> Aggregate:
        argument = (
            self.pick(scope) if self.chance(0.8)
            else self.value(self.some_type(scope), scope, 0, (), 2)
        )  # fmt: skip
        if data_type is not None:
            argument = self.value(data_type, scope, 0, (), 1)
            return Aggregate(self.pick(("min", "max")), argument, data_type)
        kept = self.condition(scope, 0, ()) if self.chance(0.12) else None
        choices = [("min", argument.type), ("max", argument.type), ("min", argument.type),
                   ("max", argument.type), ("count", LONG)]  # fmt: skip
        if argument.type == INT:
            choices += [("sum", LONG), ("try_sum", LONG), ("avg", DOUBLE)]
        if argument.type == LONG:
            choices += [("sum", LONG), ("try_sum", LONG)]
        if argument.type in (INT, LONG) and self.chance(0.3):
            choices = [(name, argument.type) for name in ("bit_and", "bit_or", "bit_xor")]
            choices += [("sizes of sets", INT), ("sorted lists", TEXT), ("texts together", TEXT)]
            choices += [("halves", DOUBLE), ("lower halves", DOUBLE), ("median", DOUBLE)] * (
                argument.type == INT
            )
        if argument.type in (INT, LONG, TEXT) and self.chance(0.12):
            choices = [("sizes of lists", INT), ("max by itself", argument.type)]
        if argument.type not in (BOOL, DOUBLE) and self.chance(0.08):
            name = self.pick(("largest by", "least by"))
            return Aggregate(name, argument, argument.type, filter=kept, by=self.pick(scope))
        if argument.type == BOOL:
            choices += [("bool_and", BOOL), ("bool_or", BOOL), ("count_if", LONG)]
        name, result = self.pick(choices)
        if name == "count" and self.chance(0.5):
            return Aggregate("count", None, LONG, filter=kept)
        distinct = name in ("count", "sum", "sizes of lists", "bit_xor") and self.chance(0.3)
        return Aggregate(name, argument, result, distinct, kept)
