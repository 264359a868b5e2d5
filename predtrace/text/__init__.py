"""Text for people: escaped, laid out, counted."""
