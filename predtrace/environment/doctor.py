"""`predtrace doctor`: does this machine have what predtrace needs?

Every check is one small function that returns a `Check`; they change nothing on the
machine. Only `spark_works` starts something: a local Spark session with a Python worker.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import msgspec

from predtrace.errors import EnvironmentError_, PredTraceError, StoreError

JAVA_AT_LEAST = 17
PYTHON_AT_LEAST = (3, 11)
MEMORY_AT_LEAST = 2_000_000_000
INSTALL_JAVA = (
    f"install Java {JAVA_AT_LEAST} or newer (Debian, Ubuntu: apt-get install openjdk-17-jdk; "
    "macOS: brew install openjdk@17) or set JAVA_HOME"
)
OK, WARNING, FAILED = "ok", "warning", "failed"


class Check(msgspec.Struct, frozen=True):
    """The result of one check: `status` is ok, warning or failed; `remedy` says what to do."""

    name: str
    status: str
    found: str
    remedy: str = ""


def checks(store: str = "lineage") -> list[Check]:
    """All checks that need no Spark session. `store` is where jobs would be kept."""
    return [*(check() for check in _CHECKS), store_at(store)]


def require_java() -> None:
    """Raise EnvironmentError_ if no usable Java is there, before Spark fails at length."""
    check = java()
    if check.status == FAILED:
        raise EnvironmentError_(f"{check.found}: {check.remedy}")


def require_store(store: Path) -> None:
    """Raise StoreError if jobs cannot be saved in a folder, before anything is started for one."""
    check = store_at(str(store))
    if check.status == FAILED:
        raise StoreError(f"{check.found}; {check.remedy}, or change its permissions")


def python() -> Check:
    """The running Python."""
    version = ".".join(map(str, sys.version_info[:3]))
    good = sys.version_info[:2] >= PYTHON_AT_LEAST
    return Check("Python", OK if good else FAILED, version, "" if good else "install Python 3.11+")


def java_command() -> str | None:
    """The `java` that Spark would start: that of JAVA_HOME, else the one on the path."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else shutil.which("java")


def java() -> Check:
    """Java, and whether it is new enough for Spark."""
    command = java_command()
    if command is None:
        return Check("Java", FAILED, "Java was not found", INSTALL_JAVA)
    text = _output([command, "-version"])
    version = re.search(r'version "(\d+)([^"]*)"', text)
    if version is None:
        return Check("Java", FAILED, f"{command} does not run", INSTALL_JAVA)
    # Up to Java 8 the version was written as 1.8
    major = int(version[1]) if version[1] != "1" else int(version[2].split(".")[1])
    found = f"{version[1]}{version[2]} ({command})"
    if major < JAVA_AT_LEAST:
        return Check("Java", FAILED, f"Java {found} is too old", INSTALL_JAVA)
    return Check("Java", OK, found)


def java_modules() -> Check:
    """Spark 4 loads a module that some cut-down Java packages lack."""
    name, module = "Java modules", "jdk.incubator.vector"
    command = java_command()
    if command is None:
        return Check(name, FAILED, "Java was not found", INSTALL_JAVA)
    if module in _output([command, "--list-modules"]):
        return Check(name, OK, module)
    return Check(
        name, FAILED, f"{module} is missing", "install a complete JDK, e.g. openjdk-17-jdk"
    )


def workers() -> Check:
    """The Python that Spark starts for Python functions must be this one's version."""
    name, chosen = "Python workers", os.environ.get("PYSPARK_PYTHON")
    if chosen is None:
        return Check(name, OK, f"{sys.executable} (predtrace sets PYSPARK_PYTHON)")
    version = _output([chosen, "-c", "import sys; print(*sys.version_info[:2], sep='.')"]).strip()
    own = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if version == own:
        return Check(name, OK, f"{version} ({chosen})")
    found = f"PYSPARK_PYTHON={chosen} is Python {version or 'unknown'}, this one is {own}"
    return Check(name, FAILED, found, f"unset PYSPARK_PYTHON or set it to {sys.executable}")


def packages() -> Check:
    """The installed packages against what predtrace asks for."""
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
    """Memory and cores."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    available = _available_memory() or total
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count()
    found = f"{available / 1e9:.1f} GB free of {total / 1e9:.1f} GB, {cores} cores"
    if available < MEMORY_AT_LEAST:
        return Check("Memory and cores", WARNING, found, "2 GB or more should be free for Spark")
    return Check("Memory and cores", OK, found)


def store_at(store: str) -> Check:
    """Whether jobs can be saved in a folder, which need not exist yet."""
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
        from predtrace.environment.local_spark import local_session

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


def _output(command: list[str]) -> str:
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return result.stdout + result.stderr


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def _available_memory() -> int | None:
    try:
        text = Path("/proc/meminfo").read_text()
    except OSError:
        return None
    found = re.search(r"MemAvailable:\s+(\d+) kB", text)
    return int(found[1]) * 1024 if found else None
