"""``python -m predtrace.cli``: the `predtrace` command where that is not on the path."""

from predtrace.cli import main

main()
