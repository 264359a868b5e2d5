"""The listener's jar is what its sources give."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from predtrace.frontends.spark.listener.build import JAR, build


def _javac_17() -> bool:
    if shutil.which("javac") is None:
        return False
    said = subprocess.run(["javac", "-version"], capture_output=True, text=True, check=False)
    return "javac 17." in said.stdout + said.stderr


@pytest.mark.skipif(not _javac_17(), reason="other compilers than that of Java 17 differ in bytes")
def test_the_jar_is_what_its_sources_give(tmp_path: Path) -> None:
    build(tmp_path / "built.jar")
    assert (tmp_path / "built.jar").read_bytes() == JAR.read_bytes(), "run make listener"
