"""The recorded settings come into force in a session without setting what has its value."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from pyspark.errors import IllegalArgumentException, SparkNoSuchElementException

from predtrace.errors import EngineError
from predtrace.jobs.model import EngineSettings
from predtrace.jobs.settings import ANSI, CASE_SENSITIVE, TIME_ZONE, by_name, put_in_force
from tests.jobs.examples import example_job

OLD, NEW, FREE, ABSENT = "old.name", "new.name", "no.default", "other.version"


class Conf:
    """Settings with defaults; one takes the value of another, and one may have none."""

    def __init__(self) -> None:
        self.own: dict[str, str] = {}
        self.defaults: dict[str, str | None] = {
            TIME_ZONE: "UTC", ANSI: "true", CASE_SENSITIVE: "false", NEW: "a", FREE: None,
        }  # fmt: skip
        self.written: list[str] = []

    def get(self, key: str) -> str | None:
        if key == OLD and OLD not in self.own:
            return self.get(NEW)
        if key not in self.own and key not in self.defaults and key != OLD:
            raise SparkNoSuchElementException("SQL_CONF_NOT_FOUND", {})
        return self.own.get(key, self.defaults.get(key))

    def set(self, key: str, value: str) -> None:
        if value == "refused":
            raise IllegalArgumentException("refused", {})
        self.written.append(key)
        self.own[key] = value

    def unset(self, key: str) -> None:
        self.written.append(key)
        self.own.pop(key, None)


def settings(**conf: str | None) -> EngineSettings:
    names = {"old": OLD, "new": NEW, "free": FREE, "absent": ABSENT}
    named = {names[key]: value for key, value in conf.items()}
    return msgspec.structs.replace(
        example_job().settings, time_zone="UTC", ansi=True, case_sensitive=False, conf=named
    )


def test_what_has_its_value_is_not_set() -> None:
    conf = Conf()
    put_in_force(conf, settings(old="a", new="a", free=None, absent=None))
    assert conf.written == []


CASES: dict[str, tuple[dict[str, str | None], list[str]]] = {
    "another value": ({"new": "b"}, [NEW]),
    "a value where there is none": ({"free": "x"}, [FREE]),
    "both": ({"old": "c", "new": "b"}, [OLD, NEW]),
    "one that took the value of one set later": ({"old": "a", "new": "b"}, [NEW, OLD]),
}


@pytest.mark.parametrize("case", CASES)
def test_what_differs_is_set(case: str) -> None:
    conf, (recorded, written) = Conf(), CASES[case]
    wanted = settings(**recorded)
    put_in_force(conf, wanted)
    assert conf.written == written
    assert {key: conf.get(key) for key in by_name(wanted)} == by_name(wanted)


def test_what_was_recorded_without_a_value_is_unset() -> None:
    conf = Conf()
    conf.own[FREE] = "x"
    put_in_force(conf, settings(free=None))
    assert (conf.written, conf.get(FREE)) == ([FREE], None)


def test_a_refused_value_is_named() -> None:
    recorded: Any = settings(new="refused")
    with pytest.raises(EngineError, match=r"new\.name=refused, which this Spark does not accept"):
        put_in_force(Conf(), recorded)
