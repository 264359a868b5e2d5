"""Z3's connectives with constants folded away, built without Z3's argument coercion.

Most NULL flags and lineage conditions are constant; folding them keeps formulas small,
and building terms is most of the cost of a proof.
"""

from __future__ import annotations

from typing import Any

import z3

ALWAYS = z3.BoolVal(True)
NEVER = z3.BoolVal(False)
_CONTEXT = z3.main_ctx()


def all_of(*terms: Any) -> Any:
    """AND of Z3 Bools."""
    kept = []
    for term in terms:
        if term is NEVER:
            return NEVER
        if term is not ALWAYS:
            kept.append(term)
    return _joined(kept, z3.Z3_mk_and, ALWAYS)


def any_of(*terms: Any) -> Any:
    """OR of Z3 Bools."""
    kept = []
    for term in terms:
        if term is ALWAYS:
            return ALWAYS
        if term is not NEVER:
            kept.append(term)
    return _joined(kept, z3.Z3_mk_or, NEVER)


def negate(term: Any) -> Any:
    """NOT of a Z3 Bool."""
    if term is ALWAYS:
        return NEVER
    if term is NEVER:
        return ALWAYS
    return z3.BoolRef(z3.Z3_mk_not(_CONTEXT.ref(), term.as_ast()), _CONTEXT)


def implies(premise: Any, conclusion: Any) -> Any:
    """A Z3 Bool implies another."""
    return any_of(negate(premise), conclusion)


def same_term(left: Any, right: Any) -> Any:
    """Equality of two Z3 terms of one sort."""
    if left is right:
        return ALWAYS
    return z3.BoolRef(z3.Z3_mk_eq(_CONTEXT.ref(), left.as_ast(), right.as_ast()), _CONTEXT)


def choose(condition: Any, then: Any, otherwise: Any) -> Any:
    """The Z3 term `then` where the Bool `condition` holds, else `otherwise`, of the same sort."""
    if condition is ALWAYS or then is otherwise:
        return then
    if condition is NEVER:
        return otherwise
    if then is ALWAYS:
        return any_of(condition, otherwise)
    if otherwise is NEVER:
        return all_of(condition, then)
    if then is NEVER:
        return all_of(negate(condition), otherwise)
    if otherwise is ALWAYS:
        return any_of(negate(condition), then)
    terms = (term.as_ast() for term in (condition, then, otherwise))
    return type(then)(z3.Z3_mk_ite(_CONTEXT.ref(), *terms), _CONTEXT)


def same_sort(*terms: Any) -> bool:
    """Whether Z3 terms are all of one sort."""
    # Z3 has one object per name of a sort, so addresses distinguish sorts.
    context = _CONTEXT.ref()
    return len({z3.Z3_get_sort(context, term.as_ast()).value for term in terms}) < 2


def _joined(terms: list[Any], make: Any, empty: Any) -> Any:
    if len(terms) < 2:
        return terms[0] if terms else empty
    array = (z3.Ast * len(terms))(*(term.as_ast() for term in terms))
    return z3.BoolRef(make(_CONTEXT.ref(), len(terms), array), _CONTEXT)
