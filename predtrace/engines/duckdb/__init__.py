"""DuckDB: answers questions in this process if it evaluates them exactly as Spark does."""
