"""Files that are there completely or not at all, and one writer at a time."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from predtrace.jobs.process import is_gone, parse_owner, this_process

_INCOMPLETE = "incomplete-"


def write_whole(path: Path, data: bytes) -> None:
    """Write a file durably; until all of it is on disk, `path` is as it was before.

    Raises OSError if that fails.
    """
    draft = path.with_name(f"{_INCOMPLETE}{secrets.token_hex(4)}+{this_process()}")
    try:
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        _sync_folder(path.parent)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def sweep(folder: Path) -> None:
    """Remove what processes that have ended left unfinished in a folder."""
    for entry in list(folder.iterdir()):
        if entry.name.startswith(_INCOMPLETE):
            owner = parse_owner(entry.name.partition("+")[2])
            if owner is not None and is_gone(owner):
                entry.unlink(missing_ok=True)


@contextmanager
def sole_writer(path: Path) -> Iterator[None]:
    """Hold the lock file `path`; other processes, and threads, wait until it is let go.

    The system lets go of the lock when its process ends, however it ends.
    """
    try:
        import fcntl
    except ImportError:  # Windows: one writing process at a time is up to the user
        yield
        return
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _sync_folder(path: Path) -> None:
    """Make a rename survive a power cut, where folders can be synced."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
