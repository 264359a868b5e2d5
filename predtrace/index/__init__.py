"""The row-id index of a job: output rows to source row numbers, and back.

A pushed-down predicate costs a scan of a columnar source, however few rows it selects; what
beats that is to know the row numbers. The index is built on demand, after the job, for all
output rows in one pass, and lies as one file beside the job's stored results:

    numbering   rows of a source's files as one range of numbers
    outputs     rows of the kept output: found by their values, grouped by some columns
    groups      which output rows share the answer of a scan
    file        the index as bytes: written whole, read in parts
    building    the pass that fills it
    lookup      lineage questions answered from it
    forward     which output rows a source row reaches

Smoke (Psallidas and Wu 2018) calls these row-id indexes, and building them late, for the scans
that will be asked about, pruning.
"""
