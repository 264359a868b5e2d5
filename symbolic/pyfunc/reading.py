"""Python functions read as expressions over their parameters.

Statements are read in order. What a statement does where an earlier one has returned does not
matter, so the rest of a function is read once, however many branches lead to it; at joins each
variable is one value or the other, and terms are shared. Where the function raises, the expression
may have any value.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from types import FunctionType

import msgspec

from symbolic.expr import FALSE, TRUE, Expr, Literal
from symbolic.pyfunc.expressions import Env, Reader, items_of
from symbolic.pyfunc.sources import NoSource, meanings, source_of
from symbolic.pyfunc.values import (
    Const,
    Match,
    Pieces,
    Unread,
    Value,
    both,
    choice,
    either,
    expr,
    negated,
    raised,
    size,
)

MOST_NODES = 2_000
"""The most different nodes that a function may be read to."""
_DEEPEST = 8


class Outcome(msgspec.Struct, frozen=True):
    """What statements did: whether they returned, what, whether they left a loop, the variables."""

    returned: Expr
    value: Value
    broke: Expr
    env: Env


def read_function(function: Callable[..., object], args: Sequence[Expr]) -> Expr:
    """The value that a function returns for these arguments. Raises Unread, which says why."""
    return expr(_called(function, list(args), 0))


def _called(function: Callable[..., object], args: list[Value], depth: int) -> Value:
    if not isinstance(function, FunctionType):
        raise Unread("it is no function written with def or lambda")
    if depth > _DEEPEST:
        raise Unread("functions that call each other deeply")
    try:
        definition = source_of(function).definition
    except NoSource as error:
        raise Unread(str(error)) from error
    env = _bound(function, definition.args, args)
    known = meanings(function)
    reader = Reader(known, lambda called, given: _called(called, given, depth + 1))
    if isinstance(definition, ast.Lambda):
        return reader.read(definition.body, env)
    if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
        raise Unread("a generator")
    done = Statements(reader).block(definition.body, env)
    return choice(done.returned, done.value, Const(None))


def _bound(function: FunctionType, given: ast.arguments, args: list[Value]) -> Env:
    if given.vararg or given.kwarg or given.kwonlyargs:
        raise Unread("parameters beside those by position")
    names = [each.arg for each in (*given.posonlyargs, *given.args)]
    defaults = function.__defaults__ or ()
    missing = len(names) - len(args)
    if not 0 <= missing <= len(defaults):
        raise Unread("a call with another number of arguments")
    return dict(zip(names, [*args, *map(Const, defaults[len(defaults) - missing :])], strict=True))


class Statements:
    """Reads statements. Inside ``try`` it collects the conditions under which one raises."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._path: list[Expr] = []
        self._raises: list[Expr] | None = None

    def block(self, statements: Sequence[ast.stmt], env: Env) -> Outcome:
        """What statements do, one after the other."""
        done = Outcome(FALSE, Const(None), FALSE, env)
        for statement in statements:
            over = either(done.returned, done.broke)
            if over == TRUE:
                break
            self._path.append(negated(over))
            after = self._statement(statement, done.env)
            self._path.pop()
            done = _then(done, after, over)
            self._check_size(done)
        return done

    def _check_size(self, done: Outcome) -> None:
        values = [done.returned, done.value, done.broke, *done.env.values()]
        exprs = [v for v in values if not isinstance(v, (Const, Match, Pieces))]
        if sum(map(size, exprs)) > MOST_NODES * 4:
            raise Unread("more than is read of one function")

    def _value(self, node: ast.expr, env: Env) -> Value:
        found = self._reader.read(node, env)
        self._note(found)
        return found

    def _note(self, value: Value) -> None:
        if self._raises is not None and not isinstance(value, Const):
            if isinstance(value, (Match, Pieces)):
                raise Unread("a list or a match inside try")
            self._raises.append(both(*self._path, raised(value)))

    def _statement(self, node: ast.stmt, env: Env) -> Outcome:
        match node:
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                return Outcome(FALSE, Const(None), FALSE, env)
            case ast.Return(value=value):
                found = Const(None) if value is None else self._value(value, env)
                return Outcome(TRUE, found, FALSE, env)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                return _with(env, name, self._value(value, env))
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                return _with(env, name, self._value(value, env))
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                left = ast.copy_location(ast.Name(id=name, ctx=ast.Load()), target)
                both_sides = ast.copy_location(ast.BinOp(left=left, op=op, right=value), node)
                return _with(env, name, self._value(both_sides, env))
            case ast.If():
                return self._if(node, env)
            case ast.For(target=ast.Name(id=name), iter=iterated, body=body, orelse=[]):
                return self._for(name, items_of(self._reader.read(iterated, env)), body, env)
            case ast.Break():
                return Outcome(FALSE, Const(None), TRUE, env)
            case ast.Try(handlers=[handler], orelse=[], finalbody=[]):
                return self._try(node.body, handler, env)
            case ast.Raise():
                if self._raises is not None:
                    self._raises.append(both(*self._path))
                return Outcome(TRUE, Const(None), FALSE, env)
        raise Unread(f"{type(node).__name__} in line {node.lineno}")

    def _if(self, node: ast.If, env: Env) -> Outcome:
        condition = self._reader.condition(node.test, env)
        self._note(condition)
        if isinstance(condition, Literal):
            return self.block(node.body if condition.value else node.orelse, env)
        yes = self._under(condition, node.body, env)
        no = self._under(negated(condition), node.orelse, env)
        return _either(condition, yes, no)

    def _under(self, condition: Expr, statements: Sequence[ast.stmt], env: Env) -> Outcome:
        self._path.append(condition)
        found = self.block(statements, dict(env))
        self._path.pop()
        return found

    def _for(self, name: str, items: list[object], body: list[ast.stmt], env: Env) -> Outcome:
        done = Outcome(FALSE, Const(None), FALSE, env)
        for item in items:
            over = either(done.returned, done.broke)
            self._path.append(negated(over))
            after = self.block(body, {**done.env, name: Const(item)})
            self._path.pop()
            done = _then(done, after, over)
            self._check_size(done)
        return Outcome(done.returned, done.value, FALSE, done.env)

    def _try(self, body: list[ast.stmt], handler: ast.ExceptHandler, env: Env) -> Outcome:
        if self._raises is not None:
            raise Unread("a try inside a try")
        self._raises = []
        tried = self.block(body, dict(env))
        failed = either(*self._raises)
        self._raises = None
        changed = {name for name in tried.env if tried.env[name] is not env.get(name)}
        read = {node.id for each in handler.body for node in ast.walk(each)
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}  # fmt: skip
        if read & changed or (handler.name is not None and handler.name in read):
            raise Unread("a handler that reads what was changed before it, or the error")
        handled = self._under(failed, handler.body, env)
        return _either(failed, handled, tried)


def _with(env: Env, name: str, value: Value) -> Outcome:
    return Outcome(FALSE, Const(None), FALSE, {**env, name: value})


def _then(done: Outcome, after: Outcome, over: Expr) -> Outcome:
    """What two steps do, of which the second is not taken if it is `over`."""
    going = negated(over)
    value = after.value if done.returned == FALSE else done.value
    if done.returned != FALSE and after.returned != FALSE:
        value = choice(done.returned, done.value, after.value)
    return Outcome(
        either(done.returned, both(going, after.returned)),
        value,
        either(done.broke, both(going, after.broke)),
        after.env if done.broke == FALSE else _merged(done.broke, done.env, after.env),
    )


def _either(condition: Expr, yes: Outcome, no: Outcome) -> Outcome:
    """What one of two ways does."""
    if yes.returned == TRUE:
        env = no.env
    elif no.returned == TRUE:
        env = yes.env
    else:
        env = _merged(condition, yes.env, no.env)
    if FALSE in (yes.returned, no.returned):
        value = no.value if yes.returned == FALSE else yes.value
    else:
        value = choice(condition, yes.value, no.value)
    return Outcome(
        either(both(condition, yes.returned), both(negated(condition), no.returned)),
        value,
        either(both(condition, yes.broke), both(negated(condition), no.broke)),
        env,
    )


def _merged(condition: Expr, yes: Env, no: Env) -> Env:
    """The variables after one of two ways; one that only one of them has is not known."""
    found: Env = {}
    for name in yes.keys() & no.keys():
        try:
            found[name] = choice(condition, yes[name], no[name])
        except Unread:
            # Only reading the variable would matter.
            continue
    return found


__all__ = ["Unread", "read_function"]
