"""The cache of sources that only Spark reads exactly: Spark reads them once, for all questions.

They are written when a question would be answered by DuckDB but for these sources. What cannot be
cached is read by Spark for each question, and a note says why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from predtrace.durable.writing import folder_made_whole, sole_writer, sweep
from predtrace.errors import EngineError, PredTraceError, SourceError, StoreError
from predtrace.jobs.caches import (
    FoundSource,
    cached_columns,
    drop,
    drop_source,
    enter,
    folder_name,
    found_sources,
    planned,
)
from predtrace.jobs.model import EngineSettings, Job, Source
from predtrace.jobs.settings import PREFIX
from predtrace.jobs.snapshot import check_snapshot, unchanged
from predtrace.text.layout import size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

_LOCK = "cache.lock"
_SKIPS = ("ignorecorruptfiles", "ignoremissingfiles")
"""Options of a source under which Spark goes on where a file cannot be read."""
_AS_READ = {
    f"{PREFIX}files.ignoreCorruptFiles": "false",
    f"{PREFIX}files.ignoreMissingFiles": "false",
    f"{PREFIX}json.enablePartialResults": "true",
}
"""Settings of the job, with the value under which a row does not depend on the columns read."""


class SourceCache:
    """What the job in `folder` has cached, and may cache: sources of at most `limit` bytes.

    With 0 nothing is added; None stands for no limit.
    """

    def __init__(self, job: Job, folder: Path, limit: int | None = 0) -> None:
        self.limit = limit
        self._job = job
        self._folder = folder

    @cached_property
    def found(self) -> Mapping[str, FoundSource]:
        """The cached sources, by name."""
        return found_sources(self._job, self._folder)

    def with_planned(self, sources: Sequence[Source]) -> dict[str, FoundSource]:
        """The cached sources, and these as they would be cached."""
        return {**self.found, **{source.name: planned(self._job, source) for source in sources}}

    def add(self, sources: Sequence[Source], spark: Callable[[], SparkSession]) -> list[str]:
        """Have Spark read and write these sources; returns notes on what was done, or why nothing.

        Without one of them the others do not help. Whoever asks at the same time waits. Raises
        SourceError if a source changed.
        """
        refused = next(filter(None, (self._refusal(source) for source in sources)), None)
        if refused is not None:
            return [refused]
        before = set(self.found)
        problem = None
        try:
            with self._alone():
                for source in sources:
                    self._write(source, spark)
        except EngineError as error:
            problem = str(error)
        except StoreError as error:
            problem = f"the job's folder cannot be written ({error})"
        vars(self).pop("found", None)
        notes = [
            f"source {name} was read once by Spark, into the job's cache ({size(one.record.bytes)})"
            for name, one in self.found.items()
            if name not in before
        ]
        return [*notes, *([f"not cached, since {problem}"] if problem else [])]

    def _refusal(self, source: Source) -> str | None:
        if problem := unsteady(source, self._job.settings):
            return problem
        needed = sum(file.size for file in source.files)
        if self.limit is None or needed <= self.limit:
            return None
        return (
            f"source {source.name} is not cached: its {size(needed)} are more than cache_limit "
            f"({size(self.limit)})"
        )

    def _write(self, source: Source, spark: Callable[[], SparkSession]) -> None:
        if source.name in found_sources(self._job, self._folder):
            return  # by whoever asked at the same time
        from predtrace.engines.spark.caching import write_source

        place = self._folder / folder_name(source)
        drop_source(self._folder, source)
        columns = cached_columns(self._job, source)
        session = spark()
        try:
            with folder_made_whole(place) as draft, unchanged([source]):
                rows = write_source(session, self._job.settings, source, columns, draft)
                numbered = source.has_row_numbers
                enter(self._folder, draft.name, columns, rows=rows, numbered=numbered)
        except OSError as error:
            # Where there are no locks, another process may have been first.
            if not place.exists():
                raise StoreError(error.strerror or str(error)) from error

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep out other writers of the cache, and remove what killed or old ones left."""
        try:
            with sole_writer(self._folder / _LOCK):
                sweep(self._folder)
                drop(self._folder, [folder_name(source) for source in self._job.sources])
                yield
        except OSError as error:
            raise StoreError(error.strerror or str(error)) from error


def unsteady(source: Source, settings: EngineSettings) -> str | None:
    """Why reading all columns of a source may give other rows than the job read; None if not."""
    if not settings.conf:
        return f"source {source.name} is not cached: the job was saved without all of its settings"
    for key, value in source.options.items():
        if key.lower() in _SKIPS and value.lower() != "false":
            return f"source {source.name} is not cached: it is read with the option {key}"
    for key, alike in _AS_READ.items():
        value = settings.conf.get(key) or alike
        if value != alike:
            return f"source {source.name} is not cached: it was read with {key}={value}"
    return None


def check_unchanged(job: Job, folder: Path, sources: Sequence[Source]) -> None:
    """Raise SourceError if a source is not what the job read; what was cached of it is dropped."""
    for source in sources:
        try:
            check_snapshot(source)
        except SourceError:
            drop_source(folder, source)
            raise


def check_limit(limit: int | None) -> None:
    """Raise PredTraceError unless the limit is a number of bytes, or None."""
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):
        raise PredTraceError(f"cache_limit is a number of bytes or None, not {limit!r}")
