"""The row-id index of a job: output rows to source row numbers, and back.

A pushed-down predicate costs a scan of a columnar source, however few rows it selects. Known row
numbers avoid that scan. The index is built on demand, after the job, for all output rows in one
pass. It is one file beside the job's stored results:

    numbering   rows of a source's files as one range of numbers
    outputs     rows of the kept output: found by their values, grouped by some columns
    groups      which output rows share the answer of a scan
    file        the index as bytes: written whole, read in parts
    lookup      lineage questions answered from it

`maintenance.indexing` has the pass that builds it, `lineage.forward` the questions which output
rows a source row reaches.

Smoke (Psallidas and Wu 2018) introduced such row-id indexes. It calls building them late, only for
the scans that will be asked about, pruning.
"""
