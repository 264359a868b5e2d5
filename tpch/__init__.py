"""TPC-H as a test of lineage: data, the 22 queries, an independent oracle, the check."""
