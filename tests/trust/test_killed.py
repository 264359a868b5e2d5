"""A process that is killed, at whatever write, leaves whole jobs and nothing that stays."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from predtrace.arrays import ArrayStore, open_store
from predtrace.errors import ArrayFormatError
from predtrace.jobs.store import JobStore
from tests.trust.jobs import ROWS_OF_TARGET, TARGET, make_store, opened, rows_of


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "writes"), [("run", 5), ("build", 5), ("index", 3)])
def test_a_kill_before_any_write(kind: str, writes: int, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.trust.killing", str(tmp_path), kind]
    root = Path(__file__).parents[2]
    result = subprocess.run(command, capture_output=True, text=True, cwd=root, check=False)
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) >= writes


def test_what_a_killed_builder_left_under_its_last_name_goes_with_the_next_build(
    tmp_path: Path,
) -> None:
    store = make_store(tmp_path)
    job = opened(store)
    rest = job.folder / "node-2-deadbeef"
    rest.mkdir()
    (rest / "part-0.parquet").write_bytes(b"half")
    job.build_intermediates()
    assert not rest.exists()
    assert rows_of(opened(store).lineage(TARGET, mode="stored")) == ROWS_OF_TARGET


def test_what_a_running_builder_writes_stays(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    code = (
        "import sys, time; from pathlib import Path\n"
        "from predtrace.durable.writing import folder_made_whole\n"
        "with folder_made_whole(Path(sys.argv[1]) / 'node-9') as draft:\n"
        "    draft.mkdir(); print(draft, flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code, str(store[0] / store[1])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        draft = Path(child.stdout.readline().strip())
        JobStore(store[0]).begin().abort()
        assert draft.exists()
        child.kill()
    JobStore(store[0]).begin().abort()
    assert not draft.exists()


def test_build_stores_anew_what_is_damaged(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    job = opened(store)
    (file,) = (job.folder / "node-2").glob("*.parquet")
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 16
    file.write_bytes(data)
    job.build_intermediates()
    assert not file.exists()
    assert rows_of(opened(store).lineage(TARGET, mode="stored")) == ROWS_OF_TARGET


def test_a_lost_catalogue_of_arrays_is_no_empty_store(tmp_path: Path) -> None:
    place = tmp_path / "arrays"
    store = open_store(place)
    a, b = store.array("a", (3,)), store.array("b", (3,))
    store.lineage(b, a, lambda cell: [cell])
    assert len(open_store(place).arrays()) == 2
    (place / "catalogue.json").unlink()
    with pytest.raises(ArrayFormatError, match=r"catalogue\.json is gone.*restore it"):
        open_store(place)
    with pytest.raises(ArrayFormatError, match=r"catalogue\.json is gone"):
        store.array("c", (2,))


def test_a_new_store_of_arrays_has_its_catalogue_before_tables(tmp_path: Path) -> None:
    """So that a kill between the two leaves a store that can be opened."""
    place = tmp_path / "arrays"
    store = open_store(place)
    made = ArrayStore()
    a, b = made.array("a", (3,)), made.array("b", (3,))
    made.lineage(b, a, lambda cell: [cell])
    (table,) = made.tables("b", "a")
    store.shelf.save(table)
    assert open_store(place).arrays() == []
    assert np.all([path.suffix == ".plt" for path in (place / "tables").iterdir()])
