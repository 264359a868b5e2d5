"""The command line."""

from predtrace.cli.app import main

__all__ = ["main"]
