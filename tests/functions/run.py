"""Cases asked in batches, and one by one where a batch fails."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tests.functions.cases import Case
from tests.functions.question import Outcome, ask, read
from tests.functions.truth import Prepared, batches, prepared
from tests.functions.values import make_tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SIZE = 24
_FINE = ("exact", "refused")
ENGINES = ("duckdb", "spark")


class Edges:
    """The tables of edge values, and sessions with both ANSI modes in a zone."""

    def __init__(self, spark: SparkSession, folder: Path, zone: str) -> None:
        self._folder = folder
        self._sessions = {}
        for ansi in (True, False):
            session = spark.newSession()
            session.conf.set("spark.sql.session.timeZone", zone)
            session.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
            self._sessions[ansi] = session
        make_tables(self._sessions[False], folder)

    def outcomes(
        self,
        cases: list[Case],
        ansi: bool,
        engines: tuple[str, ...] = ENGINES,
        most: int | None = None,
    ) -> Iterator[tuple[Case, str, Outcome]]:
        """What came of each case on each engine, or (engine ``-``) why it is not asked.

        Of `most` result types, the most frequent ones, if given.
        """
        for table in ("edges", "spans"):
            some = [case for case in cases if Prepared(case.text).table == table]
            if some:
                yield from self._outcomes(some, ansi, engines, most)

    def session(self, *, ansi: bool) -> SparkSession:
        """The session with an ANSI mode."""
        return self._sessions[ansi]

    def _outcomes(
        self, cases: list[Case], ansi: bool, engines: tuple[str, ...], most: int | None
    ) -> Iterator[tuple[Case, str, Outcome]]:
        spark = self._sessions[ansi]
        taken = {one.text: one for one in prepared(spark, [case.text for case in cases])}
        types = Counter(one.type for one in taken.values()).most_common(most)
        for case in cases:
            if case.text not in taken:
                yield case, "-", Outcome("not accepted by Spark")
        by_text = {case.text: case for case in cases}
        asked: dict[tuple[str, ...], list[Prepared]] = {}
        for one, reading in zip(taken.values(), read(spark, list(taken.values())), strict=True):
            case = by_text[one.text]
            if one.type not in dict(types):
                continue
            if reading.refused is not None:
                yield case, "-", Outcome("not traced", reading.refused)
                continue
            if case.function not in reading.functions:
                yield (
                    case,
                    "reading",
                    Outcome("other function", " ".join(sorted(reading.functions))),
                )
            if "month" in one.type or "year" in one.type:
                yield case, "-", Outcome("no value of its type in PySpark")
                continue
            if reading.obstacle is not None and "duckdb" in engines:
                yield case, "duckdb", Outcome("refused", reading.obstacle)
            able = tuple(e for e in engines if e == "spark" or reading.obstacle is None)
            asked.setdefault(able, []).append(one)
        for able, some in asked.items():
            for batch in batches(some, _SIZE) if able else ():
                for one, engine, outcome in self._asked(spark, batch, able):
                    yield by_text[one.text], engine, outcome

    def _asked(
        self, spark: SparkSession, batch: list[Prepared], engines: tuple[str, ...]
    ) -> list[tuple[Prepared, str, Outcome]]:
        try:
            with tempfile.TemporaryDirectory(dir=self._folder) as store:
                found = ask(spark, batch, Path(store), engines)
        except Exception as error:
            crash = Outcome("crash", repr(error)[:2000])
            found = {engine: [crash] * len(batch) for engine in engines}
        flat = [
            (case, engine, outcome)
            for engine, outcomes in found.items()
            for case, outcome in zip(batch, outcomes, strict=True)
        ]
        if len(batch) == 1 or all(outcome.verdict in _FINE for _, _, outcome in flat):
            return flat
        return [item for case in batch for item in self._asked(spark, [case], engines)]
