"""Expressions as Z3 terms, with SQL's three-valued logic.

A SQL value is a pair: a term and whether it is NULL. Every SQL behaviour must be a model of the
encoding (it may have more models than SQL has behaviours). A formula that Z3 proves then holds in
SQL. The term of each type, and why it keeps every behaviour:

========================  =======================================================
type                      term
========================  =======================================================
BOOLEAN                   Bool
integers, DATE,           unbounded Int (days, microseconds, months for the last);
TIMESTAMP, intervals      a sort of its own per type is not needed: expressions are typed
DECIMAL                   Real, exact
STRING (binary            Real: an order-preserving embedding. Any finite set of strings
collation)                embeds in the rationals; literals are ordered like their text
FLOAT, DOUBLE             an uninterpreted sort whose `key` (a Real) is what comparisons
                          see: 0.0 and -0.0 are two values with one key
anything else             an uninterpreted sort with a key, as for floats
a lambda                  an uninterpreted sort: an uninterpreted function, one for each
                          shape of body, of the values that the body captures
========================  =======================================================

Arithmetic, LIKE, casts and the like are uninterpreted functions: equal arguments give equal
results, and NULLs propagate as `symbolic.functions` says. Nothing else is assumed.
"""

from __future__ import annotations

import datetime
import decimal
import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import msgspec
import z3

from symbolic.expr import Call, Column, Expr, Lambda, Literal, Param, ParamSet, Variable, transform
from symbolic.functions import (
    OF_COMPARED,
    STRICT_TEST,
    Function,
    Nulls,
    Zeros,
    described,
    row_of,
)
from symbolic.logic import ALWAYS, NEVER, all_of, any_of, choose, negate, same_sort, same_term
from symbolic.types import (
    Boolean,
    DataType,
    Date,
    DayTimeInterval,
    Decimal,
    Float,
    Integer,
    Opaque,
    String,
    Timestamp,
    YearMonthInterval,
    type_name,
)

_EPOCH = datetime.datetime(1970, 1, 1)
_LAMBDA = Opaque("lambda")
ELEMENTS = 2
"""The number of elements of an array that a proof looks at."""


class Value(msgspec.Struct, frozen=True):
    """A SQL value: a Z3 `term`, meaningless where the Z3 Bool `null` is true."""

    term: Any
    null: Any


class Encoder:
    """Encodes expressions for one proof.

    `assumptions` collects the facts that come with the terms made so far: the order of string
    literals, the keys of float literals, and explicit assumptions.
    """

    def __init__(self) -> None:
        self._fresh = 0
        self._strings: dict[str, Any] = {}
        self._floats: dict[str, Any] = {}
        self._constants: dict[tuple[str, str], Any] = {}
        self._facts: list[Any] = []
        self._params: dict[Param, Value] = {}
        self._literals: dict[Literal, Value] = {}
        self._sets: dict[ParamSet, Value] = {}
        self._elements: dict[int, tuple[Any, tuple[tuple[Any, Value], ...]]] = {}
        self._calls: dict[
            tuple[str, DataType, tuple[int, ...]], tuple[Value, tuple[Value, ...]]
        ] = {}

    @property
    def assumptions(self) -> list[Any]:
        """Facts about literals that the proof may use."""
        literals = sorted(
            self._strings.items(), key=lambda item: item[0].encode("utf-8", "surrogatepass")
        )
        terms = [term for _, term in literals]
        ordered = [low < high for low, high in itertools.pairwise(terms)]
        return [*ordered, *self._facts]

    def assume(self, fact: Any) -> None:
        """Add a fact (a Z3 Bool) that every behaviour of SQL has."""
        self._facts.append(fact)

    def fresh(self, data_type: DataType, name: str, *, nullable: bool = True) -> Value:
        """An arbitrary value of the type."""
        self._fresh += 1
        label = f"{name}!{self._fresh}"
        null = z3.Bool(f"{label}?") if nullable else NEVER
        return Value(z3.Const(label, sort_of(data_type)), null)

    def fresh_flag(self, name: str) -> Any:
        """An arbitrary Z3 Bool."""
        self._fresh += 1
        return z3.Bool(f"{name}!{self._fresh}")

    def dependent(self, data_type: DataType, name: str, on: Sequence[Value]) -> Value:
        """A value that is some function of the values `on`, as comparisons see them.

        The same name and equal values give the same value: a functional dependency.
        """
        terms = [part for value in on for part in (_compared(value), value.null)]
        sorts = [term.sort() for term in terms]
        if not terms:
            return Value(z3.Const(name, sort_of(data_type)), z3.Bool(f"{name}?"))
        term = z3.Function(name, *sorts, sort_of(data_type))(*terms)
        return Value(term, z3.Function(f"{name}?", *sorts, z3.BoolSort())(*terms))

    def param(self, param: Param) -> Value:
        """The param's value: arbitrary, but the same throughout the proof."""
        if param not in self._params:
            self._params[param] = self.fresh(param.type, f":{param.name}", nullable=param.nullable)
        return self._params[param]

    def truth(self, predicate: Expr, row: Mapping[int, Value]) -> Any:
        """Z3 Bool: the predicate is TRUE (not FALSE, not NULL) on the row."""
        return is_true(self.encode(predicate, row))

    def encode(self, expr: Expr, row: Mapping[int, Value]) -> Value:
        """The expression's value on a row (values by column id)."""
        match expr:
            case Column(id=column):
                return row[column]
            case Param():
                return self.param(expr)
            case Literal():
                if expr not in self._literals:
                    self._literals[expr] = self._literal(expr)
                return self._literals[expr]
            case ParamSet(scan=scan, columns=columns):
                if expr not in self._sets:
                    term = z3.Const(f"set {scan} {columns}", z3.DeclareSort("set"))
                    self._sets[expr] = Value(term, NEVER)
                return self._sets[expr]
            case Call(function="array_exists", args=(array, Lambda() as test)) if self._elements:
                return self._exists(expr, self.encode(array, row), test, row)
            case Call(args=args):
                return self._call(expr, tuple(self.encode(arg, row) for arg in args))
            case Lambda():
                return self._lambda(expr, row)
            case Variable(name=name):
                raise ValueError(f"{name} means nothing outside of its lambda")

    def elements(
        self, array: Value, element: DataType, *, known: bool
    ) -> tuple[tuple[Any, Value], ...]:
        """A few elements that the array may have: whether each is there (a Z3 Bool), and its value.

        They are functions of the array. If `known`, tests of all of its elements (`array_exists`)
        are from now on tests of these.
        """
        key = array.term.get_id()
        if key not in self._elements:
            term, sort = array.term, array.term.sort()
            found = tuple(
                (
                    all_of(negate(array.null), z3.Function(f"has {n}", sort, z3.BoolSort())(term)),
                    Value(
                        z3.Function(f"element {n}", sort, sort_of(element))(term),
                        z3.Function(f"element {n}?", sort, z3.BoolSort())(term),
                    ),
                )
                for n in range(ELEMENTS)
            )
            if not known:
                return found
            self._elements[key] = term, found
        return self._elements[key][1]

    def _exists(self, expr: Call, array: Value, test: Lambda, row: Mapping[int, Value]) -> Value:
        """A test of the elements of an array; of those that are known, if they are."""
        values = (array, self.encode(test, row))
        if array.term.get_id() not in self._elements:
            return self._call(expr, values)
        (parameter,) = test.parameters
        hole = Column(-1 - len(row), "", parameter.type)
        body = transform(test.body, lambda node: hole if node == parameter else None)
        true = any_of(
            *[
                all_of(there, self.truth(body, {**row, hole.id: element}))
                for there, element in self._elements[array.term.get_id()][1]
            ]
        )
        # NULL if the test of some element is, and of none true.
        return Value(true, all_of(negate(true), self._call(expr, values).null))

    def _call(self, expr: Call, values: tuple[Value, ...]) -> Value:
        # The same calls on the same values recur for every pair of rows and every predicate. The
        # arguments are kept beside the result to keep their ids.
        key = (expr.function, expr.type, tuple(map(id, values)))
        if key not in self._calls:
            meaning = _INTERPRETED.get(expr.function)
            if meaning is not None and meaning.applies(values):
                self._calls[key] = meaning.encode(values), values
            else:
                self._calls[key] = self._uninterpreted(expr, values), values
        return self._calls[key][0]

    def _lambda(self, expr: Lambda, row: Mapping[int, Value]) -> Value:
        """The function itself: equal bodies that capture equal values are the same function.

        Names, and what is known of where parts are NULL, do not make functions differ.
        The body is not encoded: its value for any one element would not distinguish functions.
        """
        captured: dict[Expr, int] = {}

        def placed(node: Expr) -> Expr | None:
            if isinstance(node, (Column, Param)):
                return Column(captured.setdefault(node, len(captured)), "", node.type)
            if isinstance(node, Variable):
                return Variable(node.id, "", node.type)
            if isinstance(node, Call):
                return Call(node.function, node.args, node.type)
            return None

        shape = transform(expr, placed)
        assert isinstance(shape, Lambda)
        order = tuple(parameter.id for parameter in expr.parameters)
        values = tuple(self.encode(node, row) for node in captured)
        # Terms by identity, as for calls: the function's name is the shape's text.
        key = (f"{order} -> {shape.body!r}", _LAMBDA, tuple(map(id, values)))
        if key not in self._calls:
            terms = [part for v in values for part in (_without_garbage(v), v.null)]
            sort = z3.DeclareSort("lambda")
            sorts = [term.sort() for term in terms]
            function = z3.Function(key[0], *sorts, sort) if terms else None
            term = z3.Const(key[0], sort) if function is None else function(*terms)
            self._calls[key] = Value(term, NEVER), values
        return self._calls[key][0]

    def _literal(self, literal: Literal) -> Value:
        value, data_type = literal.value, literal.type
        if value is None:
            return Value(self.fresh(data_type, "null").term, ALWAYS)
        known = NEVER
        match data_type:
            case Boolean():
                return Value(ALWAYS if value else NEVER, known)
            case Integer() | YearMonthInterval() | DayTimeInterval():
                return Value(z3.IntVal(int(value)), known)
            case Date():
                return Value(z3.IntVal(value.toordinal()), known)
            case Timestamp() if isinstance(value, datetime.datetime) and value.tzinfo is None:
                return Value(
                    z3.IntVal((value - _EPOCH) // datetime.timedelta(microseconds=1)), known
                )
            case Decimal():
                return Value(_real(Fraction(decimal.Decimal(value))), known)
            case String(collation) if collation == "UTF8_BINARY":
                return Value(self._string(value), known)
            case Float():
                return Value(self._float(literal), known)
            case _:
                return Value(self._constant(literal), known)

    def _string(self, text: str) -> Any:
        if text not in self._strings:
            self._strings[text] = z3.Real(f"'{text}'")
        return self._strings[text]

    def _float(self, literal: Literal) -> Any:
        label = f"{type_name(literal.type)} {literal.value!r}"
        if label not in self._floats:
            term = z3.Const(label, sort_of(literal.type))
            self._floats[label] = term
            if math.isfinite(literal.value):
                self._facts.append(key(term) == _real(Fraction(literal.value)))
        return self._floats[label]

    def _constant(self, literal: Literal) -> Any:
        name = type_name(literal.type)
        label = (name, repr(literal.value))
        if label not in self._constants:
            self._constants[label] = z3.Const(f"{name} {label[1]}", sort_of(literal.type))
        return self._constants[label]

    def _uninterpreted(self, expr: Call, values: Sequence[Value]) -> Value:
        function = row_of(expr.function)
        propagates = expr.function.startswith(STRICT_TEST) or (
            function is not None and function.nulls.propagates
        )
        never = function is not None and function.nulls is Nulls.NEVER_NULL
        # A function that handles NULLs itself gets them as arguments. The term of a NULL is
        # arbitrary, so one fixed term replaces it first.
        terms = [v.term if propagates else _without_garbage(v) for v in values]
        if expr.function.endswith(OF_COMPARED):
            terms = [key(v.term) if propagates else _compared(v) for v in values]
        if not propagates:
            terms += [v.null for v in values]
        name = f"{expr.function}:{type_name(expr.type)}"
        if described(expr.function) is not None:
            # The same number of another type may give another result (typeof).
            name += f" of {', '.join(type_name(arg.type) for arg in expr.args)}"
        sorts = [term.sort() for term in terms]
        signature = f"{name}({','.join(sort.name() for sort in sorts)})"
        result = sort_of(expr.type)
        if not terms:
            term = z3.Const(signature, result)
            null = NEVER if never else z3.Bool(f"{signature}?")
            return Value(term, null)
        term = z3.Function(signature, *sorts, result)(*terms)
        seen = self._seen_by(expr, function, terms)
        null_of = z3.Function(f"{signature}?", *[each.sort() for each in seen], z3.BoolSort())
        own_null = null_of(*seen)
        if any(one is not other for one, other in zip(seen, terms, strict=True)):
            # Equal floats need not be identical; the results of identical ones are.
            compared = [each.sort() for each in seen]
            key_of = z3.Function(f"key of {signature}", *compared, key(term).sort())
            self.assume(key(term) == key_of(*seen))
        if never:
            return Value(term, NEVER)
        if propagates:
            return Value(term, any_of(*[v.null for v in values] + [own_null]))
        return Value(term, own_null)

    def _seen_by(self, expr: Call, function: Function | None, terms: list[Any]) -> list[Any]:
        """The terms that decide what comparisons see of a call's result: of floats their keys."""
        if function is None or function.zeros is Zeros.APART:
            return terms
        floats = [isinstance(arg.type, Float) for arg in expr.args]
        floats += [False] * (len(terms) - len(floats))
        return [key(t) if is_float else t for t, is_float in zip(terms, floats, strict=True)]


@functools.cache
def sort_of(data_type: DataType) -> Any:
    """The Z3 sort of a type's terms."""
    match data_type:
        case Boolean():
            return z3.BoolSort()
        case Integer() | Date() | Timestamp() | YearMonthInterval() | DayTimeInterval():
            return z3.IntSort()
        case Decimal():
            return z3.RealSort()
        case String(collation) if collation == "UTF8_BINARY":
            return z3.RealSort()
        case Float(bits):
            return z3.DeclareSort(f"float{bits}")
        case _:
            return z3.DeclareSort(type_name(data_type))


def key(term: Any) -> Any:
    """The key of a term, which comparisons, grouping and DISTINCT see (see the module's table)."""
    sort = term.sort()
    if sort.kind() == z3.Z3_UNINTERPRETED_SORT:
        return z3.Function(f"key of {sort.name()}", sort, z3.RealSort())(term)
    return term


def is_true(value: Value) -> Any:
    """Z3 Bool: the Boolean value is TRUE."""
    return all_of(value.term, negate(value.null))


def equal(left: Value, right: Value) -> Any:
    """Z3 Bool: ``left <=> right``."""
    both = all_of(negate(left.null), negate(right.null), same_term(key(left.term), key(right.term)))
    return any_of(both, all_of(left.null, right.null))


def _compared(value: Value) -> Any:
    term = key(value.term)
    return choose(value.null, _garbage(term.sort()), term)


def _real(value: Fraction) -> Any:
    return z3.Q(value.numerator, value.denominator)


def _without_garbage(value: Value) -> Any:
    if value.null is NEVER:
        return value.term
    return choose(value.null, _garbage(value.term.sort()), value.term)


def _garbage(sort: Any) -> Any:
    """The one term that stands for all NULLs of a sort."""
    return z3.Const(f"NULL of {sort.name()}", sort)


def _like_sorts(values: Sequence[Value]) -> bool:
    return same_sort(*(value.term for value in values))


def _booleans(values: Sequence[Value]) -> bool:
    return all(z3.is_bool(value.term) for value in values)


def _branches(values: Sequence[Value]) -> bool:
    return _booleans(values[:-1:2]) and _like_sorts([*values[1::2], values[-1]])


def _and(values: Sequence[Value]) -> Value:
    false = any_of(*[all_of(negate(v.null), negate(v.term)) for v in values])
    null = all_of(negate(false), any_of(*[v.null for v in values]))
    return Value(negate(false), null)


def _or(values: Sequence[Value]) -> Value:
    true = any_of(*[all_of(negate(v.null), v.term) for v in values])
    null = all_of(negate(true), any_of(*[v.null for v in values]))
    return Value(true, null)


def _not(values: Sequence[Value]) -> Value:
    return Value(negate(values[0].term), values[0].null)


def _comparison(compare: Callable[[Any, Any], Any]) -> Callable[[Sequence[Value]], Value]:
    def encode(values: Sequence[Value]) -> Value:
        left, right = values
        term = compare(ordered(left.term), ordered(right.term))
        return Value(term, any_of(left.null, right.null))

    return encode


def ordered(term: Any) -> Any:
    """A term that Z3 can order as SQL does: FALSE sorts before TRUE."""
    return z3.If(term, 1, 0) if z3.is_bool(term) else key(term)


def _in(values: Sequence[Value]) -> Value:
    equals = _comparison(same_term)
    return _or([equals([values[0], item]) for item in values[1:]])


def _case(values: Sequence[Value]) -> Value:
    *branches, otherwise = values
    result = otherwise
    for condition, then in reversed(list(zip(branches[::2], branches[1::2], strict=True))):
        chosen = is_true(condition)
        result = Value(
            choose(chosen, then.term, result.term), choose(chosen, then.null, result.null)
        )
    return result


def _coalesce(values: Sequence[Value]) -> Value:
    result = values[-1]
    for value in reversed(values[:-1]):
        result = Value(choose(value.null, result.term, value.term), all_of(value.null, result.null))
    return result


class _Meaning(msgspec.Struct, frozen=True):
    """The meaning of a function for the solver, and the values that it `applies` to."""

    encode: Callable[[Sequence[Value]], Value]
    applies: Callable[[Sequence[Value]], bool]


_INTERPRETED: dict[str, _Meaning] = {
    "and": _Meaning(_and, _booleans),
    "or": _Meaning(_or, _booleans),
    "not": _Meaning(_not, _booleans),
    "eq": _Meaning(_comparison(same_term), _like_sorts),
    "lt": _Meaning(_comparison(lambda a, b: a < b), _like_sorts),
    "le": _Meaning(_comparison(lambda a, b: a <= b), _like_sorts),
    "gt": _Meaning(_comparison(lambda a, b: a > b), _like_sorts),
    "ge": _Meaning(_comparison(lambda a, b: a >= b), _like_sorts),
    "nullsafe_eq": _Meaning(lambda values: Value(equal(values[0], values[1]), NEVER), _like_sorts),
    "is_null": _Meaning(lambda values: Value(values[0].null, NEVER), _like_sorts),
    "is_not_null": _Meaning(lambda values: Value(negate(values[0].null), NEVER), _like_sorts),
    "in": _Meaning(_in, _like_sorts),
    "case": _Meaning(_case, _branches),
    "coalesce": _Meaning(_coalesce, _like_sorts),
}

ENCODED = frozenset(_INTERPRETED)
"""Functions with a meaning here: the functions whose row says interpreted (a test checks it)."""
