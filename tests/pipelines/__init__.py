"""Batch pipelines as users of PySpark write them, each against a truth of its own."""
