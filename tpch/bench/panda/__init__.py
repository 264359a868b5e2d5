"""Panda: provenance by attribute mappings and filters (Ikeda, Das Sarma and Widom 2013).

A query is a tree of transformations: blocks of selection, projection and join, and groups
above them (`transformations`). Each is specified, input by input, by a filter on the input's
rows and by attributes of the input that must agree with attributes of the output; where the
output has not the attributes that it takes, the output is stored with them (augmented). Tracing
(`tracing`) goes from transformation to transformation, with joins on mapped attributes alone.
What such specifications do not tell is refused: subqueries, outer joins, sets, limits
below other operators.
"""
