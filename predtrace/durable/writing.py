"""Files and folders that are there completely or not at all, and one writer at a time.

What is being written has a name of its own, which ends with its process (`process.Owner`): so
what an interrupted process left behind is known as such, and removed by the next writer.
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
    """Write a file durably; until all of it is on disk, `path` is as it was before.

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
    """A folder to make and fill; it is `path` when the block ends, and gone if that fails."""
    draft = _draft(path.parent)
    try:
        yield draft
        draft.rename(path)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def sweep(folder: Path) -> None:
    """Remove what processes that have ended left unfinished in a folder."""
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


def sync_folder(path: Path) -> None:
    """Make a rename or a new entry survive a power cut, where folders can be synced."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _draft(folder: Path) -> Path:
    return folder / f"{INCOMPLETE}{secrets.token_hex(4)}+{this_process()}"
