"""SHA-256 of files, computed once for each state of a file.

A file's state is its inode, size and times; the time of the last change of its inode cannot
be set back by programs. What was just written may change again within one tick of the clock,
so the checksum of such a file is not remembered.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from typing import TypeAlias

_State: TypeAlias = tuple[int, int, int, int, int]
_BLOCK = 1 << 20
_TICK_NS = 2_000_000_000
"""The coarsest clock of the file systems in use."""
_MOST = 4096

_KNOWN: dict[str, tuple[_State, str]] = {}
_LOCK = threading.Lock()


def checksum(path: str) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal digits. Raises OSError if it cannot be read."""
    with open(path, "rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        state = _state(status)
        with _LOCK:
            before, known = _KNOWN.get(path, (None, ""))
        if before == state:
            return known
        found = hashlib.sha256()
        while block := file.read(_BLOCK):
            found.update(block)
        if time.time_ns() - max(status.st_ctime_ns, status.st_mtime_ns) > _TICK_NS:
            _remember(path, state, found.hexdigest())
        return found.hexdigest()


def _state(status: os.stat_result) -> _State:
    return (
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


def _remember(path: str, state: _State, found: str) -> None:
    with _LOCK:
        if len(_KNOWN) >= _MOST:
            _KNOWN.clear()
        _KNOWN[path] = state, found
