"""Every operator is known wherever operators are known, or there is a reason why not.

What an operator says of itself is abstract on the base: a class without it cannot be made. What
engines, front ends and tests know of it stands in a registry at each place; a new operator is
missing there until somebody enters it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, get_args

import pytest

import pushdown.operators as operators
from predtrace.cells.derivations import MADE_OF_SEVERAL, PASSED_ON
from predtrace.engines.sql.relational import BUILDERS
from predtrace.frontends.spark.operators import BECOMES, NON_DETERMINISTIC, TRANSLATORS
from predtrace.frontends.spark.operators import UNSUPPORTED as REFUSED
from predtrace.report.operators import LABELS
from pushdown.operators import Operator, OperatorBase
from pushdown.operators.base import OneInput
from pushdown.rules import LEAVES, RULES, UNSUPPORTED
from tests.frontends.spark.shapes import kinds_in
from tests.frontends.spark.test_operators import SHAPES
from tests.reference.interpreter import EVALUATORS
from tests.strategies.graphs import DRAWN
from tpch.bench.panda.transformations import REACHED
from tpch.bench.panda.transformations import REFUSED as NOT_REACHED
from tpch.bench.perm import RULES as CARRIED

KINDS: tuple[type[OperatorBase], ...] = get_args(Operator)


def translated() -> set[type[OperatorBase]]:
    """The operators that plan nodes of Spark become, by the names in the coverage page."""
    names = {name for becomes in BECOMES.values() for name in becomes.replace(",", " ").split()}
    return {kind for kind in KINDS if kind.__name__.rstrip("_") in names}


REGISTRIES: dict[str, Collection[type[OperatorBase]]] = {
    "pushdown/operators/__init__.py: Operator": KINDS,
    "pushdown/rules: RULES, LEAVES or UNSUPPORTED": {*RULES, *LEAVES, *UNSUPPORTED},
    "predtrace/engines/sql/relational.py: BUILDERS": BUILDERS,
    "predtrace/frontends/spark: translates(…, to=…)": translated(),
    "predtrace/report/operators.py: LABELS": LABELS,
    "predtrace/cells/derivations.py: _WAYS or MADE_OF_SEVERAL": {*PASSED_ON, *MADE_OF_SEVERAL},
    "tests/frontends/spark/test_operators.py: SHAPES": kinds_in(SHAPES.values()),
    "tests/reference/interpreter.py: EVALUATORS": EVALUATORS,
    "tests/strategies/graphs.py: _KINDS": DRAWN,
    "tpch/bench/perm.py: RULES": CARRIED,
    "tpch/bench/panda/transformations.py: _FLATTENED or REFUSED": {*REACHED, *NOT_REACHED},
}
"""Place to the operators that it knows."""
WITHOUT: dict[tuple[str, type[OperatorBase]], str] = {
    ("predtrace/frontends/spark: translates(…, to=…)", operators.ScalarSubquery): (
        "it is no plan node in Spark, but an expression: translation.py makes it"
    ),
    ("tpch/bench/perm.py: RULES", operators.OpaqueColumns): (
        "the rewriting computes what forgets its rows twice, and only the run has these values"
    ),
    ("tests/frontends/spark/test_operators.py: SHAPES", operators.DropDuplicates): (
        "no text of SQL makes it: a test there makes it by a DataFrame"
    ),
    ("tpch/bench/perm.py: RULES", operators.Opaque): (
        "nobody rewrites the program, and of its rows nothing but all rows is ever said"
    ),
    ("tpch/bench/perm.py: RULES", operators.Sample): (
        "the rewriting computes what forgets its rows twice, and a sample draws anew"
    ),
    ("tpch/bench/perm.py: RULES", operators.Window): (
        "the baseline is measured on TPC-H, which has no windows"
    ),
}
"""Places where an operator need not be known, with the reason."""


def missing(kind: type[OperatorBase]) -> list[str]:
    """The places that do not know an operator."""
    places = (place for place, known in REGISTRIES.items() if kind not in known)
    return [place for place in places if (place, kind) not in WITHOUT]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_operator_is_known_everywhere(kind: type[OperatorBase]) -> None:
    places = "".join(f"\n  {place}" for place in missing(kind))
    assert not places, (
        f"{kind.__name__} is not known in{places}\n"
        "enter it there, or in WITHOUT of tests/test_families.py with the reason why not"
    )
    assert getattr(operators, kind.__name__) is kind


def concrete(kind: type[OperatorBase]) -> set[type[OperatorBase]]:
    """The classes of operators under a base, those of tests left out."""
    below = {one for child in kind.__subclasses__() for one in concrete(child)}
    made: Any = kind
    own = kind.__module__.startswith("pushdown.operators.") and not made.__abstractmethods__
    return below | ({kind} if own else set())


def test_every_class_of_an_operator_is_entered() -> None:
    assert concrete(OperatorBase) == set(KINDS)


def test_no_operator_is_in_two_tables_of_rules() -> None:
    assert len(RULES) + len(LEAVES) + len(UNSUPPORTED) == len(KINDS)


def test_reasons_are_of_places_that_there_are() -> None:
    for place, kind in WITHOUT:
        assert kind not in REGISTRIES[place]


def test_no_plan_node_is_both_translated_and_refused() -> None:
    assert not BECOMES.keys() & (REFUSED.keys() | NON_DETERMINISTIC.keys())
    assert TRANSLATORS.keys() <= BECOMES.keys()


TRAITS = {
    "compared", "equalities", "estimate", "expressions", "inputs", "keeps_apart", "keeps_order",
    "made_of", "needs", "output", "padded", "pins", "pruned", "repeats", "with_inputs",
}  # fmt: skip


def test_an_operator_that_says_nothing_of_itself_cannot_be_made() -> None:
    class Toy(OperatorBase, frozen=True, tag=True, kw_only=True):
        """Nothing is known of it."""

    made: Any = Toy
    assert made.__abstractmethods__ == TRAITS
    with pytest.raises(TypeError, match="abstract"):
        made(id=0)


def test_a_new_operator_is_missed_everywhere() -> None:
    class Toy(OneInput, frozen=True, tag=True, kw_only=True):
        """Its inputs are all that is known of it."""

    made: Any = Toy
    assert made.__abstractmethods__ == TRAITS - {"inputs", "with_inputs"}
    assert missing(made) == list(REGISTRIES)
