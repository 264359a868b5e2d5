"""Random expressions and conditions over the columns in scope, subqueries included."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tests.sqltruth import functions
from tests.sqltruth.functions import BOOL, DOUBLE, INT
from tests.sqltruth.names import Names, Scope
from tests.sqltruth.syntax import (
    Call,
    Constant,
    Exists,
    Expr,
    InQuery,
    Query,
    Ref,
    Scalar,
    Top,
    width,
)
from tests.sqltruth.tables import constants

if TYPE_CHECKING:
    from tests.sqltruth.syntax import Select

_COMPARISONS = ("=", "=", "=", "<>", "<", "<=", ">", ">=", "<=>")


class Conditions(Names):
    """Draws expressions; `query` and `select` are the subclass's."""

    def __init__(self, rng: random.Random, ansi: bool) -> None:
        super().__init__(rng, ansi)
        self.rankings: set[tuple[int, int]] = set()
        """Columns that are rankings: no condition compares them, lest it be a top-k by chance."""

    def query(
        self, depth: int, types: Sequence[str] | None = None, outer: Scope = ()
    ) -> tuple[Query, list[str]]:
        """A query."""
        raise NotImplementedError

    def select(
        self,
        depth: int,
        types: Sequence[str] | None = None,
        outer: Scope = (),
        grouped: float = 0.35,
        keys: bool = True,
    ) -> tuple[Select, list[str]]:
        """A SELECT."""
        raise NotImplementedError

    # Values.

    def value(self, data_type: str, scope: Scope, depth: int, outer: Scope, steps: int) -> Expr:
        """An expression of the type; at `depth` 0 without subqueries; `outer` for these."""
        if depth and self.chance(0.1):
            return self._scalar(data_type, depth, outer)
        fitting = [ref for ref in scope if ref.type == data_type]
        if fitting and (steps <= 0 or self.chance(0.75)):
            return self.pick(fitting)
        if steps <= 0 or self.chance(0.1):
            return self.constant(data_type)
        return self._call(data_type, scope, depth, outer, steps)

    def constant(self, data_type: str) -> Constant:
        """A literal, seldom NULL."""
        known = constants(data_type)
        return self.pick(known[:-1]) if self.chance(0.93) else known[-1]

    def _call(self, data_type: str, scope: Scope, depth: int, outer: Scope, steps: int) -> Expr:
        if data_type == BOOL and self.chance(0.6):
            return self.condition(scope, depth, outer)
        there = {ref.type for ref in scope}
        known = [f for f in functions.SCALARS if f.result == data_type and there & {*f.arguments}
                 and not (self.ansi and f.text == "CAST({0} AS int)"
                          and f.arguments == (functions.TEXT,))]  # fmt: skip
        zeros = [ref for ref in scope if ref.type == DOUBLE and _zero_is_known(ref)]
        tellers = [f for f in functions.ZERO_TELLING if f.result == data_type]
        if zeros and tellers and self.chance(0.3):
            return Call(self.pick(tellers), (self.pick(zeros),))
        options = known if known and self.chance(0.75) else functions.generic(data_type)
        function = self.pick(options)
        return Call(
            function,
            tuple(
                self.condition(scope, depth, outer)
                if argument == BOOL and self.chance(0.8)
                else self.value(argument, scope, depth, outer, steps - 1)
                for argument in function.arguments
            ),
        )

    def _scalar(self, data_type: str, depth: int, outer: Scope) -> Expr:
        correlated = outer if outer and self.chance(0.6) else ()
        plain = bool(correlated) and self.chance(0.15)
        query, _ = self.select(
            depth - 1, [data_type], correlated, grouped=0.0 if plain else 1.0, keys=False
        )
        if self.chance(0.25):
            several, _ = self.query(depth - 1, [data_type], correlated)
            return Scalar(Top(several, ((0, self.pick(("ASC", "DESC"))),), 1), data_type)
        return Scalar(query, data_type)

    # Conditions.

    def condition(self, scope: Scope, depth: int, outer: Scope) -> Expr:
        """A Boolean expression, true of most rows as often as not."""
        draw = self.rng.random()
        if draw < 0.12:
            return self.joined([self.condition(scope, depth, outer) for _ in range(2)], 0.25)
        if draw < 0.2:
            inner = self.condition(scope, depth, outer)
            return Call(
                self.pick((functions.NOT, functions.IS_TRUE, functions.IS_NOT_TRUE)), (inner,)
            )
        if depth and draw < 0.5:
            return self._subquery(scope, depth, outer)
        return self._leaf(scope, depth, outer)

    def joined(self, terms: Sequence[Expr], conjunctive: float = 0.8) -> Expr:
        """The terms under AND or OR."""
        first, second = terms
        return Call(functions.AND if self.chance(conjunctive) else functions.OR, (first, second))

    def _leaf(self, scope: Scope, depth: int, outer: Scope) -> Expr:
        subject: Expr = self._untold(self.pick(scope))
        data_type = subject.type
        if self.chance(0.2):
            data_type = self.pick([ref.type for ref in scope])
            subject = self._untold(self.value(data_type, scope, depth, outer, 2))
        choice = self.rng.random()
        if choice < 0.2:
            return Call(functions.is_null(data_type, self.chance(0.8)), (subject,))
        if choice < 0.3:
            options = [self.constant(data_type) for _ in range(self.pick((1, 2, 2, 3)))]
            test = functions.membership(data_type, len(options), self.chance(0.4))
            return Call(test, (subject, *options))
        if choice < 0.36 and data_type != BOOL:
            bounds = [self.constant(data_type) for _ in range(2)]
            return Call(functions.between(data_type), (subject, *bounds))
        if choice < 0.45 and data_type in (functions.TEXT, DOUBLE):
            tests = [
                f for f in functions.SCALARS if f.result == BOOL and f.arguments == (data_type,)
            ]  # fmt: skip
            return Call(self.pick(tests), (subject,))
        other: Expr = self.constant(data_type)
        rest = [ref for ref in scope if ref is not subject]
        if self.chance(0.4) and rest:
            other = self._untold(self.value(data_type, rest, depth, outer, 1))
        return Call(functions.comparison(self.pick(_COMPARISONS), data_type), (subject, other))

    def _untold(self, expr: Expr) -> Expr:
        """The value, of a ranking through a function: whether it only cuts rows off is certain."""
        if not isinstance(expr, Ref):
            return expr
        of = expr.of if isinstance(expr.of, Ref) else expr
        ranks = (of.relation, of.place) in self.rankings
        return Call(functions.ABSOLUTE, (expr,)) if ranks else expr

    def topped(self, query: Query, probability: float) -> Query:
        """The query, perhaps its first rows in the order of all columns."""
        if not self.chance(probability):
            return query
        places = self.rng.sample(range(width(query)), width(query))
        order = tuple((place, self.pick(("ASC", "DESC", "DESC NULLS FIRST"))) for place in places)
        return Top(query, order, self.pick((1, 1, 2, 3)), self.pick((0, 0, 0, 1)))

    def linking(self, ours: Scope, theirs: Scope) -> Expr:
        """A join condition."""
        pairs = [(a, b) for a in ours for b in theirs if a.type == b.type]
        if not pairs:
            return self.constant(BOOL)
        ints = [pair for pair in pairs if pair[0].type == INT]
        left, right = self.pick(ints) if ints and self.chance(0.6) else self.pick(pairs)
        operator = "=" if self.chance(0.75) else self.pick(_COMPARISONS)
        return Call(functions.comparison(operator, left.type), (left, right))

    def _correlation(self, scope: Scope, outer: Scope) -> Expr:
        link = self.linking(scope, outer)
        if self.chance(0.15):
            return self.joined([link, self.condition(scope, 0, ())], 0.7)
        return link

    def _subquery(self, scope: Scope, depth: int, outer: Scope) -> Expr:
        correlated = outer if outer and self.chance(0.65) else ()
        negated = self.chance(0.4)
        if self.chance(0.45):
            query, _ = self.query(depth - 1, outer=correlated)
            return Exists(self.topped(query, 0.15), negated)
        operands: list[Expr] = [self.pick(scope)]
        if self.chance(0.15):
            operands.append(self.pick(scope))
        if self.chance(0.15):
            operands[0] = self.value(operands[0].type, scope, 0, outer, 1)
        types = [operand.type for operand in operands]
        query, _ = self.query(depth - 1, types, correlated if self.chance(0.5) else ())
        return InQuery(tuple(operands), self.topped(query, 0.15), negated)


def _zero_is_known(ref: Ref) -> bool:
    """Whether a run cannot choose between the zeros: a table's column or a key that is one."""
    return ref.of is None or isinstance(ref.of, Ref)
