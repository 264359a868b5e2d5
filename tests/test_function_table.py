"""Every function is known wherever functions are known, or there is a reason why not.

A row of the function table states its facts, or it cannot be made. What front ends, engines and
tests know of a function stands in a registry at each place, keyed by its id; a new function is
missing there until somebody enters it.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from predtrace.engines.duckdb.aggregates import DUCKDB_AGGREGATES
from predtrace.engines.duckdb.dialect import DUCKDB_DIALECT
from predtrace.engines.duckdb.functions import DUCKDB
from predtrace.engines.duckdb.windows import DUCKDB_WINDOWS
from predtrace.engines.spark.aggregates import SPARK_AGGREGATES
from predtrace.engines.spark.dialect import SPARK_DIALECT
from predtrace.engines.spark.functions import SPARK
from predtrace.engines.spark.windows import SPARK_WINDOWS
from predtrace.engines.sql.functions import Evaluated, Refused
from predtrace.frontends.spark import expressions, functions_table
from symbolic.encode import ENCODED, Encoder
from symbolic.expr import Call, Column
from symbolic.functions import (
    AGGREGATES,
    DESCRIBED,
    FUNCTIONS,
    TRY_FORMS,
    WINDOW_ONLY,
    Aggregate,
    Carried,
    Combines,
    Encoding,
    Function,
    Nulls,
    Semantics,
    Zeros,
    by_id,
)
from symbolic.logic import any_of, implies, negate
from symbolic.solver import Verdict, prove
from symbolic.types import BOOLEAN, LONG
from tests.functions.cases import TEMPLATES, UNREACHED
from tests.reference import aggregates as reference_aggregates
from tests.reference import expressions as reference
from tests.reference import windows as reference_windows

ROOT = Path(__file__).parent.parent
KEYS = {kind.KEY for kind in DESCRIBED}
"""What tables of engines call functions without rows of their own."""
ROWS: tuple[Function | Aggregate, ...] = (*FUNCTIONS.values(), *AGGREGATES.values())


def _with_try_forms(ids: Collection[str]) -> set[str]:
    return {*ids, *(TRY_FORMS[function] for function in ids if function in TRY_FORMS)}


_SPARK = frozenset({functions_table.SEMANTICS})
_EVERY = frozenset(Semantics)


class Place(NamedTuple):
    """Where functions of some semantics are known, and which are."""

    semantics: Collection[enum.Enum]
    known: Collection[str]


_READ = (row.function for row in expressions.READS.values() if row.function is not None)
SCALAR_PLACES: dict[str, Place] = {
    "predtrace/frontends/spark/functions_table.py: SCALAR, or expressions.py: READS": Place(
        _SPARK,
        _with_try_forms({row.function for row in functions_table.SCALAR.values()} | {*_READ}),
    ),
    "predtrace/engines/duckdb/functions.py: DUCKDB": Place(DUCKDB_DIALECT.semantics, DUCKDB),
    "predtrace/engines/spark/functions.py: SPARK": Place(SPARK_DIALECT.semantics, SPARK),
    "tests/functions/cases.py: TEMPLATES or UNREACHED": Place(_SPARK, {*TEMPLATES, *UNREACHED}),
    "tests/reference/functions: SCALARS": Place(_EVERY, {*reference.SCALARS, *reference._OWN}),
}
AGGREGATE_PLACES: dict[str, Place] = {
    "predtrace/frontends/spark/functions_table.py: AGGREGATE": Place(
        _SPARK, _with_try_forms({row.function for row in functions_table.AGGREGATE.values()})
    ),
    "predtrace/engines/duckdb/aggregates.py: DUCKDB_AGGREGATES": Place(
        DUCKDB_DIALECT.semantics, DUCKDB_AGGREGATES
    ),
    "predtrace/engines/spark/aggregates.py: SPARK_AGGREGATES": Place(
        SPARK_DIALECT.semantics, SPARK_AGGREGATES
    ),
    "tests/reference/aggregates.py: AGGREGATES": Place(_EVERY, reference_aggregates.AGGREGATES),
}

_FRONT_END = "predtrace/frontends/spark/functions_table.py: SCALAR, or expressions.py: READS"
_REFERENCE = "tests/reference/functions: SCALARS"
_JAVA = "patterns of Java are not written a second time; it is measured against Spark"
_HASH = "hash functions are not written a second time; it is measured against Spark"
_MAP = "the reference has no maps; it is measured against Spark"
WITHOUT: dict[tuple[str, str], str] = {
    (_FRONT_END, "nullif"): "Spark rewrites it to CASE",
    (_FRONT_END, "ilike"): "Spark rewrites it to LIKE of texts in lower case",
    (_REFERENCE, "date_format"): _JAVA,
    (_REFERENCE, "parse_timestamp"): _JAVA,
    (_REFERENCE, "from_unix_time"): _JAVA,
    (_REFERENCE, "unix_time"): _JAVA,
    (_REFERENCE, "to_number"): "its patterns are not written a second time",
    (_REFERENCE, "months_between"): "its rounding is not written a second time",
    (_REFERENCE, "hash"): _HASH,
    (_REFERENCE, "xxhash64"): _HASH,
    (_REFERENCE, "make_map"): _MAP,
    (_REFERENCE, "map_entries"): _MAP,
    (_REFERENCE, "map_from_arrays"): _MAP,
}
"""Places where a function need not be known, with the reason."""

NOWHERE: dict[tuple[str, enum.Enum], str] = {
    ("predtrace/frontends", Semantics.PYTHON): "symbolic/pyfunc reads them in users' functions",
    ("predtrace/engines", Semantics.PYTHON): (
        "symbolic/pyfunc/lowering.py says them in functions of Spark, where that is exact"
    ),
}
"""Semantics that no front end reads, or no engine evaluates, with the reason."""


def test_every_engine_says_what_becomes_of_described_functions() -> None:
    for places, keys in ((SCALAR_PLACES, KEYS), (AGGREGATE_PLACES, {Carried.KEY})):
        for name, place in places.items():
            in_engine = name.startswith("predtrace/engines")
            assert all((key in place.known) == in_engine for key in keys), name


WINDOW_PLACES: dict[str, Collection[str]] = {
    "predtrace/frontends/spark/functions_table.py: WINDOW": set(functions_table.WINDOW.values()),
    "predtrace/engines/duckdb/windows.py: DUCKDB_WINDOWS": DUCKDB_WINDOWS,
    "predtrace/engines/spark/windows.py: SPARK_WINDOWS": SPARK_WINDOWS,
    "tests/reference/windows.py: FUNCTIONS": reference_windows.FUNCTIONS,
}


@pytest.mark.parametrize("place", WINDOW_PLACES)
def test_functions_of_windows_are_known_everywhere(place: str) -> None:
    assert set(WINDOW_PLACES[place]) == WINDOW_ONLY.keys()
    assert not WINDOW_ONLY.keys() & (AGGREGATES.keys() | FUNCTIONS.keys())


def missing(row: Function | Aggregate) -> list[str]:
    """The places that do not know a function, or what it needs."""
    places = SCALAR_PLACES if isinstance(row, Function) else AGGREGATE_PLACES
    asked = {name: place for name, place in places.items() if row.semantics in place.semantics}
    found = [name for name, place in asked.items() if row.id not in place.known]
    found = [name for name in found if (name, row.id) not in WITHOUT]
    if isinstance(row, Function) and (row.encoding is Encoding.INTERPRETED) != (row.id in ENCODED):
        found.append("symbolic/encode.py: _INTERPRETED")
    for folder in ("predtrace/frontends", "predtrace/engines"):
        if (folder, row.semantics) not in NOWHERE and not any(
            name.startswith(folder) for name in asked
        ):
            found.append(f"{folder}: one for functions of {row.semantics.name}")
    return found


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_a_function_is_known_everywhere(row: Function | Aggregate) -> None:
    places = missing(row)
    assert not places, f"{row.id} is not known at:\n" + "\n".join(places)


@pytest.mark.parametrize(
    ("places", "table"), [(SCALAR_PLACES, FUNCTIONS), (AGGREGATE_PLACES, AGGREGATES)]
)
def test_places_know_only_functions_of_their_semantics(
    places: Mapping[str, Place], table: Mapping[str, Function | Aggregate]
) -> None:
    for name, place in places.items():
        assert set(place.known) - KEYS <= {*table}, name
        assert {table[id].semantics for id in {*place.known} - KEYS} <= {*place.semantics}, name
    assert set(FUNCTIONS) >= ENCODED


def test_reasons_are_of_places_that_there_are() -> None:
    for name, function in WITHOUT:
        assert function in FUNCTIONS
        assert function not in SCALAR_PLACES[name].known


class Toys(enum.Enum):
    """The semantics of a front end that is only just being written."""

    TOYS = "toys."


def toy(**facts: Any) -> Function:
    """A function of which its row is all that there is."""
    stated: dict[str, Any] = {
        "id": "toy",
        "type": None,
        "nulls": Nulls.OWN,
        "meaning": "",
        "zeros": Zeros.APART,
        "semantics": Semantics.SPARK,
        "encoding": Encoding.UNINTERPRETED,
    }
    return Function(**(stated | facts))


def test_a_new_function_is_missed_everywhere() -> None:
    assert missing(toy()) == list(SCALAR_PLACES)
    assert missing(toy(encoding=Encoding.INTERPRETED)) == [
        *SCALAR_PLACES,
        "symbolic/encode.py: _INTERPRETED",
    ]
    aggregate = Aggregate("toy", Combines.COUNTS, "", never_null=True, semantics=Semantics.SPARK)
    assert missing(aggregate) == list(AGGREGATE_PLACES)


def test_semantics_that_nobody_reads_or_evaluates_are_missed() -> None:
    row = toy(id="toys.toy", semantics=Toys.TOYS)
    assert missing(row) == [
        "predtrace/frontends: one for functions of TOYS",
        "predtrace/engines: one for functions of TOYS",
    ]


@pytest.mark.parametrize(
    "row",
    [
        toy(),
        AGGREGATES["sum"],
        DUCKDB["substring"],
        DUCKDB["round"],
        DUCKDB_AGGREGATES["sum"],
        SPARK["add"],
        SPARK_AGGREGATES["sum"],
        functions_table.SCALAR["Add"],
    ],
    ids=lambda row: type(row).__name__,
)
def test_a_row_that_leaves_out_a_fact_cannot_be_made(row: msgspec.Struct) -> None:
    """No engine's row without saying where it is exact, or why it is refused."""
    kind: Any = type(row)
    facts = {name: getattr(row, name) for name in kind.__struct_fields__}
    assert kind(**facts) == row
    for left_out in facts.keys() - {"try_of"}:
        rest = {name: fact for name, fact in facts.items() if name != left_out}
        with pytest.raises(TypeError, match=left_out):
            kind(**rest)


def test_rows_of_engines_say_where_they_are_exact() -> None:
    tables: tuple[Mapping[str, Evaluated[Any, Any] | Refused], ...] = (
        DUCKDB,
        DUCKDB_AGGREGATES,
        SPARK,
        SPARK_AGGREGATES,
    )
    for id, row in (item for table in tables for item in table.items()):
        assert row.reason if isinstance(row, Refused) else row.exact.says, id


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (toy(id="add"), "two functions"),
        (toy(id="toys.toy"), "no id of a function of SPARK"),
        (toy(semantics=Toys.TOYS), "no id of a function of TOYS"),
        (toy(id="other.toy", semantics=Toys.TOYS), "no id of a function of TOYS"),
    ],
)
def test_ids_are_different_and_in_the_namespace_of_their_semantics(
    row: Function, said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        by_id(FUNCTIONS.values(), [row])


def test_ids_of_other_semantics_have_a_namespace() -> None:
    row = toy(id="toys.toy", semantics=Toys.TOYS)
    assert by_id([row]) == {"toys.toy": row}


def _texts(folder: str) -> Iterator[str]:
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


@pytest.mark.parametrize(
    "folder", ["symbolic/functions", "predtrace/engines", "predtrace/frontends/spark"]
)
def test_ids_stand_in_the_text(folder: str) -> None:
    """A search for the quoted id finds the row: no id is put together, or a keyword."""
    texts = set(_texts(folder))
    known = {*FUNCTIONS, *AGGREGATES}
    if folder != "symbolic/functions":
        known -= {row.id for row in FUNCTIONS.values() if row.semantics is Semantics.PYTHON}
    if folder == "predtrace/frontends/spark":
        known -= {*TRY_FORMS.values(), *(function for _, function in WITHOUT)}
        known |= {row.function for row in functions_table.SCALAR.values()}
    assert known - texts == set()


def test_try_forms_are_of_functions() -> None:
    for function, form in TRY_FORMS.items():
        tables: list[Mapping[str, Any]] = [t for t in (FUNCTIONS, AGGREGATES) if form in t]
        (table,) = tables
        assert function in table
        assert table[form].type == table[function].type if table is FUNCTIONS else True


def nulls_hold(function: str, nulls: Nulls) -> bool:
    """Whether what is said of a function's NULLs is proved of its encoding."""
    kind = BOOLEAN if function in ("and", "or", "not") else LONG
    count = {"not": 1, "is_null": 1, "is_not_null": 1, "in": 3, "coalesce": 3}.get(function, 2)
    encoder = Encoder()
    columns = [Column(number, "", kind) for number in range(count)]
    if function == "case":
        columns = [Column(-1, "", BOOLEAN), *columns]
    row = {column.id: encoder.fresh(column.type, "v") for column in columns}
    null = encoder.encode(Call(function, tuple(columns), kind), row).null
    of_null = any_of(*(value.null for value in row.values()))
    claims = []
    if nulls.propagates:
        claims.append(implies(of_null, null))
    if nulls.only_from_nulls:
        claims.append(implies(null, of_null))
    if nulls is Nulls.NEVER_NULL:
        claims.append(negate(null))
    return all(prove(claim, []) is Verdict.PROVED for claim in claims)


@pytest.mark.parametrize("function", sorted(ENCODED))
def test_an_encoding_is_null_where_its_row_says(function: str) -> None:
    assert nulls_hold(function, FUNCTIONS[function].nulls)


@pytest.mark.parametrize(
    ("function", "nulls"),
    [
        ("and", Nulls.PROPAGATES),
        ("nullsafe_eq", Nulls.PROPAGATES),
        ("case", Nulls.PROPAGATES_ONLY),
        ("eq", Nulls.NEVER_NULL),
    ],
)
def test_a_wrong_claim_of_nulls_is_seen(function: str, nulls: Nulls) -> None:
    assert not nulls_hold(function, nulls)
