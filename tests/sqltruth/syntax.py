"""The syntax tree of a query, and its text.

Columns are addressed by the number of the FROM item that brings them (`Ref.relation`), so that
nothing has to be resolved by name. Numbers are unique in a statement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias


class Function(NamedTuple):
    """How a scalar function is written, and what it computes.

    `compute` gets the `Settings`, then the arguments; unless `nulls`, it sees no NULL, and
    gives NULL for one.
    """

    result: str
    arguments: tuple[str, ...]
    text: str
    compute: Callable[..., Any]
    nulls: bool = False


@dataclass(frozen=True, eq=False)
class Ref:
    """A column of a FROM item, or of a grouping (`of` is then the key or the aggregate)."""

    relation: int
    place: int
    type: str
    text: str = ""
    of: Expr | Aggregate | None = None


@dataclass(frozen=True, eq=False)
class Constant:
    value: Any
    type: str
    text: str


@dataclass(frozen=True, eq=False)
class Call:
    function: Function
    arguments: tuple[Expr, ...]

    @property
    def type(self) -> str:
        return self.function.result


@dataclass(frozen=True, eq=False)
class Exists:
    query: Query
    negated: bool = False
    type: str = "boolean"


@dataclass(frozen=True, eq=False)
class InQuery:
    operands: tuple[Expr, ...]
    query: Query
    negated: bool = False
    type: str = "boolean"


@dataclass(frozen=True, eq=False)
class Scalar:
    query: Query
    type: str


Expr: TypeAlias = Ref | Constant | Call | Exists | InQuery | Scalar
Subquery: TypeAlias = Exists | InQuery | Scalar


@dataclass(frozen=True, eq=False)
class Aggregate:
    """An aggregate function; `argument` is None for ``count(*)``. `WRITTEN` has odd names."""

    name: str
    argument: Expr | None
    type: str
    distinct: bool = False
    filter: Expr | None = None


@dataclass(frozen=True, eq=False)
class Table:
    relation: int
    name: str
    alias: str | None
    width: int


@dataclass(frozen=True, eq=False)
class Derived:
    """A subquery in FROM, or a reference to the CTE called `cte`."""

    relation: int
    query: Query
    alias: str
    width: int
    cte: str | None = None


@dataclass(frozen=True, eq=False)
class Join:
    """A join; with USING or NATURAL its merged columns are those of FROM item `relation`."""

    kind: str
    left: Item
    right: Item
    on: Expr | None = None
    merged: tuple[tuple[Ref, Ref], ...] = ()
    using: tuple[str, ...] = ()
    natural: bool = False
    relation: int = 0


Item: TypeAlias = Table | Derived | Join


@dataclass(frozen=True, eq=False)
class Grouping:
    """GROUP BY: `written` says for each key how it is written in the clause.

    No key, ever so many aggregates: one group, also of nothing. With `sets`, the clause's text is
    `levels`, and every set of places of keys makes groups of its own: the other keys are NULL.
    """

    relation: int
    keys: tuple[Expr, ...]
    aggregates: tuple[Aggregate, ...]
    written: tuple[str, ...] = ()
    having: Expr | None = None
    sets: tuple[tuple[int, ...], ...] = ()
    levels: str = ""


@dataclass(frozen=True, eq=False)
class View:
    """LATERAL VIEW explode of an array of `values`; the array is NULL where `kept` is not true."""

    relation: int
    values: tuple[Expr, ...]
    alias: str
    name: str
    kept: Expr | None = None
    outer: bool = False


@dataclass(frozen=True, eq=False)
class Select:
    items: tuple[Expr, ...]
    names: tuple[str, ...]
    source: Item
    where: tuple[Expr, ...] = ()
    grouping: Grouping | None = None
    distinct: bool = False
    order: tuple[Expr, ...] = ()
    star: bool = False
    views: tuple[View, ...] = ()


@dataclass(frozen=True, eq=False)
class SetOperation:
    operator: str
    all: bool
    left: Query
    right: Query


@dataclass(frozen=True, eq=False)
class Top:
    """ORDER BY all columns (``(place, direction)``), LIMIT and OFFSET, over a query."""

    query: Query
    order: tuple[tuple[int, str], ...]
    limit: int | None = None
    offset: int = 0


Query: TypeAlias = Select | SetOperation | Top


@dataclass(frozen=True, eq=False)
class Statement:
    query: Query
    ctes: tuple[tuple[str, Query], ...] = field(default=())


def quoted(name: str) -> str:
    """The name in backticks."""
    return f"`{name.replace('`', '``')}`"


def width(query: Query) -> int:
    """The number of columns."""
    match query:
        case Select(items=items):
            return len(items)
        case SetOperation(left=left):
            return width(left)
        case Top(query=inner):
            return width(inner)


def statement_text(statement: Statement) -> str:
    """The SQL of a statement."""
    heads = ", ".join(f"{quoted(name)} AS ({query_text(q)})" for name, q in statement.ctes)
    text = query_text(statement.query)
    return f"WITH {heads} {text}" if heads else text


def query_text(query: Query) -> str:
    """The SQL of a query."""
    match query:
        case Select():
            return _select_text(query)
        case SetOperation(operator, every, left, right):
            words = f"{operator} ALL" if every else operator
            return f"({query_text(left)}) {words} ({query_text(right)})"
        case Top(inner, order, limit, offset):
            places = ", ".join(f"{place + 1} {direction}" for place, direction in order)
            text = f"{query_text(inner)} ORDER BY {places}"
            text += f" LIMIT {limit}" if limit is not None else ""
            return text + (f" OFFSET {offset}" if offset else "")


def _select_text(select: Select) -> str:
    items = ", ".join(
        f"{text(item)} AS {quoted(name)}"
        for item, name in zip(select.items, select.names, strict=True)
    )
    parts = ["SELECT", "DISTINCT" * select.distinct, "*" if select.star else items]
    parts += ["FROM", item_text(select.source), *map(_view_text, select.views)]
    if select.where:
        parts += ["WHERE", " AND ".join(text(term) for term in select.where)]
    if select.grouping is not None:
        if select.grouping.keys:
            written = select.grouping.levels or ", ".join(select.grouping.written)
            parts += ["GROUP BY", written]
        if select.grouping.having is not None:
            parts += ["HAVING", text(select.grouping.having)]
    if select.order:
        parts += ["ORDER BY", ", ".join(text(term) for term in select.order)]
    return " ".join(part for part in parts if part)


def _view_text(view: View) -> str:
    array = f"array({', '.join(map(text, view.values))})"
    if view.kept is not None:
        array = f"CASE WHEN {text(view.kept)} THEN {array} END"
    outer = "OUTER " * view.outer
    return f"LATERAL VIEW {outer}explode({array}) {quoted(view.alias)} AS {quoted(view.name)}"


def item_text(item: Item) -> str:
    """The SQL of a FROM item."""
    match item:
        case Table(name=name, alias=alias):
            return name if alias is None else f"{name} AS {quoted(alias)}"
        case Derived(query=query, alias=alias, cte=cte):
            inner = f"({query_text(query)})" if cte is None else quoted(cte)
            return f"{inner} AS {quoted(alias)}"
        case Join():
            right = item_text(item.right)
            right = f"({right})" if isinstance(item.right, Join) else right
            words = f"NATURAL {item.kind}" if item.natural else item.kind
            joined = f"{item_text(item.left)} {words} {right}"
            if item.using and not item.natural:
                return f"{joined} USING ({', '.join(map(quoted, item.using))})"
            return joined if item.on is None else f"{joined} ON {text(item.on)}"


WRITTEN: dict[str, str] = {
    "sizes of lists": "size(collect_list({0}){1})",
    "sizes of sets": "size(collect_set({0}){1})",
    "sorted lists": "array_join(sort_array(collect_list({0}){1}), ';')",
    "max by itself": "max_by({0}, {0}){1}",
    "halves": "percentile({0}, 0.5){1}",
    "texts together": "listagg(string({0}), ',') WITHIN GROUP (ORDER BY string({0})){1}",
}
"""The SQL of aggregates that are more than a call: of the argument, then of FILTER.

What the order of rows decides is put in an order, or counted.
"""


def text(expr: Expr | Aggregate) -> str:
    """The SQL of an expression."""
    match expr:
        case Ref(of=None, text=written):
            return written
        case Ref(of=of):
            assert of is not None
            return text(of)
        case Constant(text=written):
            return written
        case Call(function, arguments):
            return f"({function.text.format(*map(text, arguments))})"
        case Exists(query, negated):
            return f"({'NOT ' * negated}EXISTS ({query_text(query)}))"
        case InQuery(operands, query, negated):
            left = ", ".join(map(text, operands))
            left = f"({left})" if len(operands) > 1 else left
            return f"({left} {'NOT ' * negated}IN ({query_text(query)}))"
        case Scalar(query=query):
            return f"({query_text(query)})"
        case Aggregate(name, argument, _, distinct, kept):
            inner = "*" if argument is None else text(argument)
            where = "" if kept is None else f" FILTER (WHERE {text(kept)})"
            written = WRITTEN.get(name, f"{name}({{0}}){{1}}")
            return written.format(f"{'DISTINCT ' * distinct}{inner}", where)


def subexpressions(expr: Expr | Aggregate) -> Iterator[Expr]:
    """The expression and its parts, those of subqueries' own queries left out."""
    match expr:
        case Ref(of=of) if of is not None:
            yield expr
        case Call(arguments=arguments):
            yield expr
            for argument in arguments:
                yield from subexpressions(argument)
        case InQuery(operands=operands):
            yield expr
            for operand in operands:
                yield from subexpressions(operand)
        case Aggregate(argument=argument, filter=kept):
            for part in (argument, kept):
                if part is not None:
                    yield from subexpressions(part)
        case _:
            yield expr


def subqueries(expr: Expr | Aggregate) -> list[Subquery]:
    """The subqueries of an expression in the order of the text."""
    return [e for e in subexpressions(expr) if isinstance(e, (Exists, InQuery, Scalar))]
