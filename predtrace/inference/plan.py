"""The lineage plan: the result of inference for a pipeline, engine-free and serialisable.

**Bindings.** Binding 0 is the target: its rows bind `Param(0, column)` for the columns
of the pipeline's output. Binding i > 0 is stored intermediate i. A question runs from
binding 0 downwards: the rows of intermediate i that some row of its parent binding
selects (by `predicate`) become the bound rows of binding i, restricted to `columns`.
A scan's lineage is the source rows that some bound row of the scan's binding selects.

What several operators read is asked for by each of them, perhaps for rows of different
bindings: then there are several selections, and what counts is their union.
"""

from __future__ import annotations

import msgspec

from predtrace.vocabulary import PRECISE
from symbolic.expr import TRUE, Column, Expr


class Selection(msgspec.Struct, frozen=True):
    """The rows that some bound row of `binding` selects by `predicate`."""

    predicate: Expr
    binding: int


class Intermediate(msgspec.Struct, frozen=True, kw_only=True):
    """A result to be stored: the output of operator `node`, projected to `columns`.

    `predicate` looks its rows up: over `columns`, with params of binding `parent`. The rows of the
    selections `also` are looked up, too. `why` says which operator below needs it.
    `estimated_bytes` is the estimate by which it was chosen among alternatives. An `inline` result
    must be stored while the pipeline runs, since another run may not repeat it (a limit, a sum of
    floats).
    """

    binding: int
    node: int
    columns: tuple[Column, ...]
    predicate: Expr
    parent: int
    why: str
    inline: bool = False
    estimated_rows: float | None = None
    estimated_bytes: float | None = None
    also: tuple[Selection, ...] = ()

    @property
    def selections(self) -> tuple[Selection, ...]:
        """All selections of its rows."""
        return (Selection(self.predicate, self.parent), *self.also)


class ScanLineage(msgspec.Struct, frozen=True, kw_only=True):
    """The selection of the lineage rows of scan `node`: `predicate`, with params of `binding`.

    The rows that the selections `also` give belong to it, too.
    `label` is `precise` or `superset`; `reason` names the operator that lost precision.
    `contributes` says that every output row is proved to have a lineage row here.
    """

    node: int
    predicate: Expr
    binding: int
    label: str = PRECISE
    reason: str = ""
    contributes: bool = False
    also: tuple[Selection, ...] = ()

    @property
    def selections(self) -> tuple[Selection, ...]:
        """All selections of its rows."""
        return (Selection(self.predicate, self.binding), *self.also)


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """The inference step at one operator, for `explain`: predicates above and below, and the
    verdict.

    `below` has one predicate per input; `verdict` is one of ``exact``, ``superset``;
    `stored` is the binding of the intermediate kept at this operator's output, if any
    (then `above` is its row-selection predicate). An operator that is asked by several
    predicates has a step for each.
    """

    node: int
    above: Expr
    below: tuple[Expr, ...]
    verdict: str
    reason: str
    stored: int | None = None


class LineagePlan(msgspec.Struct, frozen=True, kw_only=True):
    """The plan for one reading of min and max (`aggregates`: ``minimal`` or ``whole``)."""

    aggregates: str
    scans: tuple[ScanLineage, ...]
    intermediates: tuple[Intermediate, ...]
    steps: tuple[Step, ...]


class Membership(msgspec.Struct, frozen=True):
    """The tuple of `args` is among the tuples of `columns` (ids) in the value set of `node`.

    Only tuples count for which `condition` is true, which reads columns of the set and of the own
    row.
    """

    node: int
    columns: tuple[int, ...]
    args: tuple[Column, ...]
    condition: Expr = TRUE


class Restriction(msgspec.Struct, frozen=True):
    """The rows of scan `node` that a replay needs; its params are the lookup's.

    Rows that satisfy `predicate` are enough if their `memberships` hold, too.
    """

    node: int
    predicate: Expr
    memberships: tuple[Membership, ...] = ()


class Replay(msgspec.Struct, frozen=True):
    """The replay that computes intermediate `binding` again: the restrictions of its scans.

    `sets` are the value sets that memberships name, in the order in which to compute them. The
    scans `selective` are expected to keep few rows.
    """

    binding: int
    restrictions: tuple[Restriction, ...]
    sets: tuple[ValueSet, ...] = ()
    selective: tuple[int, ...] = ()


class ValueSet(msgspec.Struct, frozen=True, kw_only=True):
    """The value set of a scan, or of a GROUP BY: tuples of `columns` of `node`'s output.

    Only rows count that satisfy `predicate` (with params of the target) and whose `memberships`
    hold. A GROUP BY is computed from scans restricted by `restrictions`.
    """

    node: int
    columns: tuple[Column, ...]
    predicate: Expr
    memberships: tuple[Membership, ...]
    restrictions: tuple[Restriction, ...] = ()


class RefinedPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A plan of refinement: the value sets in the order of the first pass, and the scans' labels.

    Later passes alternate the direction. If the joins are `acyclic`, nothing changes after two
    passes. Otherwise passes continue until nothing changes, or up to a bound.
    """

    aggregates: str
    sets: tuple[ValueSet, ...]
    scans: tuple[ScanLineage, ...]
    acyclic: bool
