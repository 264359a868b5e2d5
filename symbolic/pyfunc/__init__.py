"""Python functions as people write them, read from their source; nothing of them is run."""
