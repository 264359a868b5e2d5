"""The calls of the user's Python functions in a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from predtrace.frontends.spark.tree import Node
from symbolic.expr import Call, Column
from symbolic.functions import PythonFunction


@dataclass(frozen=True, eq=False)
class PythonCall:
    """A call that was read over the columns of the operators `below`.

    `replaced` has the column that stands for a part of it.
    """

    function: PythonFunction
    node: Node
    call: Call
    below: tuple[int, ...]
    replaced: Mapping[Node, Column]
