"""Many random statements in one process: ``python -m tests.sqltruth --seeds 0:10000``.

Every seed's outcome is a line of JSON in the results file; seeds that are there already are
left out, so that an interrupted run goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import logging
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.sqltruth.batches import Batch, open_batch, statement_of
from tests.sqltruth.checking import check_seed
from tests.sqltruth.sessions import start
from tests.sqltruth.shrinking import shrunk

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BATCH = 50
"""Seeds that share tables and settings."""


def main() -> None:
    """Check seeds, or sum up what is in the results."""
    parser = argparse.ArgumentParser(prog="python -m tests.sqltruth", description=__doc__)
    parser.add_argument(
        "--seeds", default="0:1000", help="from:to, the end left out, or several with commas"
    )
    parser.add_argument("--results", type=Path, default=Path("fuzz.jsonl"))
    parser.add_argument("--summary", action="store_true", help="only sum up the results")
    parser.add_argument("--shrink", type=int, metavar="SEED", help="make a failing one smaller")
    given = parser.parse_args()
    if given.shrink is not None:
        shrink(given.shrink)
        return
    wanted = [seed for part in given.seeds.split(",") for seed in seeds_of(part)]
    if not given.summary:
        done = {record["seed"] for record in read_results(given.results)}
        run([seed for seed in wanted if seed not in done], given.results)
    chosen = set(wanted)
    print(summary(r for r in read_results(given.results) if r["seed"] in chosen))


def seeds_of(text: str) -> range:
    """One seed, or ``from:to`` without the end."""
    first, _, end = text.partition(":")
    return range(int(first), int(end) if end else int(first) + 1)


def read_results(path: Path) -> list[dict[str, Any]]:
    """The outcomes so far; a line that was cut off is not one."""
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def run(seeds: Iterable[int], results: Path) -> None:
    """Check the seeds, one after the other."""
    batch: Batch | None = None
    with working() as (spark, folder):
        for seed in seeds:
            if batch is None or batch.number != seed // BATCH:
                batch = open_batch(seed // BATCH, spark, folder)
            started = time.perf_counter()
            record = check_seed(seed, batch).record()
            record["seconds"] = round(time.perf_counter() - started, 3)
            with results.open("a") as file:
                file.write(json.dumps(record) + "\n")
            if record["findings"]:
                tell(record, batch)


def shrink(seed: int) -> None:
    """Print a small statement that fails as the seed's does."""
    with working() as (spark, folder):
        batch = open_batch(seed // BATCH, spark, folder)
        outcome = check_seed(seed, batch)
        if outcome.findings:
            statement = statement_of(seed, batch)
            tell(shrunk(statement, outcome, batch).record(), batch)
        else:
            print(f"seed {seed}: nothing is wrong ({outcome.status})")


@contextmanager
def working() -> Iterator[tuple[SparkSession, Path]]:
    """A session and a folder, in memory if possible."""
    spark = start()
    # Statements that Spark does not accept are counted, not logged.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
        yield spark, Path(folder)
    spark.stop()


def tell(record: dict[str, Any], batch: Batch) -> None:
    """Print a seed that fails: the statement, its tables, what was expected and what came."""
    print(f"\nseed {record['seed']} {batch.settings} {record['choices']}")
    print(record["sql"])
    for name, rows in batch.tables.items():
        if re.search(rf"(FROM|JOIN) \(?{name}\b", record["sql"]):
            print(f"  {name} = {rows}")
    for finding in record["findings"]:
        print("  " + ", ".join(f"{name}: {value}" for name, value in finding.items()), flush=True)


def summary(records: Iterable[dict[str, Any]]) -> str:
    """Figures: outcomes, labels, refusals, findings."""
    records = list(records)
    if not records:
        return "no results"
    statuses = Counter(record["status"] for record in records)
    kinds = Counter(kind for r in records for kind in {f["kind"] for f in r["findings"]})
    labels = sum((Counter(record["labels"]) for record in records), Counter())
    refusals = sum((Counter(record["refusals"]) for record in records), Counter())
    seconds = sum(record.get("seconds", 0.0) for record in records)
    targets = sum(record["targets"] for record in records)
    parts = [
        f"{len(records)} statements, {targets} targets, {seconds / len(records):.2f} s each",
        _table("outcomes", statuses),
        _table("statements with findings", kinds),
        _table("answers", labels),
        _table("refusals", refusals, 40),
    ]
    return "\n".join(parts)


def _table(name: str, counts: Counter[str], most: int | None = None) -> str:
    rows = [f"  {count:7d}  {what}" for what, count in counts.most_common(most)]
    return "\n".join([f"{name}:", *(rows or ["        0"])])


if __name__ == "__main__":
    main()
