"""Expressions as SQL: the spelling of each function of `symbolic.functions` in a dialect.

A spelling is the name of a function that is called with the arguments in order, or a builder for
any other form. Every evaluation is total: a call that fails in the pipeline's engine gives NULL
here, since a lineage predicate is also evaluated on rows that the pipeline never evaluated it on.
Each spelling stands beside the conditions under which the engine evaluates the function as Spark
does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Union

from sqlglot import exp

from predtrace.engines.base import physical_name
from predtrace.engines.sql.literals import cast_to, sql_literal
from predtrace.errors import EngineError
from symbolic.expr import Call, Column, Expr, Lambda, Literal, Param, ParamSet, Variable
from symbolic.functions import key_of, shown

if TYPE_CHECKING:
    Args = Sequence[exp.Expr]
    Builder = Callable[[Call, Args], exp.Expr]
    Spelling = Union[str, Builder]


class Compiler:
    """Turns IR expressions into a dialect's SQL trees.

    Columns are read from the relation `scanned`, params from `bound`, both by physical name.
    `columns` and `params` (by column id) override this for some of them.
    """

    def __init__(
        self,
        dialect: str,
        spellings: Mapping[str, Spelling],
        columns: Mapping[int, exp.Expr] | None = None,
        params: Mapping[int, exp.Expr] | None = None,
        scanned: str = "s",
        bound: str = "b",
    ) -> None:
        self.dialect = dialect
        self._spellings = spellings
        self._columns = columns or {}
        self._params = params or {}
        self._scanned = scanned
        self._bound = bound

    def __call__(self, expr: Expr) -> exp.Expr:
        """The expression in SQL. Raises EngineError for a function without a spelling."""
        match expr:
            case Column(id=id):
                return _read(self._columns.get(id), id, self._scanned)
            case Param(column=column):
                return _read(self._params.get(column), column, self._bound)
            case Literal():
                return sql_literal(expr, self.dialect)
            case ParamSet():
                raise EngineError("a value set is joined with, never computed")
            case Variable(id=id):
                return exp.column(_variable(id))
            case Lambda(parameters=parameters, body=body):
                names = [exp.to_identifier(_variable(parameter.id)) for parameter in parameters]
                return exp.Lambda(this=self(body), expressions=names)
            case Call(function=function, args=args):
                spelling = self._spellings.get(key_of(function))
                if spelling is None:
                    raise EngineError(
                        f"the {self.dialect} engine cannot evaluate the function {shown(function)}"
                    )
                compiled = [self(arg) for arg in args]
                if isinstance(spelling, str):
                    return named(spelling, *compiled)
                return spelling(expr, compiled)


def _read(given: exp.Expr | None, column_id: int, table: str) -> exp.Expr:
    return exp.column(physical_name(column_id), table=table) if given is None else given.copy()


def _variable(number: int) -> str:
    # Inside a lambda its parameters hide other names.
    return f"v{number}"


def named(name: str, *args: exp.Expr) -> exp.Expr:
    """A call of a function by name."""
    return exp.Anonymous(this=name, expressions=list(args))


def infix(kind: type[exp.Binary]) -> Builder:
    """An operator between two arguments, in parentheses."""

    def build(call: Call, args: Args) -> exp.Expr:
        left, right = args
        return exp.paren(kind(this=left, expression=right), copy=False)

    return build


def chain(kind: type[exp.Binary]) -> Builder:
    """An associative operator among two or more arguments."""

    def build(call: Call, args: Args) -> exp.Expr:
        whole = args[0]
        for arg in args[1:]:
            whole = kind(this=whole, expression=arg)
        return exp.paren(whole, copy=False)

    return build


def suffix(after: Callable[[exp.Expr], exp.Expr]) -> Builder:
    """A test of one argument, in parentheses."""
    return lambda call, args: exp.paren(after(args[0]), copy=False)


def build_case(call: Call, args: Args) -> exp.Expr:
    """CASE from ``when, then, …, else``."""
    branches = [
        exp.If(this=when, true=then) for when, then in zip(args[:-1:2], args[1::2], strict=True)
    ]
    return exp.Case(ifs=branches, default=args[-1])


def build_in(call: Call, args: Args) -> exp.Expr:
    """IN from the value, then the list."""
    return exp.paren(exp.In(this=args[0], expressions=list(args[1:])), copy=False)


def build_like(kind: type[exp.Binary]) -> Builder:
    """LIKE, with the escape character if there is one."""

    def build(call: Call, args: Args) -> exp.Expr:
        matched: exp.Expr = kind(this=args[0], expression=args[1])
        if len(args) > 2:
            matched = exp.Escape(this=matched, expression=args[2])
        return exp.paren(matched, copy=False)

    return build


def build_cast(dialect: str) -> Builder:
    """CAST to the call's type, NULL where it fails."""
    return lambda call, args: cast_to(args[0], call.type, dialect)


def literal_argument(call: Call, position: int) -> object:
    """The value of an argument that must be a constant; raises EngineError if it is not."""
    argument = call.args[position]
    if not isinstance(argument, Literal):
        raise EngineError(f"the function {call.function} needs a constant here")
    return argument.value


build_not = suffix(lambda arg: exp.Not(this=exp.paren(arg, copy=False)))
"""NOT."""
build_is_null = suffix(lambda arg: exp.Is(this=arg, expression=exp.Null()))
"""IS NULL."""
build_is_not_null = suffix(lambda arg: exp.Not(this=exp.Is(this=arg, expression=exp.Null())))
"""IS NOT NULL."""
