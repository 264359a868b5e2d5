"""The error for expressions that are no expressions of ours, though the run has their values."""

from predtrace.errors import UnsupportedOperatorError


class OpaqueExpressionError(UnsupportedOperatorError):
    """An expression that cannot be read. What holds it may be traced all the same."""
