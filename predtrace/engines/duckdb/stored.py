"""Stored results as DuckDB relations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from sqlglot import exp

from predtrace.engines.base import OUTPUT_ROW, StoredBinding, physical_name
from predtrace.engines.duckdb.source import (
    FILE_COLUMN,
    ROW_COLUMN,
    files_reader,
    read_as,
)
from predtrace.engines.sql import trees
from predtrace.engines.sql.literals import number, text_literal
from predtrace.jobs.model import OutputNumbers
from predtrace.jobs.results import stored_files
from symbolic.expr import Column, column_ids

TypesOf = Callable[[tuple[str, ...]], Mapping[str, str]]
"""The column types that DuckDB finds in files."""


def stored_relation(binding: StoredBinding, types_of: TypesOf) -> exp.Expr:
    """The columns of a stored result, with their declared types."""
    files = tuple(stored_files(binding.folder, binding.files))
    types = types_of(files)
    if binding.numbers is None:
        values = [_read(physical_name(c.id), c, types) for c in binding.columns]
        return trees.select(*values, source=files_reader(files)).subquery(copy=False)
    found = {value.column for value in binding.numbers.values}
    own = [column for column in binding.columns if column.id not in found]
    values = [_read(physical_name(c.id), c, types) for c in own]
    rows = trees.select(*values, trees.column(OUTPUT_ROW), source=files_reader(files))
    stored_files(binding.output, binding.output_files)
    output = numbered_output(binding.output, binding.numbers, binding.columns, types_of)
    body = trees.select(
        *(
            trees.column(physical_name(c.id), "o" if c.id in found else "n")
            for c in binding.columns
        ),
        source=rows.subquery("n", copy=False),
    )
    same = exp.EQ(this=trees.column(OUTPUT_ROW, "n"), expression=trees.column(OUTPUT_ROW, "o"))
    trees.joined(body, output.subquery("o", copy=False), "inner", same)
    return body.subquery(copy=False)


def numbered_output(
    folder: str, numbers: OutputNumbers, columns: Sequence[Column], types_of: TypesOf
) -> exp.Select:
    """The output's rows with their numbers; its values under the names of `columns`."""
    files = tuple(str(Path(folder) / file.name) for file in numbers.files)
    types = types_of(files)
    by_id = {column.id: column for column in columns}
    values = [
        _read(physical_name(value.output), by_id[value.column], types)
        for value in numbers.values
        if value.column in by_id
    ]
    row: exp.Expr = trees.column(ROW_COLUMN)
    if len(files) > 1:
        cases = [
            exp.If(
                this=exp.EQ(
                    this=trees.column(FILE_COLUMN, quoted=True), expression=text_literal(path)
                ),
                true=number(file.first),
            )
            for path, file in zip(files, numbers.files, strict=True)
        ]
        row = exp.Add(this=row, expression=exp.paren(exp.Case(ifs=cases), copy=False))
    return trees.select(*values, trees.alias(row, OUTPUT_ROW), source=files_reader(files))


def reduced_rows(
    binding: StoredBinding, rows: exp.Expr, numbers: OutputNumbers | None, types_of: TypesOf
) -> exp.Select:
    """The query for a binding's `rows` (as ``r``) in the order in which they are looked up.

    With `numbers` they have numbers of output rows instead of some values. The first of several
    output rows with the same values stands for all of them.
    """
    replaced = set() if numbers is None else {value.column for value in numbers.values}
    looked_up = column_ids(binding.predicate)
    own = [column for column in binding.columns if column.id not in replaced]
    own.sort(key=lambda column: column.id not in looked_up)
    values = [trees.column(physical_name(column.id), "r") for column in own]
    if numbers is None:
        order = [value.copy() for value in values]
        return trees.select(*values, source=rows).order_by(*order, copy=False)
    output = numbered_output(binding.output, numbers, binding.columns, types_of)
    shared = [trees.column(physical_name(value.column)) for value in numbers.values]
    first = trees.alias(exp.Min(this=trees.column(OUTPUT_ROW)), OUTPUT_ROW)
    firsts = trees.select(*shared, first, source=output.subquery("a", copy=False))
    firsts = firsts.group_by(*(column.copy() for column in shared), copy=False)
    same = (
        exp.NullSafeEQ(this=trees.column(name, "r"), expression=trees.column(name, "o"))
        for name in (physical_name(value.column) for value in numbers.values)
    )
    place = trees.column(OUTPUT_ROW, "o")
    body = trees.select(place, *values, source=rows)
    trees.joined(body, firsts.subquery("o", copy=False), "inner", exp.and_(*same, copy=False))
    order = [place.copy(), *(value.copy() for value in values)]
    return body.order_by(*order, copy=False)


def _read(name: str, column: Column, types: Mapping[str, str]) -> exp.Expr:
    """A stored column by its name in the files, as `column`."""
    value = read_as(trees.column(name), column.type, types.get(name, "absent"), name)
    return trees.alias(value, physical_name(column.id))
