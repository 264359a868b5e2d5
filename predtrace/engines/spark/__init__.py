"""Spark: questions in a session of their own, under the job's settings."""
