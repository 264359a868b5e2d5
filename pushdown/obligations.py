"""Proof obligations: questions to the solver about one operator and the predicates around it."""

from __future__ import annotations

import msgspec

from pushdown.operators import Operator
from pushdown.rules.base import Context, Proposals
from symbolic.expr import Expr

LINEAGE = "lineage"
"""Predicates below that select the lineage of the rows above (SEMANTICS section 2)."""
SUFFICIENT = "sufficient"
"""Predicates below whose rows give the rows above again (SEMANTICS section 4)."""


class Obligation(msgspec.Struct, frozen=True):
    """A proof obligation: the operator, the predicate above, the candidates below.

    `goal` is `LINEAGE` or `SUFFICIENT`.
    """

    operator: Operator
    above: Expr
    proposals: Proposals
    context: Context
    witnessed: bool
    goal: str = LINEAGE
