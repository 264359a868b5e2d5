"""The two readings of min and max (SEMANTICS section 2): attaining rows, or whole groups."""

MINIMAL = "minimal"
WHOLE = "whole"
