"""Casts that DuckDB declares exact: every pair of kinds of types is among what is measured."""

from __future__ import annotations

import itertools

import msgspec

from predtrace.engines.duckdb.functions import inexactness
from symbolic.expr import Call, Column
from symbolic.types import Timestamp
from tests.engines.test_exactness import CASES, CASES_WITHOUT_ANSI, SETTINGS, VALUES


def test_casts_of_every_declared_pair_of_types_are_measured() -> None:
    """A pair of kinds: a cast of integers of all widths is one claim."""
    every = (*CASES, *CASES_WITHOUT_ANSI)
    measured = {_kinds(case) for case in every if case.function in ("cast", "try_cast")}
    types = [data_type for data_type, _ in VALUES.values()]
    declared = set()
    for given, result in itertools.product(types, types):
        for function, ansi in itertools.product(("cast", "try_cast"), (True, False)):
            case = Call(function, (Column(1, "x", given),), result)
            settings = msgspec.structs.replace(SETTINGS, ansi=ansi)
            if given != result and inexactness([case], settings) is None:
                declared.add(_kinds(case))
    assert declared - measured == set()
    assert len(declared) > 25


def _kinds(case: Call) -> tuple[str, str, bool]:
    given, result = case.args[0].type, case.type
    zoned = any(isinstance(each, Timestamp) and each.zoned for each in (given, result))
    return type(given).__name__, type(result).__name__, zoned
