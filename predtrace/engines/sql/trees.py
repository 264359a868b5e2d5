"""Builders of SQL trees that parse no text, unlike sqlglot's, which parse names and join kinds.

Questions are answered in milliseconds, and their queries have dozens of such parts.
"""

from __future__ import annotations

from sqlglot import exp

from predtrace.text.printable import printable


def table(name: str) -> exp.Table:
    """A table of this name, as it is (no quotes); `name` may have its schema before a dot."""
    schema, _, own = name.rpartition(".")
    return exp.Table(this=_identifier(own), db=_identifier(schema) if schema else None)


def column(name: str, table: str | None = None, *, quoted: bool = False) -> exp.Column:
    """A column, of a table or alias."""
    return exp.Column(
        this=_identifier(name, quoted), table=None if table is None else _identifier(table)
    )


def alias(value: exp.Expr, name: str, *, quoted: bool = False) -> exp.Alias:
    """The value under a name; `value` itself becomes part of it."""
    return exp.Alias(this=value, alias=_identifier(name, quoted))


def _identifier(name: str, quoted: bool = False) -> exp.Identifier:
    return exp.Identifier(this=name, quoted=quoted)


def select(*values: exp.Expr, source: exp.Expr) -> exp.Select:
    """SELECT values FROM source; the arguments become part of the new tree."""
    return exp.Select(expressions=list(values), from_=exp.From(this=source))


def joined(
    body: exp.Select, relation: exp.Expr, kind: str, condition: exp.Expr | None = None
) -> exp.Select:
    """The body with a join added to it: inner, cross, left, right, full, semi or anti."""
    word = {"side" if kind in ("left", "right", "full") else "kind": kind.upper()}
    body.append("joins", exp.Join(this=relation, on=condition, **word))
    return body


def readable(tree: exp.Expr, dialect: str) -> str:
    """SQL for people: texts and names in it show their control characters as escapes."""
    shown = tree.copy()
    for part in shown.find_all(exp.Literal, exp.Identifier):
        part.set("this", printable(part.name))
    return shown.sql(dialect, pretty=True)
