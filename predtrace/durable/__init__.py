"""Files that are complete or absent: writers, their owners, checksums."""
