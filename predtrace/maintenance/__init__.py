"""What is done to a job's stored results: committing, backfill, compaction, indexing."""
