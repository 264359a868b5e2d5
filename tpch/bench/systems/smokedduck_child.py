"""SmokedDuck's side of a pipe: run by an interpreter that has the ``smokedduck`` wheel.

Each line on stdin is a JSON object: ``do`` names a function below, the rest are its arguments.
Each gives one line on stdout: its result, or ``error``. Nothing of this project is imported.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

import numpy as np

_RUNS = 3


class Session:
    """One SmokedDuck in memory."""

    def __init__(self) -> None:
        import smokedduck  # type: ignore[import-not-found]

        self._duck = smokedduck.prov_connect()
        self._loaded: set[str] = set()
        self._single = False

    def load(self, table: str, files: list[str]) -> dict[str, Any]:
        """Make a table of Parquet files: lineage is not captured from files."""
        if table not in self._loaded:
            names = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
            name = '"' + table.replace('"', '""') + '"'
            query = f"CREATE TABLE {name} AS SELECT * FROM read_parquet([{names}])"
            self._duck.duckdb_conn.execute(query)
            self._loaded.add(table)
        return {}

    def capture(self, query: str) -> dict[str, Any]:
        """Run a query without and with capture; its rows, and the seconds of both.

        The first runs are not counted.
        """
        plain = [self._run(query, None)[1] for _ in range(1 + _RUNS)][1:]
        found = [self._run(query, "lineage") for _ in range(2)]
        rows, seconds = found[-1]
        self._single = len(rows) == 1
        columns = [_values(rows.iloc[:, place]) for place in range(rows.shape[1])]
        return {"plain": min(plain), "captured": seconds, "columns": columns}

    def backward(self, outputs: list[int], file: str) -> dict[str, Any]:
        """Pairs of output and source row by scan, into an npz file; the scans' names."""
        # Of a single group of all, the wheel cannot select by the output's number.
        frame = (self._duck.lineage() if self._single else self._duck.backward(outputs)).df()
        names = [name for name in frame.columns if name != "out_index"]
        arrays: dict[str, Any] = {}
        for place, name in enumerate(names):
            pairs = frame[["out_index", name]].dropna().to_numpy().astype(np.int64)
            arrays[str(place)] = np.unique(pairs, axis=0)
        np.savez(file, **arrays)
        return {"names": names}

    def forward(self, table: str, rows: list[int]) -> dict[str, Any]:
        """The output rows that rows of a table reach."""
        frame = self._duck.forward(table, rows).df()
        return {"outputs": sorted({int(number) for number in frame["out_index"]})}

    def _run(self, query: str, model: str | None) -> tuple[Any, float]:
        started = time.perf_counter()
        rows = self._duck.execute(query, capture_lineage=model).df()
        return rows, time.perf_counter() - started


def _values(column: Any) -> list[Any]:
    """A column as JSON has it: numbers, dates as text, None."""
    values: list[Any] = []
    for value in column.tolist():
        if value is None or value != value:
            values.append(None)
        elif isinstance(value, (bool, int, float, str)):
            values.append(value)
        else:
            values.append(str(value)[:10])
    return values


def main() -> None:
    """Answer line after line."""
    # The engine's own messages go to stdout, too.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    session = Session()
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer = getattr(session, asked.pop("do"))(**asked)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
        answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
