"""Values of NumPy and pandas as Python's own, where these are exactly equal."""

from __future__ import annotations

import datetime as dt
from typing import Any, Final

NOT_PLAIN: Final = object()
"""Stands for a value that Python's types do not have: NaT, nanoseconds, a year 20000."""

_FINER_THAN_MICROSECONDS = frozenset({"ns", "ps", "fs", "as"})
_PANDAS_TIMES = {
    dt.datetime: ("nanosecond", "to_pydatetime"),
    dt.timedelta: ("nanoseconds", "to_pytimedelta"),
}
"""What pandas' times are finer by than Python's, and what makes them Python's."""


def plain_value(value: Any) -> Any:
    """A scalar of NumPy or pandas as Python's, or `NOT_PLAIN`; other values as they are.

    NaT is no NULL: a target says None for that.
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
    # Python's dates have no number of their own: it stands for what they do not hold.
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
