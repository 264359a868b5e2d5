"""DuckDB: questions in this process, where it evaluates exactly as Spark does."""
