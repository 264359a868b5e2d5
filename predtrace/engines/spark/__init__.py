"""Spark: answers questions in a new session, under the job's settings."""
