"""Errors of the TPC-H harness."""

from __future__ import annotations

from predtrace.errors import PredTraceError


class TpchError(PredTraceError):
    """The harness lacks something: the data generator, a data folder, a query or its oracle."""
