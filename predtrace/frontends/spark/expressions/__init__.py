"""Catalyst expressions as expressions of the IR.

`functions_table.SCALAR` covers plain functions. The modules here have readers for classes that are
more than a function of their children; `reader` walks an expression.
"""

from predtrace.frontends.spark.expressions import (
    common_parts,
    conditions,
    nested,
    python_functions,
    values,
)
from predtrace.frontends.spark.expressions.common_parts import refers_outside
from predtrace.frontends.spark.expressions.reader import ExpressionReader
from predtrace.frontends.spark.expressions.refusals import refusal
from predtrace.frontends.spark.expressions.registry import READERS, READS, Reads

__all__ = [
    "READERS",
    "READS",
    "ExpressionReader",
    "Reads",
    "common_parts",
    "conditions",
    "nested",
    "python_functions",
    "refers_outside",
    "refusal",
    "values",
]
