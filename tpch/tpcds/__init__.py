"""TPC-DS as a test of lineage: data and texts from DuckDB's extension, and the check."""
