from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from predtrace.errors import SourceError
from predtrace.jobs.model import Source
from predtrace.jobs.snapshot import check_snapshot, snapshot_files
from tests.jobs.examples import source


def write(path: Path, rows: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"a": list(range(rows))}), path)


def snapshot(root: Path) -> Source:
    return msgspec.structs.replace(
        source("orders"), roots=(str(root),), files=snapshot_files([str(root)])
    )


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    root = tmp_path / "orders"
    for part in range(6):
        write(root / f"year={part}" / f"part-{part}.parquet", part)
    write(root / "_year=9" / "part.parquet", 1)
    write(root / "_temporary" / "part.parquet", 1)
    write(root / ".hidden" / "part.parquet", 1)
    (root / "_SUCCESS").write_text("")
    (root / "x.csv._COPYING_").write_text("")
    return root


def test_files_and_rows(orders: Path) -> None:
    files = snapshot_files([str(orders)])
    names = [(os.path.relpath(file.path, orders), file.rows) for file in files]
    expected = [(f"year={part}/part-{part}.parquet", part) for part in range(6)]
    assert names == [("_year=9/part.parquet", 1), *expected]
    assert all(file.size == os.stat(file.path).st_size for file in files)


def test_a_root_may_be_a_file_of_any_name_and_format(tmp_path: Path) -> None:
    path = tmp_path / "_one.csv"
    path.write_text("a\n1\n")
    (file,) = snapshot_files([str(path), str(path)])
    assert (file.path, file.size, file.rows) == (str(path), 4, None)


def test_unchanged(orders: Path) -> None:
    check_snapshot(snapshot(orders))


def test_changes_are_named(orders: Path) -> None:
    before = snapshot(orders)
    part = orders / "year=1" / "part-1.parquet"
    status = part.stat()
    os.utime(part, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    with pytest.raises(SourceError, match=r"orders changed .*part-1\.parquet was modified"):
        check_snapshot(before)
    write(part, 1000)
    with pytest.raises(SourceError, match=r"part-1\.parquet grew from \d+ to \d+ bytes"):
        check_snapshot(before)
    part.write_bytes(b"")
    with pytest.raises(SourceError, match=r"part-1\.parquet shrank"):
        check_snapshot(before)
    part.unlink()
    with pytest.raises(SourceError, match=r"part-1\.parquet is gone; run the pipeline again"):
        check_snapshot(before)


def test_a_new_file_is_named(orders: Path) -> None:
    before = snapshot(orders)
    write(orders / "year=7" / "late.parquet", 1)
    write(orders / "year=7" / "later.parquet", 1)
    with pytest.raises(SourceError, match=r"late\.parquet is new \(and 1 more"):
        check_snapshot(before)


def test_a_source_that_is_gone(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", 1)
    before = snapshot(tmp_path / "a.parquet")
    (tmp_path / "a.parquet").unlink()
    with pytest.raises(SourceError, match=r"source orders: .*a\.parquet does not exist"):
        check_snapshot(before)


def test_missing_remote_and_damaged(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="does not exist"):
        snapshot_files([str(tmp_path / "none")])
    with pytest.raises(SourceError, match="not a local path"):
        snapshot_files(["s3://bucket/orders"])
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and then nothing of sense")
    with pytest.raises(SourceError, match=r"bad\.parquet"):
        snapshot_files([str(tmp_path / "bad.parquet")])


def test_links(tmp_path: Path) -> None:
    write(tmp_path / "real" / "a.parquet", 2)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert [file.rows for file in snapshot_files([str(tmp_path / "link")])] == [2]
    (tmp_path / "real" / "loop").symlink_to(tmp_path / "real")
    with pytest.raises(SourceError, match="link to a folder that contains it"):
        snapshot_files([str(tmp_path / "real")])
