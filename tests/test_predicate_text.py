"""A target predicate means what Spark makes of the same text over the output."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import predtrace
from predtrace.errors import EngineError, TargetError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NULLS = "NULL"
COLUMNS: dict[str, tuple[str, list[str]]] = {
    "tiny": ("TINYINT", ["0", "1", "-128", "127"]),
    "i": ("INT", ["0", "1", "2", "16777217", "-2147483648", "2147483647"]),
    "big": (
        "BIGINT",
        ["1", "100000000000000000", "9007199254740992", "9007199254740993",
         "9223372036854775807", "-9223372036854775808"],
    ),
    "money": ("DECIMAL(5,2)", ["0", "1.50", "2.5", "-999.99", "0.01"]),
    "wide": ("DECIMAL(38,0)", ["1", "2", "12345678901234567890123456789012345678"]),
    "fine": (
        "DECIMAL(38,18)", ["1", "1.5", "0.000000000000000001", "123456789.123456789012345678"]
    ),
    "single": ("FLOAT", ["0.1", "1.5", "-0.0", "'NaN'", "16777216", "'Infinity'", "3e9"]),
    "x": ("DOUBLE", ["0.1", "1.5", "-0.0", "'NaN'", "1e17", "9007199254740992", "1e-50"]),
    "s": (
        "STRING",
        ["'a'", "''", "'A'", "'1'", "'a%b'", "'a_b'", "'a\\\\\\\\b'", "'NaN'", "'ab\\\\n'"],
    ),
    "b": ("BOOLEAN", ["true", "false"]),
    "day": ("DATE", ["'2020-01-01'", "'0001-01-01'", "'2021-10-31'"]),
    "ts": (
        "TIMESTAMP",
        ["'2020-01-01'", "'2021-10-31 02:30:00+02:00'", "'2021-10-31 02:30:00+01:00'",
         "'2021-03-28 03:30:00'", "'2021-10-31'"],
    ),
    "wall": ("TIMESTAMP_NTZ", ["'2020-01-01'", "'2021-03-28 02:30:00'", "'2021-03-28 03:30:00'"]),
}  # fmt: skip
"""Columns of the output: their type and values, each in a row of its own beside NULLs."""

NUMBERS = [
    "0", "1", "-1", "1.", ".5", "1.5", "2.50", "0.1", "1e0", "15e-1", "1e17", "1e-50", "1e30",
    "9007199254740992e0", "9007199254740993", "-9223372036854775808", "9223372036854775808",
    "123456789012345678901", "12345678901234567890123456789012345678", "0.000000000000000001",
    "0.00000000000000000000000000000000000001", "1L", "1S", "1Y", "1.5D", "16777217", "3000000000",
    "-0.0", "0.005", "1e400", "1e-400", "123456789012345678901234567890123456789",
]  # fmt: skip
TEXTS = [
    "'1'", "' 1'", "'1.5'", "'1e0'", "'0.1'", "'NaN'", "'nan'", "'-Infinity'", "'x'", "''",
    "'1_0'", "'9007199254740993'", "'2020-01-01'", "'20200101'", "'2020-1-1'", "'2020-02-30'",
    "'2021-10-31 02:30:00'", "'2021-10-31T02:30:00.000+01:00'", "'2021-03-28 02:30:00'",
    "'2020-W01-3'", "'2020-01-01 00'", "'now'", "'true'", "'t'",
]  # fmt: skip
OTHERS = [
    "true", "NULL", "DATE '2020-01-01'", "TIMESTAMP '2020-01-01'",
    "TIMESTAMP '2021-10-31 02:30:00'", "TIMESTAMP '2021-03-28 03:30:00'",
    "TIMESTAMP_NTZ '2021-03-28 03:30:00'", "DATE '2020-02-30'", "CAST('2020-01-01' AS DATE)",
    "X'41'", "INTERVAL 1 DAY", "'a' 'b'", "r'a'",
]  # fmt: skip
COMPARED = [
    f"{column} {operator} {constant}"
    for column, constant in itertools.product(COLUMNS, [*NUMBERS, *TEXTS, *OTHERS])
    for operator in (("=", "<") if constant in NUMBERS else ("=", ">="))
]
WRITTEN = (Path(__file__).parent / "fixtures" / "predicates.sql").read_text().splitlines()


def rows() -> str:
    """A SELECT of one row for each value of each column, the others NULL, and one of NULLs."""
    found = []
    for number, (column, value) in enumerate(
        [(None, NULLS), *((c, v) for c, (_, values) in COLUMNS.items() for v in values)]
    ):
        shown = (
            f"CAST({value if name == column else NULLS} AS {kind}) AS {name}"
            for name, (kind, _) in COLUMNS.items()
        )
        found.append(f"SELECT {number} AS id, {', '.join(shown)}")
    return " UNION ALL ".join(found)


UNSOUND = "org.apache.spark.sql.catalyst.optimizer.UnwrapCastInBinaryComparison"
"""Takes times that clocks repeat for one."""


def sample() -> list[str]:
    """What is written out, and some of the combinations."""
    return [*WRITTEN, *random.Random(11).sample(COMPARED, 150)]


def accepted(frame: DataFrame, text: str) -> bool:
    """Whether Spark takes the text for a condition over the frame."""
    from pyspark.errors import PySparkException

    try:
        frame.where(text)
    except PySparkException:
        return False
    return True


def means(frame: DataFrame, texts: list[str]) -> dict[str, list[int]]:
    """The ids for which each condition is true to Spark."""
    conditions = [f"CASE WHEN ({text}\n) THEN true END AS p{n}" for n, text in enumerate(texts)]
    rows = frame.selectExpr("id", *conditions).collect()
    return {text: sorted(row.id for row in rows if row[n + 1]) for n, text in enumerate(texts)}


def refused(job: Any, text: str) -> bool:
    try:
        job.lineage(text, engine="spark")
    except TargetError:
        return True
    return False


def found(job: Any, engine: str, texts: list[str]) -> dict[str, list[int]]:
    """The ids that predtrace finds for each text."""
    answer = job.lineage(texts, engine=engine)["v"].to_arrow(["id"])
    pairs = list(zip(answer["target"].to_pylist(), answer["id"].to_pylist(), strict=True))
    return {text: sorted(i for t, i in pairs if t == n) for n, text in enumerate(texts)}


@pytest.fixture(scope="module")
def values(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, str]:
    own = spark.newSession()
    own.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    own.conf.set("spark.sql.optimizer.excludedRules", UNSOUND)
    path = str(tmp_path_factory.mktemp("values") / "v")
    own.sql(rows()).coalesce(1).write.parquet(path)
    return own, path


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_a_predicate_means_what_spark_makes_of_it(
    values: tuple[Any, str], tmp_path: Path, ansi: str
) -> None:
    own, path = values
    own.conf.set("spark.sql.ansi.enabled", ansi)
    frame = own.read.parquet(path)
    frame.createOrReplaceTempView("v")
    job = predtrace.trace("SELECT * FROM v", own).run(tmp_path)
    texts = [text for text in sample() if not refused(job, text)]
    assert [text for text in texts if not accepted(frame, text)] == []
    assert len(texts) > 120
    assert {"b", "i IN (1, 2.5)", "big < x", "s LIKE 'a%'", "day IN ('2020-01-01')"} <= {*texts}
    exact = [text for text in texts if _on_duckdb(job, text)]
    assert len(exact) > 100
    truth = means(frame, texts)
    assert found(job, "duckdb", exact) == {text: truth[text] for text in exact}
    others = [text for text in texts if text not in exact]
    some = others[:12] + exact[:: len(exact) // 6]
    assert found(job, "spark", some) == {text: truth[text] for text in some}


def test_another_type_of_timestamps(values: tuple[Any, str], tmp_path: Path) -> None:
    """Texts that the setting changes are refused; the others mean what they mean to Spark."""
    own, path = values
    session = own.newSession()
    session.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    session.conf.set("spark.sql.optimizer.excludedRules", UNSOUND)
    session.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
    frame = session.read.parquet(path)
    frame.createOrReplaceTempView("v")
    job = predtrace.trace("SELECT * FROM v", session).run(tmp_path)
    assert refused(job, "wall >= TIMESTAMP '2021-03-28 03:00:00'")
    texts = [text for text in sample() if accepted(frame, text) and not refused(job, text)]
    assert len(texts) > 80
    exact = [text for text in texts if _on_duckdb(job, text)]
    truth = means(frame, exact)
    assert found(job, "duckdb", exact) == truth


def _on_duckdb(job: Any, text: str) -> bool:
    try:
        job.lineage(text, engine="duckdb")
    except EngineError:
        return False
    return True
