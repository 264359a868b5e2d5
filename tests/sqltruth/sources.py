"""Random FROM items beside tables and subqueries: rows of the text, turned and ranked queries."""

from __future__ import annotations

from collections.abc import Sequence

from tests.sqltruth.functions import (
    BOOL,
    DATE,
    DOUBLE,
    INT,
    LOCAL,
    LONG,
    MOMENT,
    TEXT,
)
from tests.sqltruth.groups import Groups
from tests.sqltruth.names import Column, Source, names_of
from tests.sqltruth.spelling import text
from tests.sqltruth.syntax import (
    Aggregate,
    Derived,
    Item,
    Pivot,
    Ref,
    Select,
    Table,
    Unpivot,
    Values,
    Windows,
    quoted,
)

_TYPED = (INT, INT, LONG, TEXT, DOUBLE, DATE, MOMENT, LOCAL, BOOL)
"""Types whose constants are of the type that the text gives them."""
_OF_PIVOTS = (("sum", LONG), ("max", INT), ("min", INT), ("avg", DOUBLE))
"""Aggregates that give NULL for no rows: Spark's count gives 0 or NULL, by the plan it chooses."""
SAMPLES = ("100 PERCENT", "1000 ROWS", "0 PERCENT", "BUCKET 1 OUT OF 1")
"""Samples that every run draws alike."""


class Sources(Groups):
    """Draws FROM items."""

    def values_item(self) -> Source:
        """A few rows in the text, or numbers."""
        relation = self.number()
        alias = self.alias(relation)
        if self.chance(0.4):
            start, end, step = self.pick(((0, 3, 1), (1, 4, 1), (0, 5, 2), (3, 0, -1), (2, 2, 1)))
            numbers = tuple((number,) for number in range(start, end, step))
            names = self.fresh(1)
            item = Values(relation, numbers, f"range({start}, {end}, {step})", alias, names)
            return item, self.columns(relation, alias, [(names[0], LONG)])
        types = [self.pick(_TYPED) for _ in range(self.pick((1, 2, 2, 3)))]
        rows = [[self.constant(kind) for kind in types] for _ in range(self.pick((1, 2, 3, 4)))]
        if self.chance(0.3):
            rows.append(rows[0])
        names = self.fresh(len(types))
        written = ", ".join(f"({', '.join(map(text, row))})" for row in rows)
        given = tuple(tuple(part.value for part in row) for row in rows)
        item = Values(relation, given, f"(VALUES {written})", alias, names)
        return item, self.columns(relation, alias, list(zip(names, types, strict=True)))

    def pivot_item(self, depth: int) -> Source:
        """A query with the values of a column as columns."""
        by = self.pick((INT, TEXT, DATE, LONG))
        query, types = self.query(depth, [self.pick((INT, TEXT, LONG)), by, INT])
        inner = self.number()
        held = Ref(inner, 2, INT, quoted(names_of(query)[2]))
        chosen = self.rng.sample(_OF_PIVOTS, self.pick((1, 1, 2)))
        calls = [Aggregate(name, held, kind) for name, kind in chosen]
        known = {option.text: option for option in (self.constant(by) for _ in range(3))}
        options = [option for option in known.values() if option.value is not None]
        if not options:
            return self.unpivot_item(depth)
        labels, made = self.fresh(len(options)), self.fresh(len(calls))
        relation = self.number()
        alias = self.alias(relation)
        item = Pivot(relation, query, alias, (0,), 1, tuple(options), tuple(calls), inner,
                     (*names_of(query), *labels, *made))  # fmt: skip
        columns = [(names_of(query)[0], types[0])] + [
            (label if len(calls) == 1 else f"{label}_{name}", call.type)
            for label in labels
            for name, call in zip(made, calls, strict=True)
        ]
        return item, self.columns(relation, alias, columns)

    def unpivot_item(self, depth: int) -> Source:
        """A query with two columns below each other."""
        kind = self.pick((INT, TEXT, LONG, DATE))
        query, types = self.query(depth, [self.pick((INT, TEXT, DOUBLE)), kind, kind])
        # Spark parses the names of UNPIVOT twice: plain ones.
        name, value = (f"k{self.number()}" for _ in range(2))
        relation = self.number()
        alias = self.alias(relation)
        names = (*names_of(query), name, value)
        item = Unpivot(relation, query, alias, (0,), (1, 2), self.chance(0.5), names)
        columns = [(names[0], types[0]), (name, TEXT), (value, kind)]
        return item, self.columns(relation, alias, columns)

    def ranked_item(self, source: Item, columns: Sequence[Column]) -> Source:
        """The first rows of each partition of some source: deduplication, and top k of a group."""
        pool = self.rng.sample([column.ref for column in columns], min(len(columns), 3))
        windows = Windows(self.number(), (self.ranking(pool),))
        (number,) = self.window_columns(windows)
        names = self.fresh(len(pool) + 1)
        types = [*(ref.type for ref in pool), INT]
        inner = Select((*pool, number), names, source, windows=windows)
        middle = self.number()
        alias = self.alias(middle)
        refs = [c.ref for c in self.columns(middle, alias, list(zip(names, types, strict=True)))]
        below = Derived(middle, inner, alias, len(names))
        shown = self.fresh(len(pool))
        outer = Select(tuple(refs[:-1]), shown, below, (self.cut(refs[-1]),))
        relation = self.number()
        alias = self.alias(relation)
        item = Derived(relation, outer, alias, len(shown))
        return item, self.columns(relation, alias, list(zip(shown, types, strict=False)))

    def sampled(self, table: Table) -> Table:
        """The table, perhaps a sample that is up to no run."""
        chosen = self.pick(SAMPLES) if self.chance(0.01) else ""
        return Table(table.relation, table.name, table.alias, table.width, chosen)
