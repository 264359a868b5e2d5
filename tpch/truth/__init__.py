"""Lineage from the text of a query: its rows computed one by one, with the rows behind each.

Every rule of section 2 of docs/semantics.md is carried out as it is worded there, on Python's
values. sqlglot parses the text. Neither Spark nor any module of predtrace takes part, so that this
truth shares nothing with the answers that are compared with it.
"""

from tpch.truth.origins import Places
from tpch.truth.reading import Tables, Truth, read_truth

__all__ = ["Places", "Tables", "Truth", "read_truth"]
