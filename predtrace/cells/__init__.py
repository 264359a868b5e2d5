"""Cells behind cells: which cells of source arrays an array of an output row was made of.

Below the rows that `predtrace.lineage.answer` gives, for a column of one output row:

1. `derivations`: the ways its value takes from scans to the output, as long as operators pass
   rows on one by one. Beyond an aggregate, all cells of the arrays that go into it count.
2. `witnesses`: what the relation between cells depends on (lengths, positions, order) is asked
   of the engine, which computes the row again from its source rows.
3. `functions`: a table says how the cells of each function's result depend on those of its
   arguments, as the lineage tables of `predtrace.arrays`.
4. `tracing`: the cells asked for go backward through these tables, up to the sources.
"""
