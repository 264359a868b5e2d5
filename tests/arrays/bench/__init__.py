"""The evaluation of DSLog's paper (Section VII) on this implementation and its baselines.

    python -m tests.arrays.bench --help

All figures of one run come from the same machine and process; answers are compared as sets
before a time is kept.
"""
