"""Typed expressions, three-valued logic and their encoding for the SMT solver.

Knows nothing of operators, engines or files; see `docs/how-it-works.md`.
"""
