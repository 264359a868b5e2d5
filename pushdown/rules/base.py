"""The rules of operators: proposals for predicates below, and the meaning that judges them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any

import msgspec

from pushdown.operators.base import OperatorBase
from pushdown.readings import MINIMAL
from symbolic.encode import Encoder, Value
from symbolic.expr import Column, Expr
from symbolic.table import SymbolicRow

Tables = Sequence[tuple[SymbolicRow, ...]]


class Context(msgspec.Struct, frozen=True):
    """The context of an operator: its inputs' columns, and the reading of min and max."""

    inputs: tuple[tuple[Column, ...], ...]
    aggregates: str = MINIMAL


class OutputRow(msgspec.Struct, frozen=True):
    """A symbolic output row.

    `lineage[i][j]` is a Z3 Bool: row j of input i is lineage of this row, by SEMANTICS
    section 2, where both rows exist.
    """

    exists: Any
    values: Mapping[int, Value]
    lineage: tuple[tuple[Any, ...], ...]


Proposals = tuple[tuple[Expr, ...], ...]
Meaning = Callable[[Any, Tables, Encoder, Context], list[OutputRow]]


class Proof(Enum):
    """What an operator's rule reads of its input; this decides how obligations are simplified."""

    GENERAL = "one proof, of arbitrary expressions, holds for all"
    CONDITION = "what the condition reads"
    KEYS = "the keys of groups"
    ROWS = "whether whole rows are equal"
    ORDER = "the order of rows, and whether whole rows are equal"


class Rule(msgspec.Struct, frozen=True):
    """The rule by which predicates move through one operator class.

    `propose(operator, above, context)` gives, for each input, candidate predicates for the
    predicate above, simplest first. They are proposals: the solver decides.
    `meaning(operator, tables, encoder, context)` gives the operator's output rows on bounded
    symbolic tables of `bounds[i]` rows each, with their lineage; `docs/soundness.md` argues per
    operator why these bounds are enough. `lineage` is the operator's line of the table in SEMANTICS
    section 2, for people. `proof` says what the rule reads (`pushdown.simplification`). `general`
    gives operators, each with a predicate above and a context, made of arbitrary (uninterpreted)
    expressions. Every use of the rule with an operator that `is_general` is an instance of one of
    them, so the solver proves these once (`docs/soundness.md`).

    The other members are for sources without stored results (SEMANTICS section 4). `influence` is
    like `meaning`, for sufficient predicates. It gives every output row that the operator could
    give for some part of its input; values that depend on the rest of the input are arbitrary. The
    lineage of such a row is all input rows that affect whether the row exists, or its values.
    Without `influence`, `meaning` has that property. `propose_sufficient` proposes the predicates
    below for that; without it, `propose` does. `lift(operator, below, context)` proposes a
    predicate that every output row satisfies whose lineage satisfies `below` (one predicate per
    input): the paper's pushup, its Section 6.1. Its conjuncts are verified, and dropped, one by
    one.
    """

    propose: Callable[[Any, Expr, Context], Proposals]
    meaning: Meaning
    bounds: tuple[int, ...]
    lineage: str
    lift: Callable[[Any, tuple[Expr, ...], Context], Expr]
    proof: Proof
    influence: Meaning | None = None
    propose_sufficient: Callable[[Any, Expr, Context], Proposals] | None = None
    general: Callable[[], Iterable[tuple[Any, Expr, Context]]] | None = None
    is_general: Callable[[Any], bool] = lambda operator: True


RuleTable = Mapping[type[OperatorBase], Rule]
