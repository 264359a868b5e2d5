"""One program, run and asked about: what predtrace answers against the truth."""

from __future__ import annotations

import random
import shutil
import traceback
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.pipelines.data import SEED, Table, tables
from tests.pipelines.files import write
from tests.pipelines.kit import Frame, Tables, key, merged
from tests.pipelines.program import Program, Settings, by_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ENGINES = ("duckdb", "spark")
QUESTIONS = (
    ("auto", "auto"),
    *((mode, engine) for mode in ("stored", "replayed", "indexed") for engine in ENGINES),
)
"""Modes and engines."""
TARGETS = 5
FINDINGS = ("missing", "extra", "crash", "output differs")
UNCOUNTED = ("evaluator differs", "evaluator raises", "Spark raises")


@dataclass
class Verdict:
    """What came of one output, or of one question about it (then with mode and engine)."""

    program: str
    output: str
    verdict: str
    mode: str = "-"
    engine: str = "-"
    detail: str = ""
    facts: dict[str, Any] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


class Place(NamedTuple):
    """The folder of the source tables, these tables, a folder for jobs, and the tables' seed."""

    folder: Path
    tables: Mapping[str, Table]
    store: Path
    seed: int

    @classmethod
    def made(cls, folder: Path, seed: int = SEED) -> Place:
        """The tables of a seed, written into a folder that is there."""
        made = tables(seed)
        (data := folder / f"data-{seed}").mkdir()
        write(data, made)
        return cls(data, made, folder, seed)


def check(
    program: Program,
    spark: SparkSession,
    place: Place,
    questions: Sequence[tuple[str, str]] = QUESTIONS,
) -> Iterator[Verdict]:
    """Run and ask; a verdict for each output that is not asked about, and for each question."""
    settings = program.settings(place.seed)
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", settings.zone)
    session.conf.set("spark.sql.ansi.enabled", str(settings.ansi).lower())
    sources = Tables(
        {name: (list(table.columns), table.rows) for name, table in place.tables.items()},
        settings.zone,
        settings.whole,
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frames = by_name(program.spark(session, str(place.folder)))
    except Exception as error:
        yield Verdict(program.name, "-", "Spark raises", detail=_told(error))
        return
    try:
        truths = by_name(program.truth(sources))
    except Exception:
        yield Verdict(program.name, "-", "evaluator raises", detail=traceback.format_exc()[-1500:])
        return
    assert frames.keys() == truths.keys(), program.name
    for name, frame in frames.items():
        output = Output(program.name, name, settings, frame, truths[name], sources)
        yield from output.verdicts(place.store / f"{program.name}-{name}", questions)


class Output(NamedTuple):
    """One output of a program, beside its truth."""

    program: str
    name: str
    settings: Settings
    frame: DataFrame
    truth: Frame
    sources: Tables

    def verdicts(self, store: Path, questions: Sequence[tuple[str, str]]) -> Iterator[Verdict]:
        """All of them."""
        import predtrace

        try:
            plain = bag(output_rows(self.frame.toArrow()))
        except Exception as error:
            yield self._is("Spark raises", detail=_told(error))
            return
        mine = bag([tuple(row[name] for name in self.truth.columns) for row in self.truth.rows])
        if plain != mine:
            yield self._is("evaluator differs", detail=f"Spark only {plain - mine}, "
                           f"evaluator only {mine - plain}"[:3000])  # fmt: skip
            return
        try:
            trace = predtrace.trace(self.frame)
            reading = "whole" if self.settings.whole else "minimal"
            job = trace.run(store=store, keep="inline", aggregates=reading)
            rows = output_rows(job.output_arrow())
        except predtrace.PredTraceError as refusal:
            yield self._is("refused", detail=_told(refusal))
            return
        except Exception as error:
            yield self._is("crash", detail=_told(error))
            return
        if bag(rows) != plain:
            yield self._is("output differs", detail=f"{bag(rows) - plain} for {plain - bag(rows)}")
            return
        if not rows:
            yield self._is("empty output")
            return
        targets = chosen(rows, self.program)
        for mode, engine in questions:
            yield self._asked(job, targets, mode, engine)
        shutil.rmtree(store, ignore_errors=True)

    def _is(self, verdict: str, mode: str = "-", engine: str = "-", **more: Any) -> Verdict:
        return Verdict(self.program, self.name, verdict, mode, engine, **more)

    def _asked(self, job: Any, targets: Sequence[Any], mode: str, engine: str) -> Verdict:
        from predtrace import PredTraceError

        try:
            if mode == "indexed":
                job.build_index(engine=engine, rebuild=True)
            # The first target twice, so that an answer always numbers its targets.
            answer = job.lineage([*targets, targets[0]], mode=mode, engine=engine)
            verdict, facts = self._judged(answer, targets)
        except PredTraceError as refusal:
            return self._is("refused", mode, engine, detail=_told(refusal))
        except Exception as error:
            return self._is("crash", mode, engine, detail=_told(error))
        reasons = "; ".join(sorted({scan.reason for scan in answer.scans if scan.reason}))
        facts |= {"answered": f"{answer.mode} on {answer.engine}"}
        return self._is(verdict, mode, engine, detail=reasons, facts=facts)

    def _judged(self, answer: Any, targets: Sequence[Any]) -> tuple[str, dict[str, Any]]:
        """The worst verdict of a target and a table, with its facts."""
        lineage = merged(self.truth)
        rounded = {key(row, exact=False): sources for row, sources in lineage.items()}
        tables = self._names(answer.scans)
        found = [(one, _by_target(one, self.sources, tables)) for one in answer.scans]
        worst: tuple[str, dict[str, Any]] = ("exact", {})
        if answer.missing:
            return "missing", {"not found": list(answer.missing)}
        for number, target in enumerate(targets):
            behind = rounded[key(target, exact=False)]
            for scans, wanted in self._pairs(found, tables, behind):
                verdict, facts = _compared(scans, wanted, number, self.sources)
                if _RANKS.index(verdict) > _RANKS.index(worst[0]):
                    worst = verdict, {"target": repr(target)[:500], **facts}
        return worst

    def _names(self, scans: Sequence[Any]) -> dict[str, str]:
        """Their names of tables, as the truth has them: by path, else what is left over."""
        theirs = {scan.table: Path(scan.paths[0]).stem if scan.paths else "" for scan in scans}
        known = {
            table: next(name for name in (stem, table) if name in self.sources.tables)
            for table, stem in theirs.items()
            if {stem, table} & self.sources.tables.keys()
        }
        unknown = [table for table in theirs if table not in known]
        used = {name for rows in merged(self.truth).values() for name, _, _ in rows}
        left = sorted(used - {*known.values()})
        assert len(unknown) <= 1 or not left, (unknown, left)
        return {**known, **dict(zip(unknown, left, strict=False))}

    def _pairs(
        self, found: Sequence[Any], tables: Mapping[str, str], behind: frozenset[Any]
    ) -> Iterator[tuple[list[Any], frozenset[Any]]]:
        """Their scans beside the wanted rows: one by one where there are as many, else together."""
        theirs: dict[str, list[Any]] = defaultdict(list)
        for scan, rows in found:
            theirs[tables.get(scan.table, scan.table)].append((scan, rows))
        for table in {**theirs, **{name: None for name, _, _ in behind}}:
            scans = theirs.get(table, [])
            mine = frozenset(origin for origin in behind if origin[0] == table)
            if len(scans) == self.sources.scans[table]:
                for scan, rows in scans:
                    wanted = {origin for origin in mine if origin[1] == scan.occurrence}
                    yield [(scan, rows)], frozenset(wanted)
            else:
                yield scans, mine


_RANKS = ("exact", "superset", "extra", "missing")


def _compared(
    scans: Sequence[Any], wanted: frozenset[Any], number: int, sources: Tables
) -> tuple[str, dict[str, Any]]:
    """The verdict on scans that stand for the wanted source rows, compared by their values."""
    got: Counter[Any] = Counter()
    for _, rows in scans:
        got |= rows.get(number, Counter())
    want: Counter[Any] = Counter()
    for table, row in {(table, row) for table, _, row in wanted}:
        names, all_rows = sources.tables[table]
        values = dict(zip(names, all_rows[row], strict=True))
        columns = scans[0][0].columns if scans else ()
        shown = [values[c] for c in columns if c in values] or list(all_rows[row])
        want[key(shown, exact=False)] += 1
    precise = all(scan.label == "precise" for scan, _ in scans)
    facts = {"scan": [f"{scan.table}[{scan.occurrence}] {scan.label}" for scan, _ in scans],
             "missing": repr(dict(want - got))[:600], "extra": repr(dict(got - want))[:600],
             "wanted": want.total()}  # fmt: skip
    if want - got:
        return "missing", facts
    if got - want:
        return ("extra" if precise else "superset"), facts
    return ("exact" if precise else "superset"), facts


def _by_target(scan: Any, sources: Tables, tables: Mapping[str, str]) -> dict[int, Counter[Any]]:
    """A scan's rows by the number of the target, without columns such as ``_metadata``."""
    names, _ = sources.tables.get(tables.get(scan.table, ""), ((), ()))
    known = [c in names for c in scan.columns]
    found: dict[int, Counter[Any]] = defaultdict(Counter)
    for target, *values in output_rows(scan.to_arrow()):
        shown = [v for v, k in zip(values, known, strict=True) if k] or values
        found[target][key(shown, exact=False)] += 1
    return found


def output_rows(table: Any) -> list[tuple[Any, ...]]:
    """An Arrow table's rows, by position; column names may repeat."""
    columns = [column.to_pylist() for column in table.columns]
    return list(zip(*columns, strict=True)) if columns else []


def bag(rows: Sequence[Any]) -> Counter[Any]:
    """The rows with their numbers of times."""
    return Counter(key(list(row), exact=False) for row in rows)


def chosen(rows: Sequence[Any], name: str) -> list[Any]:
    """A few different rows, drawn by the program's name."""
    different = list({key(list(row), exact=False): row for row in rows}.values())
    return random.Random(name).sample(different, min(TARGETS, len(different)))


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error!s}"[:1200]
