"""Checks that Java is installed, new enough, and has the modules that Spark loads."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import msgspec

from predtrace.errors import EnvironmentError_

JAVA_AT_LEAST = 17
INSTALL_JAVA = (
    f"install Java {JAVA_AT_LEAST} or newer (Debian, Ubuntu: apt-get install "
    "openjdk-17-jdk-headless; macOS: brew install openjdk@17) or set JAVA_HOME"
)
OK, WARNING, FAILED = "ok", "warning", "failed"


class Check(msgspec.Struct, frozen=True):
    """The result of one check: `status` is ok, warning or failed; `remedy` says what to do."""

    name: str
    status: str
    found: str
    remedy: str = ""


def require_java() -> None:
    """Raise EnvironmentError_ if there is no usable Java, before Spark fails with a long error."""
    check = java()
    if check.status == FAILED:
        raise EnvironmentError_(f"{check.found}: {check.remedy}")


def java_command() -> str | None:
    """The `java` that Spark would start: from JAVA_HOME, else from the path."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else shutil.which("java")


def java() -> Check:
    """Check that Java is new enough for Spark."""
    command = java_command()
    if command is None:
        return Check("Java", FAILED, "Java was not found", INSTALL_JAVA)
    text = output_of([command, "-version"])
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
    """Check for a module that Spark 4 loads and some reduced Java packages lack."""
    name, module = "Java modules", "jdk.incubator.vector"
    command = java_command()
    modules = output_of([command, "--list-modules"]) if command else ""
    if module in modules:
        return Check(name, OK, module)
    if "java.base" not in modules:
        return Check(name, WARNING, "not checked: Java did not run", "see the check of Java")
    return Check(
        name, FAILED, f"{module} is missing", "install a complete JDK, e.g. openjdk-17-jdk-headless"
    )


def output_of(command: list[str]) -> str:
    """The output of a command on both streams; empty if it does not finish within a minute."""
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return result.stdout + result.stderr
