"""Random SQL text over tiny tables: what people write, with NULLs wherever they hurt.

A query is text plus the types of its columns. Only deterministic queries come out: ORDER
BY names every column wherever a LIMIT follows.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

from tests.strategies.expressions import Draw, likely, one_of

COLUMNS: dict[str, str] = {
    "a": "int",
    "b": "string",
    "c": "decimal(5,2)",
    "d": "double",
    "e": "date",
    "odd.name": "int",
}
"""Names and types of every table's columns."""
TABLES = ("r", "s", "t")

_CONSTANTS: dict[str, tuple[str, ...]] = {
    "int": ("0", "1", "2", "-1"),
    "string": ("''", "'a'", "'ab'", "'it''s'", "'a%'"),
    "decimal(5,2)": ("1.50", "0.00", "-1.50"),
    "double": ("1.5D", "0.0D", "1.5D", "double('NaN')"),
    "date": ("DATE '1996-02-29'", "DATE '1995-01-31'"),
    "bigint": ("1L", "2L"),
}
_FUNCTIONS: dict[str, tuple[str, ...]] = {
    "int": ("{int} + {int}", "{int} * 2", "coalesce({int}, 7)", "length({string})", "year({date})"),
    "string": ("upper({string})", "{string} || {string}", "substring({string}, 1, 1)",
               "coalesce({string}, 'none')"),
    "decimal(5,2)": ("coalesce({decimal(5,2)}, 1.50)", "abs({decimal(5,2)})"),
    "double": ("coalesce({double}, 2.5D)",),
    "date": ("date_add({date}, 1)", "{date} + INTERVAL '1' MONTH"),
    "bigint": ("CAST({int} AS BIGINT)",),
}  # fmt: skip
_LEAVES: dict[str, tuple[str, ...]] = {
    "string": ("{0} LIKE 'a%'", "{0} LIKE '%b'", "{0} NOT LIKE '_'"),
    "int": ("{0} BETWEEN 0 AND 2", "{0} NOT IN (1, 2)", "{0} IN (0, NULL)"),
}
_COMPARISONS = ("=", "=", "<>", "<>", "<", "<=", "<=", ">", ">=", ">=", "<=>")
_JOINS = (
    "JOIN",
    "JOIN",
    "LEFT JOIN",
    "RIGHT JOIN",
    "FULL JOIN",
    "LEFT SEMI JOIN",
    "LEFT ANTI JOIN",
)
_SETS = ("UNION ALL", "UNION", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL")
_MOST_REFERENCES = 3
"""To CTEs in a statement: each one is a copy of the CTE's scans."""


class Field(NamedTuple):
    """A column in scope: how to write it, and its type."""

    text: str
    type: str


class Query(NamedTuple):
    """SQL text and its columns (by their names in the query's own output)."""

    text: str
    fields: tuple[Field, ...]


Scope = Sequence[Field]


class SqlBuilder:
    """Writes one random query over the tables called ``<table><suffix>``."""

    def __init__(self, draw: Draw, suffix: str) -> None:
        self.draw = draw
        self.suffix = suffix
        self.names = itertools.count(1)
        self.common: dict[str, Query] = {}
        self.references = 0

    def statement(self) -> str:
        """A whole statement: perhaps CTEs, a query, perhaps ORDER BY and LIMIT."""
        if likely(self.draw, 4):
            name = f"cte{next(self.names)}"
            self.common[name] = self.select(1)
        text = self.query(2).text
        heads = ", ".join(f"{name} AS ({query.text})" for name, query in self.common.items())
        return f"WITH {heads} {text}" if heads else text

    def query(self, depth: int) -> Query:
        """A select, a set operation, or the first rows of one."""
        match one_of(self.draw, ("select", "select", "select", "set", "top")):
            case "set" if depth:
                return self._set_operation(depth)
            case "top":
                inner = self.select(depth)
                places = ", ".join(
                    f"{place + 1} {one_of(self.draw, ('ASC', 'DESC', 'DESC NULLS FIRST'))}"
                    for place in range(len(inner.fields))
                )
                limit = f" LIMIT {self.draw(st.integers(1, 3))}" * likely(self.draw, 2)
                return Query(f"{inner.text} ORDER BY {places}{limit}", inner.fields)
        return self.select(depth)

    def _set_operation(self, depth: int) -> Query:
        left = self.select(depth - 1)
        types = tuple(field.type for field in left.fields)
        right = self.select(depth - 1, types=types)
        return Query(f"({left.text}) {one_of(self.draw, _SETS)} ({right.text})", left.fields)

    def select(
        self, depth: int, outer: Scope = (), types: tuple[str, ...] | None = None
    ) -> Query:  # fmt: skip
        """A SELECT; correlated with `outer` if given; with columns of `types` if given."""
        source, scope = self._from(depth)
        terms = [self.predicate(scope, depth) for _ in range(one_of(self.draw, (0, 0, 1, 1, 1, 2)))]
        if outer:
            terms.append(self._correlation(scope, outer))
        where = f" WHERE {' AND '.join(f'({term})' for term in terms)}" if terms else ""
        if types is None and likely(self.draw, 3):
            return self._grouped(f"FROM {source}{where}", scope)
        wanted = types or [one_of(self.draw, [f.type for f in scope]) for _ in range(2)]
        values = [self.value(data_type, scope) for data_type in wanted]
        if types is None and depth and likely(self.draw, 5):
            values[0], wanted = self._scalar(scope), ["?", *wanted[1:]]
        names = [f"k{next(self.names)}" for _ in wanted]
        items = ", ".join(f"{v} AS {n}" for v, n in zip(values, names, strict=True))
        distinct = "DISTINCT " * likely(self.draw, 5)
        fields = tuple(
            Field(name, self._known(data_type))
            for name, data_type in zip(names, wanted, strict=True)
        )
        return Query(f"SELECT {distinct}{items} FROM {source}{where}", fields)

    def _known(self, data_type: str) -> str:
        # A scalar subquery is always an int here (see `_scalar`).
        return "int" if data_type == "?" else data_type

    def _grouped(self, rest: str, scope: Scope) -> Query:
        keys = self.draw(st.lists(st.sampled_from(list(scope)), max_size=2, unique=True))
        items = [(key.text, key.type) for key in keys]
        items += [self._aggregate(scope) for _ in range(one_of(self.draw, (1, 1, 2)))]
        names = [f"k{next(self.names)}" for _ in items]
        columns = ", ".join(f"{t} AS {n}" for (t, _), n in zip(items, names, strict=True))
        by = f" GROUP BY {', '.join(key.text for key in keys)}" if keys else ""
        having = f" HAVING {self._having(scope)}" * likely(self.draw, 3)
        fields = tuple(
            Field(name, data_type) for (_, data_type), name in zip(items, names, strict=True)
        )
        return Query(f"SELECT {columns} {rest}{by}{having}", fields)

    def _aggregate(self, scope: Scope) -> tuple[str, str]:
        field = one_of(self.draw, scope)
        choices = [(f"min({field.text})", field.type), (f"max({field.text})", field.type),
                   ("count(*)", "bigint"), (f"count(DISTINCT {field.text})", "bigint"),
                   (f"count({field.text})", "bigint")]  # fmt: skip
        if field.type == "int":
            choices.append((f"sum({field.text})", "bigint"))
        return one_of(self.draw, choices)

    def _having(self, scope: Scope) -> str:
        field = one_of(self.draw, scope)
        if likely(self.draw, 3):
            return f"count({field.text}) >= {self._scalar(())}"
        return one_of(
            self.draw,
            ("count(*) > 1", f"max({field.text}) IS NOT NULL", f"count({field.text}) <= 1"),
        )

    def _from(self, depth: int) -> tuple[str, list[Field]]:
        text, scope = self._item(depth)
        for _ in range(one_of(self.draw, (0, 0, 1, 1, 2)) if depth else likely(self.draw, 3)):
            other, fields = self._item(depth - 1)
            kind = one_of(self.draw, _JOINS)
            if likely(self.draw, 6):
                text, scope = f"{text} CROSS JOIN {other}", [*scope, *fields]
                continue
            condition = self._correlation(scope, fields)
            if likely(self.draw, 3):
                condition += f" AND {self._leaf([*scope, *fields])}"
            text = f"{text} {kind} {other} ON {condition}"
            scope = scope if "SEMI" in kind or "ANTI" in kind else [*scope, *fields]
        return text, scope

    def _item(self, depth: int) -> tuple[str, list[Field]]:
        """A table, a CTE or a subquery, with an alias of its own."""
        alias = f"x{next(self.names)}"
        if depth > 0 and likely(self.draw, 4):
            query = self.query(depth - 1)
            fields = [Field(f"{alias}.{field.text}", field.type) for field in query.fields]
            return f"({query.text}) {alias}", fields
        if self.common and self.references < _MOST_REFERENCES and likely(self.draw, 2):
            self.references += 1
            name = one_of(self.draw, sorted(self.common))
            fields = [Field(f"{alias}.{f.text}", f.type) for f in self.common[name].fields]
            return f"{name} {alias}", fields
        fields = [Field(f"{alias}.`{name}`", data_type) for name, data_type in COLUMNS.items()]
        return f"{one_of(self.draw, TABLES)}{self.suffix} {alias}", fields

    def _correlation(self, left: Scope, right: Scope) -> str:
        """An equality between two scopes, else a constant."""
        pairs = [(a, b) for a in left for b in right if a.type == b.type]
        if not pairs:
            return "true"
        first, second = one_of(self.draw, pairs)
        return f"{first.text} = {second.text}"

    def predicate(self, scope: Scope, depth: int) -> str:
        """A condition, with subqueries while there is depth."""
        kinds = ["leaf", "leaf", "leaf", "or", "not"] + ["subquery"] * 3 * (depth > 0)
        match one_of(self.draw, kinds):
            case "or":
                return f"{self.predicate(scope, depth - 1)} OR {self._leaf(scope)}"
            case "not":
                return f"NOT ({self._leaf(scope)})"
            case "subquery":
                return self._subquery(scope, depth)
        return self._leaf(scope)

    def _leaf(self, scope: Scope) -> str:
        field = one_of(self.draw, scope)
        if likely(self.draw, 4):
            return f"{field.text} IS {'' if likely(self.draw, 3) else 'NOT '}NULL"
        if field.type in _LEAVES and likely(self.draw, 3):
            return one_of(self.draw, _LEAVES[field.type]).format(field.text)
        other = self.value(field.type, scope)
        return f"{field.text} {one_of(self.draw, _COMPARISONS)} {other}"

    def _subquery(self, scope: Scope, depth: int) -> str:
        """EXISTS, IN or a comparison with a scalar subquery, correlated or not."""
        outer = scope if likely(self.draw, 2) else ()
        match one_of(self.draw, ("exists", "in", "in", "scalar")):
            case "exists":
                inner = self._plain(depth - 1, outer, one_of(self.draw, scope).type)
                return f"{'NOT ' * likely(self.draw, 2)}EXISTS ({inner})"
            case "in":
                field = one_of(self.draw, scope)
                inner = self._plain(depth - 1, outer, field.type)
                return f"{field.text} {'NOT ' * likely(self.draw, 2)}IN ({inner})"
        compared = one_of(self.draw, _COMPARISONS)
        return f"{self._scalar(scope)} {compared} {self.value('int', scope)}"

    def _plain(self, depth: int, outer: Scope, data_type: str) -> str:
        return self.select(depth, outer, types=(data_type,)).text

    def _scalar(self, scope: Scope) -> str:
        """A scalar subquery of type int, perhaps correlated with the scope (if there is one)."""
        source, inner = self._from(0)
        terms = [self._leaf(inner)] if likely(self.draw, 3) else []
        if scope and likely(self.draw, 2):
            terms.append(self._correlation(inner, scope))
        where = f" WHERE {' AND '.join(terms)}" if terms else ""
        numbers = [field.text for field in inner if field.type == "int"] or ["1"]
        aggregate = one_of(self.draw, ("min", "max", "max", "count"))
        value = f"CAST({aggregate}({one_of(self.draw, numbers)}) AS INT)"
        return f"(SELECT {value} FROM {source}{where})"

    def value(self, data_type: str, scope: Scope, depth: int = 1) -> str:
        """An expression of the type."""
        fitting = [field.text for field in scope if field.type == data_type]
        kinds = ["constant"] + ["column"] * 4 * bool(fitting) + ["function", "case"] * bool(depth)
        match one_of(self.draw, kinds):
            case "column":
                return one_of(self.draw, fitting)
            case "constant":
                return one_of(self.draw, _CONSTANTS[data_type])
            case "case":
                first, second = (self.value(data_type, scope, 0) for _ in range(2))
                return f"CASE WHEN {self._leaf_flat(scope)} THEN {first} ELSE {second} END"
        pattern = one_of(self.draw, _FUNCTIONS[data_type])
        return pattern.format_map(_Filling(self, scope))

    def _leaf_flat(self, scope: Scope) -> str:
        field = one_of(self.draw, scope)
        return f"{field.text} = {self.value(field.type, scope, 0)}"


class _Filling(dict[str, Any]):
    """Puts an operand of the named type wherever a function's pattern asks for one."""

    def __init__(self, build: SqlBuilder, scope: Scope) -> None:
        super().__init__()
        self.build, self.scope = build, scope

    def __missing__(self, data_type: str) -> str:
        return self.build.value(data_type, self.scope, 0)


@st.composite
def statements(draw: Any, suffixes: Sequence[str]) -> str:
    """SQL text over the tables of one of several databases, told apart by suffix."""
    return SqlBuilder(draw, draw(st.sampled_from(list(suffixes)))).statement()
