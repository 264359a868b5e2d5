"""pandas-on-Spark: its index numbers rows by their place, which contributes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import predtrace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# pandas-on-Spark gives advice by warnings.
pytestmark = pytest.mark.filterwarnings("ignore")

Row = dict[str, Any]
LEFT: list[Row] = [
    {"id": number, "k": k, "t": t}
    for number, (k, t) in enumerate(
        [(1, 1), (1, 4), (1, 9), (2, 2), (2, 8), (3, 5), (3, 5), (None, 3), (1, 4)]
    )
]
RIGHT: list[Row] = [
    {"q": number, "k": k, "s": s}
    for number, (k, s) in enumerate([(1, 3), (1, 4), (2, 1), (3, 5), (3, 7), (None, 2)])
]


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("frames")
    pq.write_table(pa.Table.from_pylist(LEFT), found / "left.parquet")
    pq.write_table(pa.Table.from_pylist(RIGHT), found / "right.parquet")
    return found


def read(folder: Path, name: str) -> Any:
    import pyspark.pandas as ps

    return ps.read_parquet(str(folder / f"{name}.parquet"))


def filtered(folder: Path) -> DataFrame:
    left = read(folder, "left")
    left["u"] = left["t"] + 1
    frame: DataFrame = left[left["k"] > 1].to_spark(index_col="place")
    return frame


def grouped(folder: Path) -> DataFrame:
    frame: DataFrame = read(folder, "left").groupby("k")["t"].sum().reset_index().to_spark()
    return frame


def merged(folder: Path) -> DataFrame:
    frame: DataFrame = read(folder, "left").merge(read(folder, "right"), on="k").to_spark()
    return frame


def nearest(folder: Path) -> DataFrame:
    import pyspark.pandas as ps

    left, right = (read(folder, name).dropna() for name in ("left", "right"))
    left, right = left.sort_values("t"), right.sort_values("s")
    frame: DataFrame = ps.merge_asof(left, right, left_on="t", right_on="s", by="k").to_spark()
    return frame


def running(folder: Path) -> DataFrame:
    left = read(folder, "left")
    left["c"] = left.groupby("k")["t"].cumsum()
    frame: DataFrame = left.to_spark()
    return frame


def of_key(rows: list[Row], key: Any) -> list[Row]:
    return [row for row in rows if row["k"] == key and key is not None]


def before(row: Row) -> Row | None:
    """The last row of the right that is not later; no two are equally late here."""
    found = [other for other in of_key(RIGHT, row["k"]) if other["s"] <= row["t"]]
    return max(found, key=lambda other: other["s"], default=None)


Truth = Callable[[Row], list[list[int]]]
CASES: dict[str, tuple[Callable[[Path], DataFrame], Truth]] = {
    "filtered": (filtered, lambda row: [[row["id"]]]),
    "grouped": (grouped, lambda row: [[other["id"] for other in of_key(LEFT, row["k"])]]),
    "merged": (merged, lambda row: [[row["id"]], [row["q"]]]),
    "nearest": (
        nearest,
        lambda row: [[row["id"]], [] if (found := before(row)) is None else [found["q"]]],
    ),
    "running": (
        running,
        lambda row: [
            [row["id"]],
            [other["id"] for other in of_key(LEFT, row["k"]) if other["id"] <= row["id"]]
            or [row["id"]],
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_own_rows(name: str, folder: Path, tmp_path: Path) -> None:
    make, truth = CASES[name]
    job = predtrace.trace(make(folder)).run(store=str(tmp_path))
    outputs = [row.asDict() for row in job.output.collect()]
    assert len(outputs) > 2
    for row in outputs[:6]:
        answer = job.lineage(row, mode="stored")
        found = [sorted(scan.to_arrow().column(0).to_pylist()) for scan in answer.scans]
        assert (answer.label, found) == ("precise", truth(row)), row
    if "place" in outputs[0]:
        assert all(row["place"] == row["id"] for row in outputs)


def test_places_that_nobody_reads_do_not_matter(folder: Path, tmp_path: Path) -> None:
    """Another run repeats the pipeline without them: a replay is as good as what is stored."""
    job = predtrace.trace(grouped(folder)).run(store=str(tmp_path), keep="none")
    for row in job.output.collect():
        answer = job.lineage(row.asDict(), mode="replayed")
        expected = [other["id"] for other in of_key(LEFT, row["k"])]
        assert sorted(answer["left"].to_arrow().column("id").to_pylist()) == expected
