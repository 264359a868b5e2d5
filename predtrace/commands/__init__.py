"""What the commands of `predtrace.cli` do, on the public API; a module per subject."""
