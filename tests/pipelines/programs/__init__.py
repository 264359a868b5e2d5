"""The pipelines by theme: each has a program for Spark and its truth in plain Python."""
