"""Records of sources that lie in the job's folder, or nowhere: rows kept, and ranges of numbers."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from predtrace.errors import JobFormatError, SourceError
from predtrace.jobs.codec import decode_job, encode_job
from predtrace.jobs.kept import anchored, detached, kept_in
from predtrace.jobs.model import RANGE, Job, Source
from predtrace.jobs.ranges import NumberRange
from predtrace.jobs.snapshot import check_snapshot
from predtrace.jobs.store import JobStore, read_record, replace_job
from symbolic.expr import Column
from symbolic.types import INTEGER, LONG
from tests.jobs.examples import example_job

FEW = Source(
    name="few", format="parquet", roots=(), files=(), columns=(Column(0, "k", LONG),), kept=True
)
NUMBERS = NumberRange(1, 10, 3)
COUNTED = Source(
    name="range 1",
    format=RANGE,
    roots=(),
    files=(NUMBERS.file,),
    columns=(Column(0, "id", LONG),),
    options=NUMBERS.options,
)


def with_sources(job: Job, *sources: Source) -> Job:
    return msgspec.structs.replace(job, sources=(*job.sources, *sources))


def written(folder: Path) -> Source:
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"k": [1, 2]}), folder / "rows.parquet")
    return kept_in(FEW, folder, 2)


def test_kept_rows_move_with_their_job(tmp_path: Path) -> None:
    writer = JobStore(tmp_path / "store").begin()
    source = written(writer.folder / "rows-1")
    job = with_sources(example_job(writer.id, "q"), source, FEW.__class__(**_as("bare")), COUNTED)
    final = writer.commit(job)
    saved = read_record(final)
    assert saved == anchored(job, final)
    kept = saved.sources[-3]
    assert kept.roots == (str(final / "rows-1"),)
    assert [file.path for file in kept.files] == [str(final / "rows-1" / "rows.parquet")]
    assert saved.sources[-2:] == job.sources[-2:]
    check_snapshot(kept)
    shutil.copytree(tmp_path / "store", tmp_path / "copy")
    copied = read_record(tmp_path / "copy" / writer.id)
    check_snapshot(copied.sources[-3])
    replace_job(tmp_path / "copy" / writer.id, copied)
    assert read_record(tmp_path / "copy" / writer.id) == copied
    summary = JobStore(tmp_path / "copy").jobs()[0]
    assert summary.bytes >= kept.files[0].size > 0
    Path(copied.sources[-3].files[0].path).unlink()
    with pytest.raises(SourceError, match="few changed since the job ran"):
        check_snapshot(copied.sources[-3])


def _as(name: str) -> dict[str, object]:
    return {**{field: getattr(FEW, field) for field in FEW.__struct_fields__}, "name": name}


def test_rows_that_were_not_kept(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"rows of few.*were not kept.*rows_limit"):
        check_snapshot(FEW)
    assert not FEW.is_there
    check_snapshot(COUNTED)


BAD = {
    "leads out": {"roots": ("..",)},
    "whole path": {"roots": ("/etc",)},
    "deep": {"roots": ("a/b",)},
    "two roots": {"roots": ("rows-1", "rows-2")},
    "a file elsewhere": {"files": ("output/part.parquet",)},
    "a file outside": {"files": ("rows-1/../x",)},
    "no files": {"files": ()},
    "another format": {"format": "csv"},
    "options": {"options": {"mergeSchema": "true"}},
    "not the range's name": {"source": COUNTED, "files": ("range(0, 3, 1)",)},
    "no step": {"source": COUNTED, "options": {**NUMBERS.options, "step": "0"}},
    "no number": {"source": COUNTED, "options": {**NUMBERS.options, "end": "ten"}},
    "too large": {"source": COUNTED, "options": {**NUMBERS.options, "end": str(1 << 63)}},
    "no start": {"source": COUNTED, "options": {"end": "10", "step": "3"}},
    "kept numbers": {"source": COUNTED, "kept": True},
    "a range of two columns": {"source": COUNTED, "columns": (Column(0, "id", LONG),) * 2},
    "a range of ints": {"source": COUNTED, "columns": (Column(0, "id", INTEGER),)},
}


@pytest.mark.parametrize("case", BAD)
def test_records_that_make_no_sense(tmp_path: Path, case: str) -> None:
    changes = dict(BAD[case])
    given = changes.pop("source", None)
    job = with_sources(example_job("a", "q"), written(tmp_path / "rows-1"))
    good = detached(job).sources[-1] if given is None else given
    assert decode_job(encode_job(with_sources(example_job("a", "q"), good)), "x")  # type: ignore[arg-type]
    if "files" in changes:
        files = (msgspec.structs.replace(good.files[0], path=path) for path in changes["files"])  # type: ignore[attr-defined]
        changes["files"] = tuple(files)
    bad = with_sources(example_job("a", "q"), msgspec.structs.replace(good, **changes))  # type: ignore[type-var]
    with pytest.raises(JobFormatError, match="does not hold a valid job"):
        decode_job(encode_job(bad), "x")


def test_ranges_have_the_rows_of_pythons() -> None:
    ends, steps = (-7, -1, 0, 1, 2, 9), (-5, -2, -1, 1, 3)
    found = {bounds: NumberRange(*bounds).rows for bounds in itertools.product(ends, ends, steps)}
    assert found == {bounds: len(range(*bounds)) for bounds in found}
    assert len(found) == 180
    assert NumberRange(-(1 << 63), (1 << 63) - 1, 1).rows == (1 << 64) - 1
    assert NumberRange(-(1 << 62), (1 << 62) - 1, 1 << 60).overflows
    assert not NumberRange(1 << 62, -(1 << 62), -(1 << 60)).overflows
