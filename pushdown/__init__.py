"""Operators, the operator graph, and the rules that move predicates through it.

Knows expressions and the solver (`symbolic`), not Spark, engines or jobs.
"""
