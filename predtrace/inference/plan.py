"""The lineage plan: what inference finds out about a pipeline, engine-free and serialisable.

**Bindings.** Binding 0 is the target: its rows bind `Param(0, column)` for the columns
of the pipeline's output. Binding i > 0 is stored intermediate i. A question runs from
binding 0 downwards: the rows of intermediate i that some row of its parent binding
selects (by `predicate`) become the bound rows of binding i, restricted to `columns`.
A scan's lineage is the source rows that some bound row of the scan's binding selects.
"""

from __future__ import annotations

import msgspec

from symbolic.expr import Column, Expr

PRECISE = "precise"
SUPERSET = "superset"


class Intermediate(msgspec.Struct, frozen=True, kw_only=True):
    """A result to be stored: the output of operator `node`, projected to `columns`.

    `predicate` looks its rows up: over `columns`, with params of binding `parent`.
    `why` says which operator below needs it. `estimated_bytes` is the guess that the
    choice among alternatives went by. `inline` ones must be stored while the pipeline
    runs, since another run need not repeat them (a limit, a sum of floats).
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


class ScanLineage(msgspec.Struct, frozen=True, kw_only=True):
    """How to select the lineage rows of scan `node`: `predicate`, with params of `binding`.

    `label` is `precise` or `superset`; `reason` names the operator that lost precision.
    """

    node: int
    predicate: Expr
    binding: int
    label: str = PRECISE
    reason: str = ""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What happened at one operator, for `explain`: the predicate above, those below, the verdict.

    `below` has one predicate per input; `verdict` is one of ``exact``, ``superset``;
    `stored` is the binding of the intermediate kept at this operator's output, if any
    (then `above` is its row-selection predicate).
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
