"""Every function and cast on edge values: lineage questions against Spark with row ids."""
