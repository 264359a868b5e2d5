"""Small obligations: what they have in common, what they do not, and that verdicts stay."""

from __future__ import annotations

import pytest

from predtrace.inference import infer
from pushdown import verify
from pushdown.obligations import Obligation
from pushdown.operators import InnerJoin
from pushdown.rules import RULES
from pushdown.rules.base import Context
from pushdown.simplification import simplified
from symbolic.expr import Column, Expr, Literal, Param, call, conjunction, disjunction
from symbolic.solver import Prover, Verdict
from symbolic.types import LONG, STRING
from tests.test_mutants import CORPUS


def obligation(condition: Expr, above: Expr, columns: tuple[Column, ...]) -> Obligation:
    """A join of a table with the first column and one with the others."""
    operator = InnerJoin(id=7, left=3, right=4, condition=condition)
    context = Context((columns[:1], columns[1:]))
    proposals = RULES[InnerJoin].propose(operator, above, context)
    return Obligation(operator, above, proposals, context, witnessed=True)


def join(first: int, words: tuple[str, str], bound: str = "x") -> Obligation:
    """A join on a key, of which the right side's text is one of two words or like a third."""
    left = Column(first, "k", LONG)
    right, text = Column(first + 1, "k", LONG), Column(first + 2, "t", STRING)
    tests = [call("like", text, Literal(word, STRING), Literal("\\", STRING)) for word in words]
    condition = conjunction(call("eq", left, right), disjunction(*tests))
    above = call("eq", text, Param(0, text.id, bound, STRING))
    return obligation(condition, above, (left, right, text))


def test_names_and_literals_of_tests_do_not_matter() -> None:
    assert simplified(join(0, ("a%", "b%"))) == simplified(join(40, ("c%", "d%"), "y"))


def test_the_same_test_twice_is_not_two_tests() -> None:
    left, right = Column(0, "a", STRING), Column(1, "b", STRING)

    def like(column: Column, word: str) -> Expr:
        return call("like", column, Literal(word, STRING), Literal("\\", STRING))

    def both(one: str, other: str) -> Obligation:
        key = call("eq", left, right)
        above = conjunction(like(left, one), like(right, other))
        return simplified(obligation(key, above, (left, right)))

    assert both("a%", "a%") == both("b%", "b%")
    assert both("a%", "a%") != both("a%", "b%")


@pytest.mark.parametrize("name", CORPUS)
def test_verdicts_are_those_of_whole_obligations(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = CORPUS[name]().graph
    small = infer(graph)
    verify.forget()
    monkeypatch.setattr(verify, "simplified", lambda obligation: obligation)
    assert infer(graph) == small
    verify.forget()


def test_a_refuted_goal_is_not_taken_for_granted_afterwards() -> None:
    import z3

    one, other = z3.Bools("one other")
    prover = Prover()
    assert prover.prove(one, []) is Verdict.REFUTED
    assert prover.prove(z3.And(one, other), []) is Verdict.REFUTED
    assert prover.prove(one, [one]) is Verdict.PROVED
    assert prover.prove(other, []) is Verdict.REFUTED
    assert prover.prove(one, []) is Verdict.PROVED
