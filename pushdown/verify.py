"""Verification: the solver's answer decides what a pushed-down predicate is worth.

For an operator, the predicate above and a candidate below, the question is put on
bounded symbolic tables (`pushdown.rules`), with L for "the row is lineage of some
output row that the predicate above selects" (SEMANTICS section 2):

- **complete**: L implies the candidate. Nothing is missed. Must always hold.
- **precise**: the candidate implies L. Nothing is added.

Params are bound to a row that exists: if `witnessed`, some output row satisfies the
predicate above (it is what the bound row came from), and the proof may use that. The
paper's Section 4.2 asks whether pushing F equals pushing the row-selection predicate;
asking for the lineage itself is the same question without the detour.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import z3

from pushdown.operators import Operator
from pushdown.rules import RULES
from pushdown.rules.base import Context, OutputRow
from symbolic.encode import Encoder
from symbolic.expr import FALSE, Expr, conjunction, conjuncts
from symbolic.solver import LOCK, Verdict, prove
from symbolic.table import SymbolicRow, symbolic_table


class Pushed(msgspec.Struct, frozen=True):
    """What became of a predicate at one operator, per input.

    `below` are the predicates, all complete; `precise` says which are proved to select
    the lineage exactly, `undecided` where the solver ran out of its budget. `witnessed`
    says where some row is proved to satisfy the predicate below.
    """

    below: tuple[Expr, ...]
    precise: tuple[bool, ...]
    undecided: tuple[bool, ...]
    witnessed: tuple[bool, ...]


class Question:
    """The proof obligations of one operator and one predicate above it."""

    def __init__(self, operator: Operator, above: Expr, context: Context, witnessed: bool) -> None:
        rule = RULES[type(operator)]
        self._encoder = Encoder()
        self._tables = tuple(
            symbolic_table(
                self._encoder, columns, rule.bounds[min(index, len(rule.bounds) - 1)], f"t{index}"
            )
            for index, columns in enumerate(context.inputs)
        )
        outputs = rule.meaning(operator, self._tables, self._encoder, context)
        self._selected: list[tuple[OutputRow, Any]] = [
            (row, z3.And(row.exists, self._encoder.truth(above, row.values))) for row in outputs
        ]
        self._witness = z3.Or([selected for _, selected in self._selected]) if witnessed else None

    def complete(self, index: int, candidate: Expr) -> Verdict:
        """Whether every lineage row of input `index` satisfies the candidate."""
        return self._prove_for_a_row(index, candidate, lambda lineage, g: z3.Implies(lineage, g))

    def precise(self, index: int, candidate: Expr) -> Verdict:
        """Whether every row of input `index` that satisfies the candidate is lineage."""
        return self._prove_for_a_row(index, candidate, lambda lineage, g: z3.Implies(g, lineage))

    def contributes(self, index: int) -> Verdict:
        """Whether input `index` surely has a lineage row."""
        if self._witness is None:
            return Verdict.UNKNOWN
        some = z3.Or([self._is_lineage(index, row) for row in range(len(self._tables[index]))])
        return self._prove(some)

    def _prove_for_a_row(
        self, index: int, candidate: Expr, relate: Callable[[Any, Any], Any]
    ) -> Verdict:
        # The rows of a symbolic table are interchangeable: the first stands for any.
        row: SymbolicRow = self._tables[index][0]
        selected = z3.And(row.exists, self._encoder.truth(candidate, row.values))
        return self._prove(relate(self._is_lineage(index, 0), selected))

    def _is_lineage(self, index: int, row: int) -> Any:
        exists = self._tables[index][row].exists
        return z3.And(
            exists,
            z3.Or([z3.And(chosen, out.lineage[index][row]) for out, chosen in self._selected]),
        )

    def _prove(self, goal: Any) -> Verdict:
        witness = [] if self._witness is None else [self._witness]
        return prove(goal, [*self._encoder.assumptions, *witness])


def push(operator: Operator, above: Expr, context: Context, *, witnessed: bool) -> Pushed:
    """Move a predicate from an operator's output to its inputs.

    Takes for each input the first candidate that is proved complete and precise, else
    the most selective one that is proved complete. Nothing is lineage of no rows: FALSE
    stays FALSE all the way down.
    """
    if above == FALSE:
        count = len(context.inputs)
        return Pushed((FALSE,) * count, (True,) * count, (False,) * count, (False,) * count)
    proposals = RULES[type(operator)].propose(operator, above, context)
    with LOCK:
        question = Question(operator, above, context, witnessed)
        chosen = [_choose(question, i, candidates) for i, candidates in enumerate(proposals)]
        nonempty = [question.contributes(i) is Verdict.PROVED for i in range(len(proposals))]
    return Pushed(
        below=tuple(candidate for candidate, _, _ in chosen),
        precise=tuple(precise for _, precise, _ in chosen),
        undecided=tuple(undecided for _, _, undecided in chosen),
        witnessed=tuple(nonempty),
    )


def _choose(
    question: Question, index: int, candidates: tuple[Expr, ...]
) -> tuple[Expr, bool, bool]:
    best: Expr | None = None
    undecided = False
    for candidate in candidates:
        complete = question.complete(index, candidate)
        if complete is Verdict.PROVED:
            precise = question.precise(index, candidate)
            if precise is Verdict.PROVED:
                return candidate, True, False
            undecided |= precise is Verdict.UNKNOWN
            best = candidate if best is None else best
        undecided |= complete is Verdict.UNKNOWN
    if best is None:
        best = _complete_part(question, index, candidates[0])
        if question.precise(index, best) is Verdict.PROVED:
            return best, True, False
    return best, False, undecided


def _complete_part(question: Question, index: int, candidate: Expr) -> Expr:
    """The conjuncts that are complete: a conjunction is complete if each conjunct is."""
    return conjunction(
        *(term for term in conjuncts(candidate) if question.complete(index, term) is Verdict.PROVED)
    )
