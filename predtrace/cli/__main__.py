"""``python -m predtrace.cli``: the `predtrace` command if it is not on the path."""

from predtrace.cli import main

main()
