"""TPC-H data as Parquet: made by ``tpchgen-cli``, kept in a folder of its own.

A data folder holds ``<table>.parquet`` (a file, or a folder of files) for the eight
tables, and a marker file that says what they are. The marker is what makes `generate`
and `tpch.twist.twist` idempotent; it comes with the folder in one rename, so a folder
that has it is complete.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Callable
from pathlib import Path

from tpch.errors import TpchError

TABLES = ("region", "nation", "supplier", "part", "partsupp", "customer", "orders", "lineitem")
DATA = Path("data")
_MARKER = "tpch.json"
_GENERATOR = "tpchgen-cli"


def default_folder(sf: float, twisted: bool = False) -> Path:
    """Where the data of a scale factor lies unless told otherwise, e.g. ``data/tpch-0.1``."""
    return DATA / f"tpch-{sf:g}{'-twisted' if twisted else ''}"


def generate(sf: float, folder: Path) -> Path:
    """Make the TPC-H tables at scale factor `sf` in `folder`, unless they are there already.

    The generator shows its progress on a terminal. Raises TpchError when the generator is
    missing or fails, or when `folder` holds something else.
    """
    generator = _generator()

    def fill(temporary: Path) -> None:
        command = [generator, "parquet", f"--scale-factor={sf:g}", f"--output-dir={temporary}"]
        # Its progress and its errors go to stderr.
        done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        if done.returncode:
            raise TpchError(f"{_GENERATOR} failed with exit code {done.returncode} at scale {sf:g}")

    return build_folder(folder, {"scale_factor": sf}, fill)


def build_folder(folder: Path, marker: dict[str, object], fill: Callable[[Path], None]) -> Path:
    """Let `fill` make a data folder unless `folder` has the same `marker`.

    It fills a temporary folder that is then renamed: an interrupted run leaves no folder
    that looks complete. A data folder with another marker is replaced; any other folder
    is left alone (TpchError).
    """
    if read_marker(folder) == marker:
        return folder
    if folder.exists() and read_marker(folder) is None and any(folder.iterdir()):
        raise TpchError(f"{folder} exists and holds no TPC-H data: name another folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        fill(temporary)
        (temporary / _MARKER).write_text(json.dumps(marker), encoding="utf-8")
        _move_into_place(temporary, folder, marker)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return folder


def read_marker(folder: Path) -> dict[str, object] | None:
    """What the data folder says it is; None if it is not one."""
    try:
        marker = json.loads((folder / _MARKER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return marker if isinstance(marker, dict) else None


def table_path(folder: Path, table: str) -> Path:
    """The Parquet file, or folder of Parquet files, of a table. TpchError if missing."""
    path = folder / f"{table}.parquet"
    if not path.exists():
        raise TpchError(f"no {table} in {folder}: make the data with `python -m tpch generate`")
    return path


def table_files(folder: Path, table: str) -> tuple[Path, ...]:
    """The Parquet files of a table in the order of their names."""
    path = table_path(folder, table)
    return (path,) if path.is_file() else tuple(sorted(path.glob("*.parquet")))


def _move_into_place(temporary: Path, folder: Path, marker: dict[str, object]) -> None:
    if folder.exists():
        shutil.rmtree(folder)
    try:
        os.rename(temporary, folder)
    except OSError:
        # Someone else may have made the same folder in the meantime; theirs is as good.
        if read_marker(folder) != marker:
            raise


def _generator() -> str:
    """The path of the generator's program: next to this interpreter, else on the PATH."""
    scripts = sysconfig.get_path("scripts")
    found = shutil.which(_GENERATOR, path=scripts) or shutil.which(_GENERATOR)
    if found is None:
        raise TpchError(f"{_GENERATOR} is not installed: pip install {_GENERATOR}")
    return found
