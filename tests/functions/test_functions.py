"""A sample of the calls of every function on edge values; `python -m tests.functions` asks all."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from symbolic.functions import FUNCTIONS, Semantics
from tests.functions.cases import CLASSES, TEMPLATES, UNREACHED, Case, cases, casts
from tests.functions.question import ask, judged
from tests.functions.run import Edges
from tests.functions.truth import Group, prepared
from tests.functions.values import EDGES, ROWS, TYPES

if TYPE_CHECKING:
    pass

_SAMPLE = 24
_TYPES = 1
_KNOWN = ("exact", "refused", "not accepted by Spark", "not traced", "other function")
MENDED = (
    Case("date_add", "date_add(day_a, i32_b)"),
    Case("date_sub", "date_sub(day_a, i32_b)"),
)
"""Calls that were answered wrongly once."""


def test_every_function_is_asked_for() -> None:
    assert not TEMPLATES.keys() & UNREACHED.keys()
    # Python's functions are compared with Python's own in tests/symbolic/pyfunc.
    ours = {name for name, row in FUNCTIONS.items() if row.semantics is Semantics.SPARK}
    assert TEMPLATES.keys() | UNREACHED.keys() == ours
    empty = {name for name, text in TEMPLATES.items() if not text}
    assert empty == {"cast"}


def test_every_kind_of_value_is_asked_for() -> None:
    assert EDGES.keys() == TYPES.keys()
    assert set(" ".join(CLASSES.values()).split()) <= TYPES.keys()
    for kind, values in EDGES.items():
        assert len(values) ** 2 <= ROWS, kind
        assert len([case for case in cases() if f"{kind}_a" in case.text]) > len(TYPES), kind
    assert len(list(casts())) > len(TYPES) ** 2


@pytest.mark.parametrize("ansi", [True, False])
def test_a_sample_is_answered_exactly(edges: Edges, ansi: bool) -> None:
    """Calls of the result type that the sample has most of, so that one job does."""
    chosen = random.Random(f"{ansi}").sample(cases(), _SAMPLE)
    verdicts: Counter[tuple[str, str]] = Counter()
    for case, engine, outcome in edges.outcomes(chosen, ansi, most=_TYPES):
        verdicts[engine, outcome.verdict] += 1
        assert outcome.verdict in _KNOWN, (case, ansi, engine, outcome)
    assert verdicts["spark", "exact"] > 1


@pytest.mark.parametrize("ansi", [True, False])
def test_what_was_wrong_is_exact_or_not_asked_of_duckdb(edges: Edges, ansi: bool) -> None:
    found = list(edges.outcomes(list(MENDED), ansi, ("duckdb",)))
    assert {case for case, _, _ in found} == set(MENDED)
    for case, engine, outcome in found:
        assert (engine, outcome.verdict) in (("duckdb", "exact"), ("duckdb", "refused")), case


def test_what_is_wrong_is_seen(edges: Edges, tmp_path: Path) -> None:
    """The comparison itself: a truth that has another row in the place of one fails."""
    spark = edges.session(ansi=False)
    (case,) = prepared(spark, ["i8_a <=> i8_b"])
    group, *others = case.groups
    swapped = group._replace(ids=frozenset([ROWS, *sorted(group.ids)[1:]]))
    wrong = case._replace(groups=(swapped, *others))
    found = ask(spark, [wrong], tmp_path, ("duckdb",))
    assert [outcome.verdict for outcome in found["duckdb"]] == ["missing"]


@pytest.mark.parametrize(
    ("rows", "label", "verdict"),
    [
        ({1, 2}, "precise", "exact"),
        ({1, 2, 3}, "precise", "extra"),
        ({1, 2, 3}, "superset", "superset"),
        ({1}, "precise", "missing"),
        ({1, 3}, "superset", "missing"),
    ],
)
def test_verdicts(rows: set[int], label: str, verdict: str) -> None:
    (outcome,) = judged([rows], [(0, Group("x", frozenset({1, 2})))], label, 1)
    assert outcome.verdict == verdict
