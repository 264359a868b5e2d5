"""Functions that users wrote in Python: known by the bytes that the pipeline's plan has of them.

The bytes are compared and hashed, and never loaded. Whoever evaluates the function needs the
function itself.
"""

from __future__ import annotations

from typing import ClassVar

from symbolic.functions.base import Encoding, Function, Nulls, Semantics, Zeros
from symbolic.functions.described import Described

KEY = "python"
"""Under this key the tables of engines say what becomes of Python functions."""


class PythonFunction(Described, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A function of a user; `digest` is the SHA-256 of its bytes in the plan, in hexadecimal.

    `kind` is how the engine calls it (PySpark's number of the evaluation type), `returns` its
    result type as Spark's JSON. `arguments` has a name for each argument, empty for those given by
    position. `kept` names the table of the function's results that a run made; empty if there is
    none.
    """

    KEY: ClassVar[str] = KEY
    ROW: ClassVar[Function] = Function(
        KEY,
        None,
        Nulls.OWN,
        "a function that the user wrote in Python",
        Zeros.APART,
        Semantics.PYTHON,
        Encoding.UNINTERPRETED,
    )

    digest: str
    kind: int
    returns: str
    arguments: tuple[str, ...]
    kept: str = ""


def python_function(function: str) -> PythonFunction | None:
    """The Python function with this id; None for the id of another function.

    Raises ValueError for an id of neither kind.
    """
    return PythonFunction.read(function)
