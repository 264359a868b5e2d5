"""The zones whose rules DuckDB is declared to share with the JVM: every change of clocks."""

from __future__ import annotations

import datetime as dt
import itertools
import random
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from predtrace.engines.duckdb.process import database
from predtrace.engines.duckdb.zones import compared_zones, has_same_rules

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SAMPLE = 12
_ALWAYS = ("Europe/Berlin", "America/New_York", "Asia/Kolkata", "UTC")
_YEARS = range(1970, 2101)
_CHANGE = re.compile(
    r"Transition\[(?:Gap|Overlap) at (\d+)-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d))?(\S+) to (\S+?)\]"
)
_EPOCH = dt.datetime(1970, 1, 1)


class Change(NamedTuple):
    """A change of clocks: its second since 1970, and the offsets before and after, in seconds."""

    at: int
    before: int
    after: int


def _offset(text: str) -> int:
    if text == "Z":
        return 0
    hours, minutes, seconds = (*map(int, text[1:].split(":")), 0)[:3]
    size = hours * 3600 + minutes * 60 + seconds
    return -size if text[0] == "-" else size


def _read(text: str) -> Iterator[Change]:
    for match in _CHANGE.finditer(text):
        *moment, before, after = match.groups()
        local = dt.datetime(*(int(part or 0) for part in moment))
        since = int((local - _EPOCH).total_seconds())
        yield Change(since - _offset(before), _offset(before), _offset(after))


def _changes(rules: Any) -> list[Change]:
    """The JVM's changes up to the year 2100."""
    listed = list(_read(rules.getTransitions().toString()))
    last = max((change.at for change in listed), default=-(10**18))
    yearly = "".join(
        rule.createTransition(year).toString()
        for rule in rules.getTransitionRules()
        for year in _YEARS
    )
    return sorted({*listed, *(change for change in _read(yearly) if change.at > last)})


def _differences(zone: str, changes: list[Change]) -> list[tuple[int, int, int]]:
    """Seconds at which DuckDB has another offset than the JVM, with both offsets."""
    wanted = {second: offset for at, before, after in changes
              for second, offset in ((at - 1, before), (at, after))}  # fmt: skip
    # Halfway between two changes there is no other one.
    for one, other in itertools.pairwise(changes):
        wanted[(one.at + other.at) // 2] = one.after
    query = """SELECT epoch_us(timezone($zone, make_timestamptz($at::BIGINT * 1000000)))
        // 1000000 - $at"""
    found = []
    with database().cursor() as cursor:
        for second, offset in wanted.items():
            ((ours,),) = cursor.execute(query, {"zone": zone, "at": second}).fetchall()
            if ours != offset:
                found.append((second, offset, ours))
    return found


@pytest.mark.spark
def test_duckdb_has_the_rules_of_the_jvm(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    some = random.Random(1).sample(sorted(compared_zones()), _SAMPLE)
    checked = 0
    for zone in (*_ALWAYS, *some):
        changes = _changes(jvm.java.time.ZoneId.of(zone).getRules())
        assert _differences(zone, changes) == [], zone
        checked += len(changes)
    assert checked > 500


def test_zones_that_differ_are_not_declared() -> None:
    assert has_same_rules("Europe/Berlin")
    # Their rules changed between the versions of the rules that were compared.
    assert not any(map(has_same_rules, ("Africa/Casablanca", "Europe/Dublin", "America/Edmonton")))
    assert not has_same_rules("GMT+01:30")
