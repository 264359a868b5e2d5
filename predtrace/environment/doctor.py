"""`predtrace doctor`: checks that this machine has what predtrace needs.

Every check is one small function that returns a `Check`; they change nothing on the
machine. Only `spark_works` starts something: a local Spark session with a Python worker.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

from predtrace.environment.java import (
    FAILED,
    OK,
    WARNING,
    Check,
    java,
    java_modules,
    output_of,
)
from predtrace.environment.local_spark import local_session
from predtrace.errors import PredTraceError, StoreError

PYTHON_AT_LEAST = (3, 11)
MEMORY_AT_LEAST = 2_000_000_000


def checks(store: str = "lineage") -> list[Check]:
    """All checks that need no Spark session. `store` is the folder for jobs."""
    return [*(check() for check in _CHECKS), store_at(store)]


def require_store(store: Path) -> None:
    """Raise StoreError if jobs cannot be saved in a folder, before any work is started."""
    check = store_at(str(store))
    if check.status == FAILED:
        raise StoreError(f"{check.found}; {check.remedy}, or change its permissions")


def python() -> Check:
    """Check the running Python."""
    version = ".".join(map(str, sys.version_info[:3]))
    good = sys.version_info[:2] >= PYTHON_AT_LEAST
    return Check("Python", OK if good else FAILED, version, "" if good else "install Python 3.11+")


def workers() -> Check:
    """Check that the Python that Spark starts for Python functions has this Python's version."""
    name, chosen = "Python workers", os.environ.get("PYSPARK_PYTHON")
    if chosen is None:
        return Check(name, OK, f"{sys.executable} (predtrace sets PYSPARK_PYTHON)")
    version = output_of([chosen, "-c", "import sys; print(*sys.version_info[:2], sep='.')"]).strip()
    own = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if version == own:
        return Check(name, OK, f"{version} ({chosen})")
    found = f"PYSPARK_PYTHON={chosen} is Python {version or 'unknown'}, this one is {own}"
    return Check(name, FAILED, found, f"unset PYSPARK_PYTHON or set it to {sys.executable}")


def packages() -> Check:
    """Compare the installed packages with predtrace's requirements."""
    found, problems = [], []
    for requirement in metadata.requires("predtrace") or []:
        if "extra ==" in requirement:
            continue
        name = re.split(r"[<>=!~ ;\[]", requirement, maxsplit=1)[0]
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            problems.append(f"{name} is missing")
            continue
        found.append(f"{name} {version}")
        for comparison, bound in re.findall(r"(>=|<)\s*([\d.]+)", requirement):
            at_least = _parts(version) >= _parts(bound)
            if at_least is (comparison == "<"):
                problems.append(f"{name} {version} is not {comparison}{bound}")
    if problems:
        return Check("Packages", FAILED, "; ".join(problems), "run pip install predtrace again")
    return Check("Packages", OK, ", ".join(found))


def memory() -> Check:
    """Check memory and cores."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    available = _available_memory() or total
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count()
    found = f"{available / 1e9:.1f} GB free of {total / 1e9:.1f} GB, {cores} cores"
    if available < MEMORY_AT_LEAST:
        return Check("Memory and cores", WARNING, found, "2 GB or more should be free for Spark")
    return Check("Memory and cores", OK, found)


def store_at(store: str) -> Check:
    """Check that jobs can be saved in a folder, which need not exist yet."""
    folder = Path(store).absolute()
    there = next(path for path in (folder, *folder.parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        found = f"{there} cannot be written ({error.strerror or error})"
        return Check("Job store", FAILED, found, "choose another with --store")
    free = shutil.disk_usage(there).free
    return Check("Job store", OK, f"{folder} can be written, {free / 1e9:.1f} GB free")


def spark_works() -> Check:
    """Start Spark and run a Python function in a worker."""
    name = "Spark session"
    try:
        with local_session() as spark:
            rdd = spark.sparkContext.parallelize([1, 2, 3], 1)
            total = rdd.map(lambda value: value * 2).sum()
            found = f"Spark {spark.version}, {spark.sparkContext.master}, Python worker answered"
    except PredTraceError as error:
        return Check(name, FAILED, str(error), "see the other checks")
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        return Check(name, FAILED, reason, "see the other checks; --debug shows all of it")
    return Check(name, OK if total == 12 else FAILED, found)


_CHECKS: tuple[Callable[[], Check], ...] = (python, java, java_modules, workers, packages, memory)


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def _available_memory() -> int | None:
    try:
        text = Path("/proc/meminfo").read_text()
    except OSError:
        return None
    found = re.search(r"MemAvailable:\s+(\d+) kB", text)
    return int(found[1]) * 1024 if found else None
