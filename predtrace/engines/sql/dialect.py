"""The facts about an engine's SQL that queries over whole plans need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec
from sqlglot import exp

from predtrace.engines.sql.literals import cast_to
from predtrace.errors import EngineError
from pushdown.operators import AggregateCall
from symbolic.functions import Semantics, key_of, shown

if TYPE_CHECKING:
    from predtrace.engines.sql.aggregates import AggregateSpelling, WindowSpelling
    from predtrace.engines.sql.compiler import Compiler, Spelling


class Dialect(msgspec.Struct, frozen=True, kw_only=True):
    """An engine's SQL: `name` is sqlglot's name for it; then come functions, aggregates, and the
    functions that only windows have.

    `semantics` are the semantics whose functions the engine evaluates. `exists_as_value` says
    whether EXISTS may stand among the selected values, `materializes` whether a CTE can be
    computed once, however often it is read, `lateral_views` whether the elements of an array are
    read by LATERAL VIEW, or joined by UNNEST.
    """

    name: str
    semantics: frozenset[Semantics]
    functions: Mapping[str, Spelling]
    aggregates: Mapping[str, AggregateSpelling]
    windows: Mapping[str, WindowSpelling]
    exists_as_value: bool
    materializes: bool
    lateral_views: bool

    def elements(self, array: exp.Expr) -> exp.Expr:
        """A relation, still without a name, of the elements of an array."""
        if self.lateral_views:
            return exp.Explode(this=array)
        return exp.Unnest(expressions=[array])

    def aggregate(self, call: AggregateCall, compile: Compiler) -> exp.Expr:
        """The aggregate in SQL, of the type that the call states.

        Raises EngineError for an aggregate without a spelling.
        """
        spelling = self.aggregates.get(key_of(call.function))
        if spelling is None:
            raise EngineError(f"the {self.name} engine cannot compute {shown(call.function)}")
        keep = None if call.filter is None else compile(call.filter)
        return cast_to(
            spelling(call, [compile(arg) for arg in call.args], keep), call.type, self.name
        )
