"""Maintenance of a job's stored results: commit, backfill, compaction, indexing."""
