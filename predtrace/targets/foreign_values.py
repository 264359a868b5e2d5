"""Values of NumPy and pandas as plain Python values, if these are exactly equal."""

from __future__ import annotations

import datetime as dt
from typing import Any, Final

NOT_PLAIN: Final = object()
"""Stands for a value that Python's types lack: NaT, nanoseconds, the year 20000."""

_FINER_THAN_MICROSECONDS = frozenset({"ns", "ps", "fs", "as"})
_PANDAS_TIMES = {
    dt.datetime: ("nanosecond", "to_pydatetime"),
    dt.timedelta: ("nanoseconds", "to_pytimedelta"),
}
"""For each time type of pandas: the digits that Python's type lacks, and the conversion."""


def plain_value(value: Any) -> Any:
    """A scalar of NumPy or pandas as Python's, or `NOT_PLAIN`; other values as they are.

    NaT is not NULL: a target writes NULL as None.
    """
    package = type(value).__module__.partition(".")[0]
    if package == "numpy":
        return _from_numpy(value)
    if package == "pandas":
        return _from_pandas(value)
    return value


def _from_numpy(value: Any) -> Any:
    if getattr(value, "shape", None) != ():
        return value
    found = value.item()
    if value.dtype.kind not in "mM":
        return found
    # Python's dates cannot hold every value: the number stands for the others.
    return found if isinstance(found, (dt.date, dt.timedelta)) else _whole_microseconds(value)


def _whole_microseconds(value: Any) -> Any:
    import numpy as np

    unit, _ = np.datetime_data(value.dtype)
    if unit not in _FINER_THAN_MICROSECONDS:
        return NOT_PLAIN
    coarse = value.astype(f"{value.dtype.kind}8[us]")
    return coarse.item() if coarse == value else NOT_PLAIN


def _from_pandas(value: Any) -> Any:
    names = next((names for kind, names in _PANDAS_TIMES.items() if isinstance(value, kind)), None)
    if names is None:
        return value
    fine, convert = (getattr(value, name) for name in names)
    if fine:  # also NaN, that of NaT
        return NOT_PLAIN
    try:
        return convert()
    except (ValueError, OverflowError):  # beyond Python's years
        return NOT_PLAIN
