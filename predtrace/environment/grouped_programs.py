"""Programs of the user over groups, which give the key of the group with each row.

A pickled program runs in Spark's Python processes, which load it as they would without predtrace.
The rows of a group come with more columns at their end: the group's key, as text. The program does
not see them; the rows that it returns get them, under `names`.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

Program = Callable[..., Any]


def with_key(command: bytes, kind: int, names: tuple[str, ...], returns: Any) -> bytes:
    """The pickled program that calls the pickled one; `returns` is its result's type.

    `kind` is PySpark's number of the evaluation type.
    """
    from pyspark import cloudpickle
    from pyspark.serializers import pickle_protocol

    made = _PROGRAMS[kind](_loading(command), names)
    return bytes(cloudpickle.dumps((made, returns), pickle_protocol))


# The functions below are pickled by value: the processes that call them need no predtrace.


def _loading(command: bytes) -> Program:
    """Calls the user's program with the key if it takes one, as PySpark does."""
    loaded: list[Any] = []

    def called(key: Any, *groups: Any) -> Any:
        import inspect

        if not loaded:
            found = pickle.loads(command)
            # A large program is in a broadcast.
            loaded.append((found if isinstance(found, tuple) else pickle.loads(found.value))[0])
        takes_key = len(inspect.getfullargspec(loaded[0]).args) > len(groups)
        return loaded[0](key, *groups) if takes_key else loaded[0](*groups)

    return called


def _of_frames(program: Program, names: tuple[str, ...]) -> Program:
    split, marked = _frames(names)

    def grouped(key: Any, frame: Any) -> Any:
        rows, texts = split(frame)
        return marked(program(key, rows), texts)

    return grouped


def _of_two_frames(program: Program, names: tuple[str, ...]) -> Program:
    split, marked = _frames(names)

    def grouped(key: Any, left: Any, right: Any) -> Any:
        (first, texts), (second, others) = split(left), split(right)
        return marked(program(key, first, second), texts or others)

    return grouped


def _of_frames_in_turn(program: Program, names: tuple[str, ...]) -> Program:
    return _in_turn(program, *_frames(names))


def _of_tables(program: Program, names: tuple[str, ...]) -> Program:
    split, marked = _tables(names)

    def grouped(key: Any, table: Any) -> Any:
        rows, texts = split(table)
        return marked(program(key, rows), texts)

    return grouped


def _of_two_tables(program: Program, names: tuple[str, ...]) -> Program:
    split, marked = _tables(names)

    def grouped(key: Any, left: Any, right: Any) -> Any:
        (first, texts), (second, others) = split(left), split(right)
        return marked(program(key, first, second), texts or others)

    return grouped


def _of_tables_in_turn(program: Program, names: tuple[str, ...]) -> Program:
    return _in_turn(program, *_tables(names))


def _in_turn(program: Program, split: Program, marked: Program) -> Program:
    def grouped(key: Any, batches: Any) -> Any:
        first, texts = split(next(batches))

        def rows() -> Iterator[Any]:
            yield first
            for batch in batches:
                yield split(batch)[0]

        for result in program(key, rows()):
            yield marked(result, texts)

    return grouped


def _frames(names: tuple[str, ...]) -> tuple[Program, Program]:
    """Takes the key's texts off a pandas frame, and gives a frame these texts.

    There are no texts in a frame without rows.
    """
    count = len(names)

    def split(frame: Any) -> Any:
        texts = [frame.iloc[0, place] for place in range(-count, 0)] if len(frame) else []
        kept = frame.iloc[:, : frame.shape[1] - count].copy()
        return kept, [text if isinstance(text, str) else None for text in texts]

    def marked(result: Any, texts: list[Any]) -> Any:
        import pandas as pd

        if not isinstance(result, pd.DataFrame) or not len(result.columns):
            return result
        found = result.copy(deep=False)
        by_name = any(isinstance(name, str) for name in result.columns)
        for name, text in zip(names, texts, strict=True):
            label: Any = name if by_name else len(found.columns)
            while not by_name and label in found.columns:
                label += 1
            found[label] = pd.Series([text] * len(found), index=found.index, dtype=object)
        return found

    return split, marked


def _tables(names: tuple[str, ...]) -> tuple[Program, Program]:
    """The same of Arrow tables and batches."""
    count = len(names)

    def split(table: Any) -> Any:
        width = table.num_columns - count
        columns = [table.column(place) for place in range(width, table.num_columns)]
        texts = [column[0].as_py() for column in columns] if table.num_rows else []
        return table.select(list(range(width))), texts

    def marked(result: Any, texts: list[Any]) -> Any:
        import pyarrow as pa

        if not isinstance(result, (pa.Table, pa.RecordBatch)) or not result.num_columns:
            return result
        added = [pa.array([text] * result.num_rows, pa.string()) for text in texts]
        return type(result).from_arrays(
            [*result.columns, *added], names=[*result.schema.names, *names]
        )

    return split, marked


_PROGRAMS: dict[int, Callable[[Program, tuple[str, ...]], Program]] = {
    201: _of_frames,
    206: _of_two_frames,
    209: _of_tables,
    210: _of_two_tables,
    215: _of_tables_in_turn,
    216: _of_frames_in_turn,
}
"""PySpark's evaluation type: how a program over groups is called."""
KINDS = frozenset(_PROGRAMS)
"""The evaluation types of programs over groups."""
