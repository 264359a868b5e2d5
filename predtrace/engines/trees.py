"""Pieces of SQL trees made without text: sqlglot's builders parse names and kinds of joins.

Questions are answered in milliseconds, and a question's queries have dozens of these.
"""

from __future__ import annotations

from sqlglot import exp


def table(name: str) -> exp.Table:
    """A table of this name, as it is (no schema, no quotes)."""
    return exp.Table(this=exp.Identifier(this=name, quoted=False))


def joined(
    body: exp.Select, relation: exp.Expr, kind: str, condition: exp.Expr | None = None
) -> exp.Select:
    """The body with a join added to it: inner, cross, left, right, full, semi or anti."""
    word = {"side" if kind in ("left", "right", "full") else "kind": kind.upper()}
    body.append("joins", exp.Join(this=relation, on=condition, **word))
    return body
