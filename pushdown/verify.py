"""Verification: the solver decides whether a pushed-down predicate is complete and precise.

For an operator, the predicate above and a candidate below, the question is put on bounded symbolic
tables (`pushdown.rules`). Let L mean "the row is lineage of some output row that the predicate
above selects" (SEMANTICS section 2):

- **complete**: L implies the candidate. Nothing is missed. Must always hold.
- **precise**: the candidate implies L. Nothing is added.

Params are bound to a row that exists. If `witnessed`, some output row satisfies the predicate above
(the bound row came from it), and the proof may use that. The paper's Section 4.2 asks whether
pushing F equals pushing the row-selection predicate; asking for the lineage itself is the same
question without the detour.

For **sufficient** predicates (SEMANTICS section 4) the question is "complete", too, with L for "the
row influences some output row that the predicate above may select" (`Rule.influence`).
`docs/soundness.md` shows that this is enough. **Lifting** (the paper's Section 6.1) asks whether
each output row whose lineage satisfies the predicates below satisfies the predicate above.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from pushdown.obligations import LINEAGE, SUFFICIENT, Obligation
from pushdown.operators import Operator
from pushdown.rules import RULES
from pushdown.rules.base import Context, OutputRow
from pushdown.simplification import simplified
from symbolic.encode import Encoder
from symbolic.expr import FALSE, TRUE, Expr, conjunction, conjuncts
from symbolic.logic import all_of, any_of, implies, same_term
from symbolic.solver import LOCK, Prover, Verdict
from symbolic.table import SymbolicRow, symbolic_table


class Pushed(msgspec.Struct, frozen=True):
    """The result of pushing a predicate through one operator, per input.

    `below` are the predicates, all complete. `precise` says which are proved to select the lineage
    exactly, and `undecided` for which the solver ran out of its budget. `witnessed` says for which
    inputs some row is proved to satisfy the predicate below.
    """

    below: tuple[Expr, ...]
    precise: tuple[bool, ...]
    undecided: tuple[bool, ...]
    witnessed: tuple[bool, ...]


class SolverQuestion:
    """One obligation put to the solver."""

    def __init__(self, obligation: Obligation) -> None:
        operator, context = obligation.operator, obligation.context
        rule = RULES[type(operator)]
        self._encoder = Encoder()
        self._prover = Prover()
        self._lineage: dict[tuple[int, int], Any] = {}
        self._tables = tuple(
            symbolic_table(
                self._encoder, columns, rule.bounds[min(index, len(rule.bounds) - 1)], f"t{index}"
            )
            for index, columns in enumerate(context.inputs)
        )
        meaning = rule.meaning
        if obligation.goal == SUFFICIENT and rule.influence is not None:
            meaning = rule.influence
        self._outputs = meaning(operator, self._tables, self._encoder, context)
        self._selected: list[tuple[OutputRow, Any]] = [
            (row, all_of(row.exists, self._encoder.truth(obligation.above, row.values)))
            for row in self._outputs
        ]
        self._witness = (
            any_of(*[selected for _, selected in self._selected]) if obligation.witnessed else None
        )

    def exact(self, candidates: Sequence[Expr]) -> bool:
        """Whether every candidate is proved complete and precise."""
        return self._prove(self._exactness(candidates)) is Verdict.PROVED

    def settled(self, candidates: Sequence[Expr]) -> bool:
        """Whether the usual case is proved: `exact`, and each input contributes if witnessed."""
        contributions = () if self._witness is None else self._contributions()
        goal = all_of(self._exactness(candidates), *contributions)
        return self._prove(goal) is Verdict.PROVED

    def complete(self, index: int, candidate: Expr) -> Verdict:
        """Whether every lineage row of input `index` satisfies the candidate."""
        return self._prove(implies(self._is_lineage(index, 0), self._selects(index, candidate)))

    def precise(self, index: int, candidate: Expr) -> Verdict:
        """Whether every row of input `index` that satisfies the candidate is lineage."""
        return self._prove(implies(self._selects(index, candidate), self._is_lineage(index, 0)))

    def contributing(self) -> tuple[bool, ...]:
        """The inputs that are proved to have a lineage row."""
        if self._witness is None:
            return (False,) * len(self._tables)
        return tuple(self._prove(goal) is Verdict.PROVED for goal in self._contributions())

    def lifted(self, below: Sequence[Expr], candidate: Expr) -> Verdict:
        """Whether every output row whose lineage satisfies `below` satisfies the candidate."""
        goals = []
        for output in self._outputs:
            satisfied = [
                implies(
                    all_of(row.exists, lineage),
                    self._encoder.truth(below[index], row.values),
                )
                for index, table in enumerate(self._tables)
                for row, lineage in zip(table, output.lineage[index], strict=True)
            ]
            holds = self._encoder.truth(candidate, output.values)
            goals.append(implies(all_of(output.exists, *satisfied), holds))
        return self._prove(all_of(*goals))

    def _exactness(self, candidates: Sequence[Expr]) -> Any:
        return all_of(
            *(
                same_term(self._is_lineage(index, 0), self._selects(index, candidate))
                for index, candidate in enumerate(candidates)
            )
        )

    def _contributions(self) -> tuple[Any, ...]:
        """For each input: some row of it is lineage."""
        return tuple(
            any_of(*[self._is_lineage(index, row) for row in range(len(table))])
            for index, table in enumerate(self._tables)
        )

    def _selects(self, index: int, candidate: Expr) -> Any:
        # The rows of a symbolic table are interchangeable: the first stands for any.
        row: SymbolicRow = self._tables[index][0]
        return all_of(row.exists, self._encoder.truth(candidate, row.values))

    def _is_lineage(self, index: int, row: int) -> Any:
        if (index, row) not in self._lineage:
            leads = [all_of(chosen, out.lineage[index][row]) for out, chosen in self._selected]
            exists = self._tables[index][row].exists
            self._lineage[index, row] = all_of(exists, any_of(*leads))
        return self._lineage[index, row]

    def _prove(self, goal: Any) -> Verdict:
        witness = [] if self._witness is None else [self._witness]
        return self._prover.prove(goal, [*self._encoder.assumptions, *witness])


def push(
    operator: Operator,
    above: Expr,
    context: Context,
    *,
    witnessed: bool,
    goal: str = LINEAGE,
) -> Pushed:
    """Move a predicate from an operator's output to its inputs.

    For each input, takes the first candidate that is proved complete and precise, else the last
    (most selective) candidate that is proved complete. No rows have no lineage: FALSE stays FALSE
    all the way down. With the goal `SUFFICIENT`, `precise` has no meaning.
    """
    count = len(context.inputs)
    if above == FALSE:
        return Pushed((FALSE,) * count, (True,) * count, (False,) * count, (False,) * count)
    rule = RULES[type(operator)]
    propose = rule.propose
    if goal == SUFFICIENT:
        propose = rule.propose_sufficient or propose
    proposals = propose(operator, above, context)
    if rule.is_general(operator) and _proved_in_general(type(operator), witnessed):
        below = tuple(candidates[0] for candidates in proposals)
        return Pushed(below, (True,) * count, (False,) * count, (witnessed,) * count)
    obligation = Obligation(operator, above, proposals, context, witnessed, goal)
    verdicts = _decided(simplified(obligation))
    if None in verdicts.chosen:
        return _complete_parts(obligation)
    return Pushed(
        below=tuple(
            candidates[chosen]
            for candidates, chosen in zip(proposals, verdicts.chosen, strict=True)
            if chosen is not None
        ),
        precise=verdicts.precise,
        undecided=verdicts.undecided,
        witnessed=verdicts.witnessed,
    )


def lift(
    operator: Operator,
    below: tuple[Expr, ...],
    context: Context,
    wanted: Callable[[Expr], bool] = lambda term: True,
) -> Expr:
    """A predicate that holds for the output rows whose lineage satisfies the predicates below.

    This is the paper's equation (1), asked of the lineage: nothing needs to hold for rows outside
    the target's lineage. The candidate is tried as a whole first; if it is not proved, the result
    has those of its comparisons that are proved. Only `wanted` terms are candidates.
    """
    proposed = RULES[type(operator)].lift(operator, below, context)
    terms = tuple(filter(wanted, conjuncts(proposed)))
    candidate = conjunction(*terms)
    if not terms:
        return TRUE
    proposals = tuple((predicate,) for predicate in below)
    with LOCK:
        question = SolverQuestion(
            Obligation(operator, candidate, proposals, context, witnessed=False)
        )
        if question.lifted(below, candidate) is Verdict.PROVED:
            return candidate
        return conjunction(
            *(term for term in terms if question.lifted(below, term) is Verdict.PROVED)
        )


class _Verdicts(msgspec.Struct, frozen=True):
    """For each input: the chosen candidate (None if none is complete), and the facts proved for
    it."""

    chosen: tuple[int | None, ...]
    precise: tuple[bool, ...]
    undecided: tuple[bool, ...]
    witnessed: tuple[bool, ...]


@functools.lru_cache(maxsize=10_000)
def _decided(obligation: Obligation) -> _Verdicts:
    """The solver's verdicts; obligations of the same shape are decided once per process.

    A verdict is a function of the obligation alone. The obligation has the operator, both sides of
    the question with all types, the reading of min and max, the witness and the goal. The rules are
    constant, and the solver's budget is counted in its own steps.
    """
    count = len(obligation.proposals)
    with LOCK:
        question = SolverQuestion(obligation)
        first = [candidates[0] for candidates in obligation.proposals]
        if question.settled(first):
            witnessed = (obligation.witnessed,) * count
            return _Verdicts((0,) * count, (True,) * count, (False,) * count, witnessed)
        nonempty = question.contributing()
        # If the contributions hold, exactness failed.
        if obligation.witnessed and not all(nonempty) and question.exact(first):
            return _Verdicts((0,) * count, (True,) * count, (False,) * count, nonempty)
        choices = [_choose(question, i, c) for i, c in enumerate(obligation.proposals)]
    chosen, precise, undecided = zip(*choices, strict=True)
    return _Verdicts(chosen, precise, undecided, nonempty)


def forget() -> None:
    """Forget all verdicts: the next pipeline then costs as much as the first of a process."""
    _proved_in_general.cache_clear()
    _decided.cache_clear()


def _choose(
    question: SolverQuestion, index: int, candidates: tuple[Expr, ...]
) -> tuple[int | None, bool, bool]:
    best: int | None = None
    undecided = False
    for number, candidate in enumerate(candidates):
        complete = question.complete(index, candidate)
        if complete is Verdict.PROVED:
            precise = question.precise(index, candidate)
            if precise is Verdict.PROVED:
                return number, True, False
            undecided |= precise is Verdict.UNKNOWN
            best = number
        undecided |= complete is Verdict.UNKNOWN
    return best, False, undecided


@functools.cache
def _proved_in_general(kind: type[Operator], witnessed: bool) -> bool:
    """Whether the rule's most general instances are proved, and with them every use of the rule."""
    rule = RULES[kind]
    if rule.general is None:
        return False
    verdicts = [
        _decided(
            Obligation(operator, above, rule.propose(operator, above, context), context, witnessed)
        )
        for operator, above, context in rule.general()
    ]
    return all(all(verdict.precise) and all(verdict.witnessed) == witnessed for verdict in verdicts)


def _complete_parts(obligation: Obligation) -> Pushed:
    """For candidates that are not complete: those of their conjuncts that are."""
    with LOCK:
        question = SolverQuestion(obligation)
        parts: list[Expr] = []
        for index, candidates in enumerate(obligation.proposals):
            number, _, _ = _choose(question, index, candidates)
            part = _complete_part(question, index, candidates[0])
            parts.append(part if number is None else candidates[number])
        precise = [question.precise(index, part) for index, part in enumerate(parts)]
        nonempty = question.contributing()
    return Pushed(
        below=tuple(parts),
        precise=tuple(verdict is Verdict.PROVED for verdict in precise),
        undecided=tuple(verdict is Verdict.UNKNOWN for verdict in precise),
        witnessed=nonempty,
    )


def _complete_part(question: SolverQuestion, index: int, candidate: Expr) -> Expr:
    """The conjuncts that are complete: a conjunction is complete if each conjunct is."""
    return conjunction(
        *(term for term in conjuncts(candidate) if question.complete(index, term) is Verdict.PROVED)
    )
