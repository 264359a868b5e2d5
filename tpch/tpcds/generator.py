"""The generator: run by another interpreter, ``python generator.py SCALE FOLDER``.

It needs the packages of `tpch.tpcds.data.PACKAGES` and nothing of this project. It writes
``<table>.parquet`` for every table and ``queries/qNN.sql`` for every text, as they are but for
the quotes of names, which are backticks in Spark.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import duckdb


def main(scale: str, folder: Path) -> None:
    """Make the tables and the texts."""
    database = duckdb.connect()
    database.execute(f"LOAD '{_extension()}'")
    database.execute(f"CALL dsdgen(sf = {float(scale)})")
    for (table,) in database.execute("SELECT table_name FROM duckdb_tables()").fetchall():
        file = str(folder / f"{table}.parquet")
        database.execute(f'COPY "{table}" TO $file (FORMAT parquet)', {"file": file})
    queries = folder / "queries"
    queries.mkdir()
    texts = database.execute("SELECT query_nr, query FROM tpcds_queries()").fetchall()
    for number, text in texts:
        (queries / f"q{number:02}.sql").write_text(text.replace('"', "`"), encoding="utf-8")


def _extension() -> Path:
    spec = importlib.util.find_spec("duckdb_ext")
    places = [] if spec is None else list(spec.submodule_search_locations or ())
    (file,) = (file for place in places for file in Path(place).rglob("tpcds.duckdb_extension"))
    return file


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
