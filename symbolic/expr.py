"""The expression IR: typed, immutable trees over columns, literals and parameters.

Expressions never hold plans: a subquery is an operator of the graph. All nodes are
frozen structs, hashable and compared by value; rewriting builds new nodes.
"""

from __future__ import annotations

import datetime
import functools
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Union

import msgspec

from symbolic.functions import shown
from symbolic.types import BOOLEAN, DataType, String, type_name


class ExprBase(msgspec.Struct, frozen=True, tag_field="node", cache_hash=True):
    """Common base of all expression nodes."""


class Column(ExprBase, frozen=True, tag="column"):
    """A column, identified by `id` alone within its graph; `name` is for people and engines.

    The two sides of a self-join have different ids for the same name.
    """

    id: int
    name: str
    type: DataType
    nullable: bool = True


class Literal(ExprBase, frozen=True, tag="literal"):
    """A constant.

    `value` is None for NULL, else bool, int, float, `decimal.Decimal`, str, bytes,
    `datetime.date` or `datetime.datetime` as the type says (intervals: int, see `types`).
    """

    value: Any
    type: DataType

    def __hash__(self) -> int:
        return hash((type(self.value), repr(self.value), self.type))

    def __eq__(self, other: object) -> bool:
        # repr distinguishes 0.0 from -0.0 and 1 from True, and makes NaN equal to itself.
        return (
            isinstance(other, Literal)
            and type(self.value) is type(other.value)
            and repr(self.value) == repr(other.value)
            and self.type == other.type
        )


class Param(ExprBase, frozen=True, tag="param"):
    """One value of a bound row: of the target (`binding` 0) or of a stored intermediate result.

    `column` is the id of the value's column. A predicate with params applies to each bound row
    separately; all params of one predicate belong to one binding.
    """

    binding: int
    column: int
    name: str
    type: DataType
    nullable: bool = True


class ParamSet(ExprBase, frozen=True, tag="set"):
    """The tuples of `columns` (ids) in the rows of scan `scan` found so far.

    Iterative refinement (the paper's Section 6.1) narrows them down. A set is only used as the
    first argument of ``member``: see `member`.
    """

    scan: int
    columns: tuple[int, ...]
    type: DataType = BOOLEAN
    nullable: bool = False


class Call(ExprBase, frozen=True, tag="call"):
    """A function of `symbolic.functions`, applied. `type` is the result type.

    Connectives, comparisons, CASE and casts are calls too:
    ``case`` has the arguments ``when, then, when, then, …, else`` (always an else);
    ``in`` has the value, then the list; ``and``/``or`` have two or more arguments;
    ``cast`` converts its argument to `type`.
    """

    function: str
    args: tuple[Expr, ...]
    type: DataType
    nullable: bool = True


class Variable(ExprBase, frozen=True, tag="variable"):
    """A parameter of the enclosing `Lambda`; `id` distinguishes it from outer parameters."""

    id: int
    name: str
    type: DataType
    nullable: bool = True


class Lambda(ExprBase, frozen=True, tag="lambda"):
    """A function of array elements: only used as an argument of a call such as ``transform``.

    `body` is over the parameters, and over the columns and params of the row that it captures. An
    expression without `Variable` may replace these, since its own parameters are bound inside it.
    """

    parameters: tuple[Variable, ...]
    body: Expr

    @property
    def type(self) -> DataType:
        """The type of its result."""
        return self.body.type

    @property
    def nullable(self) -> bool:
        """A function itself is never NULL."""
        return False


Expr = Union[Column, Literal, Param, ParamSet, Call, Variable, Lambda]

MEMBER = "member"
TRUE = Literal(True, BOOLEAN)
FALSE = Literal(False, BOOLEAN)


def call(function: str, *args: Expr, type: DataType = BOOLEAN) -> Call:
    """A call; Boolean unless `type` says otherwise."""
    return Call(function, args, type)


def same(left: Expr, right: Expr) -> Call:
    """Null-safe equality ``left <=> right``: never NULL."""
    return Call("nullsafe_eq", (left, right), BOOLEAN, nullable=False)


def member(values: ParamSet, *args: Expr) -> Call:
    """Whether the tuple of the arguments is in the set, with NULLs equal: never NULL."""
    return Call(MEMBER, (values, *args), BOOLEAN, nullable=False)


def conjuncts(predicate: Expr) -> tuple[Expr, ...]:
    """The top-level AND terms, without TRUE and without repetitions.

    >>> conjuncts(TRUE)
    ()
    """
    if isinstance(predicate, Call) and predicate.function == "and":
        return _conjuncts(predicate)
    return () if isinstance(predicate, Literal) and predicate == TRUE else (predicate,)


@functools.lru_cache(maxsize=50_000)
def _conjuncts(predicate: Expr) -> tuple[Expr, ...]:
    found: dict[Expr, None] = {}
    stack = [predicate]
    while stack:
        term = stack.pop()
        if isinstance(term, Call) and term.function == "and":
            stack.extend(reversed(term.args))
        elif not isinstance(term, Literal) or term != TRUE:
            found.setdefault(term)
    return tuple(found)


def conjunction(*terms: Expr) -> Expr:
    """AND of the terms, flattened; TRUE if there are none, FALSE if one is FALSE."""
    flat = tuple(dict.fromkeys(itertools.chain.from_iterable(map(conjuncts, terms))))
    if any(isinstance(term, Literal) and term == FALSE for term in flat):
        return FALSE
    if len(flat) > 1:
        return Call("and", flat, BOOLEAN)
    return flat[0] if flat else TRUE


def disjunction(*terms: Expr) -> Expr:
    """OR of the terms; FALSE if there are none, TRUE if one is TRUE."""
    flat = tuple(dict.fromkeys(term for term in terms if term != FALSE))
    if TRUE in flat:
        return TRUE
    if len(flat) > 1:
        return Call("or", flat, BOOLEAN)
    return flat[0] if flat else FALSE


def walk(expr: Expr) -> Iterator[Expr]:
    """Every node of the tree, parents first."""
    stack = [expr]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, Call):
            stack.extend(reversed(node.args))
        elif isinstance(node, Lambda):
            stack.append(node.body)


def columns_of(*exprs: Expr) -> frozenset[Column]:
    """The columns that the expressions read."""
    if len(exprs) == 1:
        return _columns_of(exprs[0])
    return frozenset().union(*map(_columns_of, exprs))


@functools.lru_cache(maxsize=50_000)
def _columns_of(expr: Expr) -> frozenset[Column]:
    return frozenset(node for node in walk(expr) if isinstance(node, Column))


def column_ids(*exprs: Expr) -> frozenset[int]:
    """The ids of the columns that the expressions read."""
    if len(exprs) == 1:
        return _column_ids(exprs[0])
    return frozenset().union(*map(_column_ids, exprs))


@functools.lru_cache(maxsize=50_000)
def _column_ids(expr: Expr) -> frozenset[int]:
    return frozenset(column.id for column in _columns_of(expr))


def params_of(*exprs: Expr) -> frozenset[Param]:
    """The parameters that the expressions read."""
    if len(exprs) == 1:
        return _params_of(exprs[0])
    return frozenset().union(*map(_params_of, exprs))


@functools.lru_cache(maxsize=50_000)
def _params_of(expr: Expr) -> frozenset[Param]:
    return frozenset(node for node in walk(expr) if isinstance(node, Param))


def transform(expr: Expr, change: Callable[[Expr], Expr | None]) -> Expr:
    """Rebuild the tree bottom-up; `change` returns a node's replacement, or None to keep it."""
    if isinstance(expr, Call):
        args = tuple(transform(arg, change) for arg in expr.args)
        if args != expr.args:
            expr = Call(expr.function, args, expr.type, expr.nullable)
    elif isinstance(expr, Lambda):
        body = transform(expr.body, change)
        if body != expr.body:
            expr = Lambda(expr.parameters, body)
    changed = change(expr)
    return expr if changed is None else changed


def substitute(expr: Expr, columns: Mapping[int, Expr]) -> Expr:
    """Replace columns, by id."""
    if columns.keys().isdisjoint(column_ids(expr)):
        return expr
    return transform(expr, lambda node: columns.get(node.id) if isinstance(node, Column) else None)


def bind(expr: Expr, values: Mapping[int, Expr]) -> Expr:
    """Replace params, by the id of their column."""
    return transform(
        expr, lambda node: values.get(node.column) if isinstance(node, Param) else None
    )


_BACKSLASH = Literal("\\", String())

_INFIX = {
    "and": "AND",
    "or": "OR",
    "eq": "=",
    "nullsafe_eq": "<=>",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "like": "LIKE",
}


def render(expr: Expr) -> str:
    """The expression as text for people (never sent to an engine).

    Params show as ``:name`` (target) or ``:name@1`` (row of intermediate 1).
    """
    match expr:
        case Column(name=name) | Variable(name=name):
            return name
        case Lambda(parameters=parameters, body=body):
            names = ", ".join(parameter.name for parameter in parameters)
            return f"{names if len(parameters) == 1 else f'({names})'} -> {render(body)}"
        case Literal(value=value):
            return _render_value(value)
        case Param(binding=binding, name=name):
            return f":{name}" if binding == 0 else f":{name}@{binding}"
        case ParamSet(scan=scan, columns=columns):
            return f"values of scan {scan} ({', '.join(map(str, columns))})"
        case Call(function="member", args=(values, *args)):
            return f"({', '.join(map(render, args))}) IN {render(values)}"
        case Call(function="not", args=(arg,)):
            return f"NOT ({render(arg)})"
        case Call(function="is_null", args=(arg,)):
            return f"{_grouped(arg, 'is')} IS NULL"
        case Call(function="is_not_null", args=(arg,)):
            return f"{_grouped(arg, 'is')} IS NOT NULL"
        case Call(function="like", args=(value, pattern, escape)):
            text = f"{_grouped(value, 'like')} LIKE {render(pattern)}"
            return text if escape == _BACKSLASH else f"{text} ESCAPE {render(escape)}"
        case Call(function="cast" | "check_overflow" as name, args=(value,), type=target):
            return f"{name}({render(value)} as {type_name(target)})"
        case Call(function="in", args=(value, *items)):
            return f"{render(value)} IN ({', '.join(map(render, items))})"
        case Call(function=function, args=args) if function in _INFIX and len(args) > 1:
            return f" {_INFIX[function]} ".join(_grouped(arg, function) for arg in args)
        case Call(function=function, args=args):
            return f"{shown(function)}({', '.join(map(render, args))})"


def _grouped(expr: Expr, outer: str) -> str:
    text = render(expr)
    nested = isinstance(expr, Call) and expr.function in _INFIX and len(expr.args) > 1
    compares = isinstance(expr, Call) and expr.function not in ("and", "or")
    return f"({text})" if nested and not (outer in ("and", "or") and compares) else text


def _render_value(value: Any) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int() | float():
            return str(value)
        case str():
            return "'" + value.replace("'", "''") + "'"
        case bytes():
            return f"X'{value.hex().upper()}'"
        case datetime.date():
            return f"'{value}'"
        case _:
            return str(value)
