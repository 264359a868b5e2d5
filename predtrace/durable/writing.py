"""Files and folders that are complete or absent, and locks for one writer at a time.

A file or folder that is being written has a name that ends with its process (`owners.Owner`). The
next writer thus recognises and removes what an interrupted process left behind.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from predtrace.durable.owners import is_gone, parse_owner, this_process

INCOMPLETE = "incomplete-"


def write_whole(path: Path, data: bytes) -> None:
    """Write a file durably; `path` is unchanged until all of the file is on disk.

    Raises OSError if that fails.
    """
    draft = _draft(path.parent)
    try:
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        sync_folder(path.parent)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


@contextmanager
def folder_made_whole(path: Path) -> Iterator[Path]:
    """A folder to fill in the block; it becomes `path` when the block ends, or is removed on
    failure."""
    draft = _draft(path.parent)
    try:
        yield draft
        draft.rename(path)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def sweep(folder: Path) -> None:
    """Remove what ended processes left unfinished in a folder."""
    for entry in list(os.scandir(folder)):
        if not entry.name.startswith(INCOMPLETE):
            continue
        owner = parse_owner(entry.name.partition("+")[2])
        if owner is None or not is_gone(owner):
            continue
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            Path(entry.path).unlink(missing_ok=True)


@contextmanager
def sole_writer(path: Path) -> Iterator[None]:
    """Hold the lock file `path`; other processes and threads wait until it is released.

    The system releases the lock when its process ends, in whatever way.
    """
    try:
        import fcntl
    except ImportError:  # Windows: one writing process at a time is up to the user
        yield
        return
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def sync_folder(path: Path) -> None:
    """Make a rename or a new entry survive a power cut, if folders can be synced."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _draft(folder: Path) -> Path:
    return folder / f"{INCOMPLETE}{secrets.token_hex(4)}+{this_process()}"
