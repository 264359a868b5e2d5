"""Checksums of files, and fingerprints that read only a part of large files.

Each is computed once for each state of a file: its inode, size and times. Programs cannot set back
the time of an inode's last change. A file that was just written may change again within one tick of
the clock, so results for such a file are not remembered.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable
from typing import BinaryIO, TypeAlias

from predtrace.vocabulary import FULL, QUICK

_State: TypeAlias = tuple[int, int, int, int, int]
_BLOCK = 1 << 20
_TICK_NS = 2_000_000_000
"""The coarsest clock of the file systems in use."""
_MOST = 65_536

_SMALL = 1 << 18
"""Files of up to so many bytes are read whole for a fingerprint."""
_HEAD = 1 << 12
_TAIL = 1 << 16
_SAMPLES = 16
_PARQUET_END = b"PAR1"

_KNOWN: dict[tuple[str, str], tuple[_State, str]] = {}
_LOCK = threading.Lock()


def checksum(path: str) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal digits. Raises OSError if it cannot be read."""
    return _remembered(path, FULL, _whole)


def fingerprint(path: str, kind: str = QUICK) -> str:
    """A text that distinguishes a file's content from others of its size: the kind, and a SHA-256.

    ``full`` hashes all bytes. ``quick`` hashes all bytes of a small file; of a large file it hashes
    the beginning, the end (a Parquet file's whole footer), and a sample of blocks in between.
    Raises OSError if the file cannot be read.
    """
    found = checksum(path) if kind == FULL else _remembered(path, QUICK, _parts)
    return f"{kind}:{found}"


def known(path: str, kind: str) -> str | None:
    """The remembered fingerprint of the file in its present state; None if it has to be read."""
    try:
        state = _state(os.stat(path))
    except OSError:
        return None
    with _LOCK:
        before, found = _KNOWN.get((path, kind), (None, ""))
    return f"{kind}:{found}" if before == state else None


def kind_of(fingerprint: str) -> str:
    """The kind of a fingerprint."""
    return fingerprint.partition(":")[0]


def _remembered(path: str, kind: str, compute: Callable[[BinaryIO, int], str]) -> str:
    with open(path, "rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        state = _state(status)
        with _LOCK:
            before, known = _KNOWN.get((path, kind), (None, ""))
        if before == state:
            return known
        found = compute(file, status.st_size)
        if time.time_ns() - max(status.st_ctime_ns, status.st_mtime_ns) > _TICK_NS:
            with _LOCK:
                if len(_KNOWN) >= _MOST:
                    _KNOWN.clear()
                _KNOWN[path, kind] = state, found
        return found


def _state(status: os.stat_result) -> _State:
    return (
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


def _whole(file: BinaryIO, size: int) -> str:
    found = hashlib.sha256()
    while block := file.read(_BLOCK):
        found.update(block)
    return found.hexdigest()


def _parts(file: BinaryIO, size: int) -> str:
    if size <= _SMALL:
        return _whole(file, size)
    found = hashlib.sha256(size.to_bytes(8, "little"))
    tail = _tail(file, size)
    step = (size - tail - _HEAD) // (_SAMPLES + 1)
    for number in range(_SAMPLES + 1):
        file.seek(number * step)
        found.update(file.read(_HEAD))
    file.seek(size - tail)
    found.update(file.read(tail))
    return found.hexdigest()


def _tail(file: BinaryIO, size: int) -> int:
    """The number of bytes at the end to read: a Parquet file has its footer there."""
    file.seek(size - 8)
    end = file.read(8)
    footer = int.from_bytes(end[:4], "little") + 8 if end[4:] == _PARQUET_END else 0
    return max(_TAIL, min(footer, size - _HEAD))
