"""Text to be shown: escaped, laid out, counted."""
