"""Row-level lineage for data pipelines by predicate pushdown."""
