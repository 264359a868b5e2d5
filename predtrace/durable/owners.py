"""The process that owns an incomplete job, and whether it still runs.

A process id alone is not enough, since ids are reused. The time at which the process started is
part of the identity. So are the machine and its process namespace, since a store may lie on a
shared disk or be mounted into containers.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

import msgspec


class Owner(msgspec.Struct, frozen=True):
    """A process: its id, when it started, and where it runs (`started`, `machine`: hashes)."""

    pid: int
    started: str
    machine: str

    def __str__(self) -> str:
        """The owner as part of a file name."""
        return f"{self.pid}-{self.started}-{self.machine}"


def this_process() -> Owner:
    """The running process."""
    return Owner(os.getpid(), started_at(os.getpid()) or "unknown", _machine())


def parse_owner(text: str) -> Owner | None:
    """The owner from the text that `str` wrote; None for other text."""
    pid, _, rest = text.partition("-")
    started, _, machine = rest.partition("-")
    if not (pid.isdigit() and started and machine):
        return None
    return Owner(int(pid), started, machine)


def is_gone(owner: Owner) -> bool:
    """Whether the process has certainly ended; False in doubt, and on other machines."""
    if owner.machine != _machine():
        return False
    started = started_at(owner.pid)
    if started is None:
        return not _exists(owner.pid)
    return owner.started not in (started, "unknown")


def started_at(pid: int) -> str | None:
    """The start time of a process, as a short hash; None if it is unknown."""
    text = _proc_start(pid) if Path("/proc/self/stat").exists() else _ps_start(pid)
    return None if text is None else _short(text)


def _proc_start(pid: int) -> str | None:
    """Clock ticks from boot to the start (field 22 of /proc/PID/stat), with the boot's id."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        # The name in parentheses may contain blanks: fields are counted after it.
        ticks = stat.rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None
    return f"{_read('/proc/sys/kernel/random/boot_id')} {ticks}"


def _ps_start(pid: int) -> str | None:
    command = ["ps", "-o", "lstart=", "-p", str(pid)]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip() or None


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _machine() -> str:
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        namespace = ""
    return _short(f"{os.uname().nodename} {namespace}")


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:10]
