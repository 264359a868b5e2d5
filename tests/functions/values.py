"""Edge values of every type, as Spark SQL, and the table that has them in pairs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_WRITING = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
}
ROWS = 196
"""Of the table: all pairs of the values of a type that has 14."""


def _of(sql_type: str, *texts: str) -> list[str]:
    return [f"CAST({text} AS {sql_type})" for text in ("NULL", *texts)]


def _quoted(sql_type: str, *texts: str) -> list[str]:
    return _of(sql_type, *("'" + text.replace("\\", "\\\\") + "'" for text in texts))


TYPES: dict[str, str] = {
    "flag": "BOOLEAN",
    "i8": "TINYINT",
    "i16": "SMALLINT",
    "i32": "INT",
    "i64": "BIGINT",
    "f32": "FLOAT",
    "f64": "DOUBLE",
    "d5": "DECIMAL(5,2)",
    "d18": "DECIMAL(18,9)",
    "d38": "DECIMAL(38,10)",
    "unit": "DECIMAL(4,4)",
    "frac": "DECIMAL(38,37)",
    "text": "STRING",
    "num": "STRING",
    "odd": "STRING",
    "when": "STRING",
    "pad": "CHAR(4)",
    "bytes": "BINARY",
    "day": "DATE",
    "ts": "TIMESTAMP",
    "ntz": "TIMESTAMP_NTZ",
    "ym": "INTERVAL YEAR TO MONTH",
    "ds": "INTERVAL DAY TO SECOND",
    "ai": "ARRAY<INT>",
    "af": "ARRAY<DOUBLE>",
    "at": "ARRAY<STRING>",
    "aa": "ARRAY<ARRAY<INT>>",
    "st": "STRUCT<a: INT, b: DOUBLE>",
    "mp": "MAP<STRING, INT>",
}
"""Kind of value to its SQL type: a kind's values are in the columns ``<kind>_a`` to ``_c``."""
SPANS = ("ym", "ds")
"""Kinds that DuckDB does not read."""

_INSTANTS = (
    "0001-01-01 00:00:00", "1582-10-04 23:59:59.999999", "1582-10-15 00:00:00",
    "1883-11-18 12:00:00.5", "1900-01-01 00:00:00", "1969-12-31 23:59:59.999999",
    "2021-03-28 02:30:00", "2021-10-31 02:30:00", "2021-10-31 01:30:00.000001",
    "2011-03-13 00:01:30", "2011-11-06 00:00:30", "2024-02-29 12:34:56.789", "9999-12-31 23:59:59",
)  # fmt: skip
EDGES: dict[str, list[str]] = {
    "flag": _of("BOOLEAN", "true", "false"),
    "i8": _of("TINYINT", "0", "1", "-1", "2", "3", "127", "-128"),
    "i16": _of("SMALLINT", "0", "1", "-1", "2", "12", "32767", "-32768"),
    "i32": _of("INT", "0", "1", "-1", "2", "3", "-3", "12", "31", "400", "2147483647",
               "-2147483648"),
    "i64": _of("BIGINT", "0", "1", "-1", "3", "1600000000", "9007199254740993", "4294967296",
               "9223372036854775807", "-9223372036854775807 - 1"),
    "f32": _quoted("FLOAT", "0.0", "-0.0", "1.5", "0.1", "-2.5", "16777216", "3.4028235e38",
                   "1e-45", "NaN", "Infinity", "-Infinity"),
    "f64": _quoted("DOUBLE", "0.0", "-0.0", "0.1", "-1.5", "2.5", "1e-320", "9007199254740993",
                   "1e22", "1.7976931348623157e308", "NaN", "Infinity", "-Infinity", "123456.785"),
    "d5": _of("DECIMAL(5,2)", "0", "0.01", "-0.01", "0.05", "-0.15", "1.00", "2.50", "32",
              "999.99", "-999.99"),
    "d18": _of("DECIMAL(18,9)", "0", "0.000000001", "-0.000000005", "0.5", "1.5", "-2.5",
               "100.005", "999999999.999999999", "-999999999.999999999"),
    "d38": _of("DECIMAL(38,10)", "0", "0.0000000001", "-0.00000005", "1", "-1.005", "3",
               "9223372036854775808", "9999999999999999999999999999.9999999999",
               "-9999999999999999999999999999.9999999999"),
    "unit": _of("DECIMAL(4,4)", "0", "0.5", "-0.5", "0.0001", "-0.0001", "0.9999", "-0.9999"),
    "frac": _of("DECIMAL(38,37)", "0", "1", "-9", "0.0000000000000000000000000000000000001",
                "9.9999999999999999999999999999999999999"),
    "text": _quoted("STRING", "", " ", "a", "Ab cd", "  ab ", "a%b", "a_b", "a\\b", "é", "ßÅİ",
                    "\U0001f986x", "\u00a0x\t", "1,2,1"),
    "num": _quoted("STRING", "", "1", " 1 ", "1.5", "-0", "+2", "1e3", "127.9", "NaN", "Infinity",
                   "true", "9223372036854775808", "0x10"),
    "odd": _quoted("STRING", ".", "+.5", "1.", "-", "\u00a01", "\t1\n", "2147483648", "-32769.9",
                   "1e-2", "1d", "tRue ", "ΑΣ ΣΑΣ", "1,,2"),
    "when": _quoted("STRING", "", "2021-03-28 02:30:00", "2021-10-31", " 2024-02-30 ", "1582-10-10",
                    "2021-10-31T02:30:00.5Z", "0001-01-01", "9999-12-31 23:59:59", "24:00:00",
                    "+10000-01-01", "2021-1-1", "epoch", "2021-10-31 02:30:00 Europe/Berlin"),
    "pad": _quoted("STRING", "", "a", "ab", "abcd", " b"),
    "bytes": ["CAST(NULL AS BINARY)", "X''", "X'00'", "X'61'", "X'FF'", "X'6162'"],
    "day": _quoted("DATE", "0001-01-01", "1582-10-04", "1582-10-15", "1899-12-31", "1970-01-01",
                   "2000-02-29", "2021-01-31", "2021-03-28", "2021-10-31", "2024-02-29",
                   "2024-12-30", "9999-12-31"),
    "ts": _quoted("TIMESTAMP", *_INSTANTS),
    "ntz": _quoted("TIMESTAMP_NTZ", *_INSTANTS),
    "ym": _quoted("INTERVAL YEAR TO MONTH", "0-0", "0-1", "-0-1", "1-0", "100-11", "-1-1"),
    "ds": _quoted("INTERVAL DAY TO SECOND", "0 00:00:00", "1 00:00:00", "-1 00:00:00",
                  "0 02:30:00", "-0 00:00:00.000001", "365 23:59:59.999999"),
    "ai": _of("ARRAY<INT>", "array()", "array(1)", "array(1, NULL)", "array(2, 1, 2)",
              "array(-1, 0, 3, 3)"),
    "af": _of("ARRAY<DOUBLE>", "array()", "array(0.0D)", "array(-0.0D, 0.0D)",
              "array(double('NaN'), NULL)", "array(1.5D, double('NaN'), -1D)"),
    "at": _of("ARRAY<STRING>", "array()", "array('')", "array('a', 'A')", "array(NULL, 'b')",
              "array('é', ' ', 'a')"),
    "aa": _of("ARRAY<ARRAY<INT>>", "array()", "array(array(1))", "array(array(1, 2), array())",
              "array(array(NULL), NULL)"),
    "st": _of("STRUCT<a: INT, b: DOUBLE>", "named_struct('a', 1, 'b', 0.0D)",
              "named_struct('a', 1, 'b', -0.0D)", "named_struct('a', NULL, 'b', double('NaN'))",
              "named_struct('a', 2, 'b', NULL)"),
    "mp": _of("MAP<STRING, INT>", "map()", "map('a', 1)", "map('a', NULL, 'b', 2)"),
}  # fmt: skip
"""Kind to its values: NULL first."""


def make_tables(spark: SparkSession, folder: Path) -> None:
    """Write the tables ``edges`` and ``spans``, in the zone of the session, for all sessions.

    Of a kind's values all pairs stand in the first two columns, row by row. What DuckDB does
    not read is in the table ``spans`` alone, which has the other columns, too.
    """
    for table, kinds in (
        ("edges", [kind for kind in EDGES if kind not in SPANS]),
        ("spans", EDGES),
    ):
        _make_table(spark, folder / table, table, kinds)


def _make_table(spark: SparkSession, path: Path, table: str, kinds: Iterable[str]) -> None:
    columns = ["CAST(id AS INT) AS id"]
    for kind in kinds:
        values = EDGES[kind]
        some = len(values)
        places = (f"(id DIV {some}) % {some}", f"id % {some}", f"(5 * id + 2) % {some}")
        choices = f"array({', '.join(values)})"
        columns += [
            f"element_at({choices}, CAST({place} AS INT) + 1) AS {kind}_{letter}"
            for place, letter in zip(places, "abc", strict=True)
        ]
    schema = ["id INT", *(f"{kind}_{letter} {TYPES[kind]}" for kind in kinds for letter in "abc")]
    for key, value in _WRITING.items():
        spark.conf.set(key, value)
    rows = spark.sql(f"SELECT {', '.join(columns)} FROM range({ROWS})")
    rows.coalesce(1).write.parquet(str(path))
    # CHAR columns are padded on reading from tables only.
    spark.sql(f"CREATE TABLE {table} ({', '.join(schema)}) USING parquet LOCATION '{path}'")
