"""Rules of windows: predicates on partition keys and sort keys (SEMANTICS section 2.1)."""

from __future__ import annotations

from pushdown.operators.windows import Window
from pushdown.rewrite import restrict
from pushdown.rules.around import drawn_on, draws_on_own, reached, reaches_own
from pushdown.rules.base import Context, Proof, Proposals, Rule, RuleTable
from pushdown.rules.ordered import reachable, windowed
from pushdown.rules.rows import lift_unchanged
from symbolic.expr import FALSE, Expr, conjunction, conjuncts, disjunction


def through_window(operator: Window, above: Expr, context: Context) -> Proposals:
    """The own rows, and the rows that the functions draw on; or the own rows alone."""
    drawing = [each for each in operator.functions if not each.silent]
    drawn = [drawn_on(each, above, context) for each in drawing]
    own = restrict(above, context.inputs[0])
    if any(draws_on_own(each, context) for each in drawing):
        return ((_factored(*drawn),),)
    both = _factored(own, *drawn)
    return ((both,) if both == own else (both, own),)


def _factored(*predicates: Expr) -> Expr:
    """Some of the predicates holds; the terms that they have in common stand once."""
    found = [conjuncts(each) for each in dict.fromkeys(predicates) if each != FALSE]
    common = [term for term in found[0] if all(term in terms for terms in found)] if found else []
    rest = (conjunction(*(t for t in terms if t not in common)) for terms in found)
    return conjunction(*common, disjunction(*rest))


def sufficient_around(operator: Window, above: Expr, context: Context) -> Proposals:
    """The own rows, and the rows that the functions' values depend on."""
    reaching = [reached(each, above) for each in operator.functions]
    if not any(map(reaches_own, operator.functions)):
        reaching.append(restrict(above, context.inputs[0]))
    return ((_factored(*reaching),),)


RULES: RuleTable = {
    Window: Rule(
        through_window,
        windowed,
        (2,),
        "the rows equal to it; for each function the rows of the partition that it draws on",
        lift_unchanged,
        Proof.ORDER,
        influence=reachable,
        propose_sufficient=sufficient_around,
    )
}
