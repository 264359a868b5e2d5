"""Builds the listener's jar from its sources: the same bytes each time, with one Java compiler.

python -m predtrace.frontends.spark.listener.build
"""

from __future__ import annotations

import subprocess
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
JAR = HERE / "sink.jar"
_DATE = (2020, 1, 1, 0, 0, 0)


def build(jar: Path, javac: str = "javac") -> None:
    """Compile the sources for Java 17 against PySpark's own jars, and pack them into `jar`."""
    import pyspark

    jars = Path(pyspark.__file__).parent / "jars"
    sources = sorted(map(str, HERE.glob("java/**/*.java")))
    with tempfile.TemporaryDirectory() as folder:
        command = [javac, "--release", "17", "-proc:none", "-nowarn", "-cp", f"{jars}/*"]
        subprocess.run([*command, "-d", folder, *sources], check=True, capture_output=True)
        with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as packed:
            for file in sorted(Path(folder).rglob("*.class")):
                entry = zipfile.ZipInfo(str(file.relative_to(folder)), _DATE)
                entry.compress_type = zipfile.ZIP_DEFLATED
                packed.writestr(entry, file.read_bytes())


if __name__ == "__main__":
    build(JAR)
    print(f"{JAR}: {JAR.stat().st_size:,} bytes")
