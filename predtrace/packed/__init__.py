"""Compressed sets and lists of integers, shared by row-id indexes and arrays."""
