"""The syntax tree of a query; `spelling` has its text.

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
    """A column of a FROM item, of a grouping or of windows (`of` is then what it holds)."""

    relation: int
    place: int
    type: str
    text: str = ""
    of: Expr | Aggregate | Window | None = None


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
    """An aggregate function; `argument` is None for ``count(*)``. `WRITTEN` has odd names.

    `by` is the second argument of ``max_by``.
    """

    name: str
    argument: Expr | None
    type: str
    distinct: bool = False
    filter: Expr | None = None
    by: Expr | None = None


class Edge(NamedTuple):
    """The start or the end of a frame: before the row (-1), the row itself (0), after it (1).

    `shift` is a number of rows, or moves a sort key (of the settings and the key, forwards or
    backwards by the sign); None is unbounded.
    """

    side: int
    text: str = "UNBOUNDED"
    shift: Any = None


class Frame(NamedTuple):
    """ROWS or RANGE between two edges."""

    unit: str
    start: Edge
    end: Edge


class Sorting(NamedTuple):
    """A sort key of a window."""

    value: Expr
    direction: str


@dataclass(frozen=True, eq=False)
class Window:
    """A window function, perhaps of a window with a name.

    A `silent` one is a ranking that only a filter ``<= k`` reads. With `skips` it ignores NULLs.
    """

    name: str
    arguments: tuple[Expr, ...]
    type: str
    partition: tuple[Expr, ...] = ()
    order: tuple[Sorting, ...] = ()
    frame: Frame | None = None
    skips: bool = False
    label: str = ""
    silent: bool = False

    @property
    def parts(self) -> tuple[Expr, ...]:
        """What it reads."""
        return (*self.arguments, *self.partition, *(key.value for key in self.order))


@dataclass(frozen=True, eq=False)
class Windows:
    """The window functions of a SELECT."""

    relation: int
    functions: tuple[Window, ...]


@dataclass(frozen=True, eq=False)
class Table:
    relation: int
    name: str
    alias: str | None
    width: int
    sample: str = ""


@dataclass(frozen=True, eq=False)
class Values:
    """Rows in the text: a list of them, or those of ``range``, which is `text`."""

    relation: int
    rows: tuple[tuple[Any, ...], ...]
    text: str
    alias: str
    names: tuple[str, ...]

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.names)


@dataclass(frozen=True, eq=False)
class Pivot:
    """PIVOT of a query: groups by `index`, and of every value of `by` all aggregates.

    The aggregates' arguments are columns of FROM item `inner`.
    """

    relation: int
    query: Query
    alias: str
    index: tuple[int, ...]
    by: int
    options: tuple[Constant, ...]
    aggregates: tuple[Aggregate, ...]
    inner: int
    names: tuple[str, ...]
    """Of the query's columns, then of the options, then of the aggregates."""

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.index) + len(self.options) * len(self.aggregates)


@dataclass(frozen=True, eq=False)
class Unpivot:
    """UNPIVOT of a query: the columns `passed`, then a name and the value of one of `turned`."""

    relation: int
    query: Query
    alias: str
    passed: tuple[int, ...]
    turned: tuple[int, ...]
    nulls: bool
    names: tuple[str, ...]
    """Of the query's columns, then of the name and the value."""

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.passed) + 2


@dataclass(frozen=True, eq=False)
class Derived:
    """A subquery in FROM (that reads the items before it, if `lateral`), or a reference to the
    CTE called `cte`.
    """

    relation: int
    query: Query
    alias: str
    width: int
    cte: str | None = None
    lateral: bool = False


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


Item: TypeAlias = Table | Values | Pivot | Unpivot | Derived | Join


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
    """LATERAL VIEW of a generator: its rows are `rows`, and none where `kept` is not true.

    `kind` is ``explode``, ``posexplode`` (which numbers them), ``inline`` or ``stack``.
    """

    relation: int
    kind: str
    rows: tuple[tuple[Expr, ...], ...]
    alias: str
    names: tuple[str, ...]
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
    windows: Windows | None = None
    qualify: Expr | None = None


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


def inputs(aggregate: Aggregate) -> list[Expr]:
    """What an aggregate reads."""
    parts = (aggregate.argument, aggregate.by, aggregate.filter)
    return [part for part in parts if part is not None]


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
        case Aggregate():
            for part in inputs(expr):
                yield from subexpressions(part)
        case _:
            yield expr


def subqueries(expr: Expr | Aggregate) -> list[Subquery]:
    """The subqueries of an expression in the order of the text."""
    return [e for e in subexpressions(expr) if isinstance(e, (Exists, InQuery, Scalar))]
