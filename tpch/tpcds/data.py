"""TPC-DS tables and texts, made by DuckDB's extension in an environment of its own.

A data folder holds ``<table>.parquet`` for the 24 tables and ``queries/qNN.sql`` for the 99
texts. It is complete or not there at all, as those of TPC-H are (`tpch.data`).
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

from tpch.data import DATA, build_folder
from tpch.errors import TpchError

PACKAGES = ("duckdb==1.4.4", "duckdb-ext-tpcds==1.4.4.20260205")
NUMBERS = tuple(range(1, 100))
_ENVIRONMENT = DATA / "tpcds-environment"
_GENERATOR = Path(__file__).with_name("generator.py")


def default_folder(sf: float) -> Path:
    """Where the data of a scale factor lies unless told otherwise, e.g. ``data/tpcds-0.01``."""
    return DATA / f"tpcds-{sf:g}"


def generate(sf: float, folder: Path, environment: Path = _ENVIRONMENT) -> Path:
    """Make the tables and texts at scale factor `sf` in `folder`, unless they are there already.

    `environment` is where the generator's packages go; it is made if it is not there. Raises
    TpchError if that fails.
    """

    def fill(temporary: Path) -> None:
        python = _python(environment)
        _run([python, str(_GENERATOR), str(sf), str(temporary)], f"TPC-DS at scale {sf:g}")

    return build_folder(folder, {"tpcds": sf, "packages": list(PACKAGES)}, fill)


def read_query(folder: Path, number: int) -> str:
    """The text of a query. Raises TpchError if there is no such query."""
    path = folder / "queries" / f"q{number:02}.sql"
    if not path.exists():
        raise TpchError(f"no TPC-DS query {number} in {folder}: choose from 1 to {NUMBERS[-1]}")
    return path.read_text(encoding="utf-8").strip().removesuffix(";")


def table_files(folder: Path) -> dict[str, Path]:
    """The tables' files by name."""
    return {path.stem: path for path in sorted(folder.glob("*.parquet"))}


def _python(environment: Path) -> str:
    """The environment's interpreter, with the packages."""
    python = environment / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    ready = environment / ".ready"
    if not ready.exists() or ready.read_text(encoding="utf-8").split() != list(PACKAGES):
        venv.create(environment, with_pip=True, clear=True)
        install = [str(python), "-m", "pip", "install", "--quiet", *PACKAGES]
        _run(install, f"an environment in {environment}")
        ready.write_text("\n".join(PACKAGES), encoding="utf-8")
    return str(python)


def _run(command: list[str], what: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no word why"]
        raise TpchError(f"cannot make {what}: {lines[-1]}")
