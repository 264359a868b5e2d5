"""Calls that a folder's store recorded since its catalogue was written, one a line.

    00000000000000000412 9f8d01c2
    sha256  {"arrays": […], "operation": {…}, "lineage": […]}
    …

The first line says how many bytes are valid, with a checksum of its own. A call is written after
them before the number is raised, so an unfinished call does not count, and a shorter file is
damaged. Adding a call takes the same time for any number of calls.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from predtrace.arrays.catalogue import CallEntry
from predtrace.errors import ArrayFormatError

_DIGITS = 20
_HEAD = _DIGITS + 1 + 8 + 1


class Journal:
    """A journal that is read incrementally and added to. `count` is the number of its known
    calls."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0
        self._place = _HEAD

    @staticmethod
    def empty() -> bytes:
        """The bytes of a journal without calls."""
        return _head(_HEAD)

    def read_on(self) -> Iterator[CallEntry]:
        """The calls that were added since the last time.

        Raises ArrayFormatError if the file is damaged, OSError if it cannot be read.
        """
        with self.path.open("rb") as file:
            head = file.read(_HEAD)
            digits = head[:_DIGITS]
            if not digits.isdigit() or head != _head(int(digits)):
                raise self._damaged()
            file.seek(self._place)
            data = file.read(max(0, int(digits) - self._place))
        if self._place + len(data) != int(digits) or (data and not data.endswith(b"\n")):
            raise self._damaged()
        for line in data.splitlines():
            digest, _, content = line.partition(b" ")
            if hashlib.sha256(content).hexdigest().encode() != digest:
                raise self._damaged()
            try:
                yield msgspec.json.decode(content, type=CallEntry)
            except (msgspec.DecodeError, UnicodeError) as error:
                raise self._damaged() from error
            self.count += 1
        self._place = int(digits)

    def append(self, call: CallEntry) -> None:
        """Add a call. Raises OSError if it cannot be written."""
        content = msgspec.json.encode(call)
        line = hashlib.sha256(content).hexdigest().encode() + b" " + content + b"\n"
        with self.path.open("r+b") as file:
            file.seek(self._place)
            file.write(line)
            file.truncate()
            file.flush()
            os.fsync(file.fileno())
            file.seek(0)
            file.write(_head(self._place + len(line)))
            file.flush()
            os.fsync(file.fileno())
        self._place += len(line)
        self.count += 1

    def _damaged(self) -> ArrayFormatError:
        return ArrayFormatError(
            f"{self.path} is truncated or was changed after it was written; restore it from a copy"
        )


def _head(length: int) -> bytes:
    digits = b"%0*d" % (_DIGITS, length)
    return b"%s %08x\n" % (digits, zlib.crc32(digits))
