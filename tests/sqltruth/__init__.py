"""Lineage from the text of a query: a truth that shares nothing with the front end.

A random query is a small syntax tree (`syntax`), written by `writer` and rendered to SQL. An
eager evaluator (`tracer`) runs the tree itself on the rows of the tables, by section 2 of
docs/semantics.md, and carries the source rows behind every row along. Nothing here but
`checking` imports predtrace; nothing reads a plan.
"""
