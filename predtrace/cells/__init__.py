"""Cells behind cells: the cells of source arrays that an array of an output row was made of.

It refines the rows that `predtrace.lineage.answer` gives, for a column of one output row:

1. `derivations`: the ways of its value from scans to the output, through operators that pass
   rows on one by one. Beyond an aggregate, all cells of the arrays that go into it count.
2. `witnesses`: the relation between cells depends on lengths, positions and order. The engine
   computes them when it computes the row again from its source rows.
3. `functions`: a table says how the cells of each function's result depend on the cells of its
   arguments, as lineage tables of `predtrace.arrays`.
4. `tracing`: the cells asked for go backward through these tables, up to the sources.
"""
