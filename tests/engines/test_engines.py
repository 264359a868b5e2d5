"""Both engines on the same hand-made questions."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from predtrace.engines.base import Engine, ScanRequest, Targets
from predtrace.engines.duckdb import process
from predtrace.engines.duckdb.engine import DuckDBEngine
from predtrace.errors import EngineError
from symbolic.expr import (
    TRUE,
    Column,
    Literal,
    call,
    conjunction,
    disjunction,
    same,
)
from symbolic.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    LONG,
    NULL,
    STRING,
    TIMESTAMP,
    Array,
    Decimal,
    Field,
    Float,
    Record,
    YearMonthInterval,
)
from tests.engines.tables import SETTINGS, pairs, param, request, source, stored, targets, write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

K, NAME, AMOUNT = Column(1, "k", LONG), Column(2, "name", STRING), Column(3, "amount", LONG)
COLUMNS = (K, NAME, AMOUNT)
ROWS = [
    (1, "a", 10),
    (1, "a", 10),  # equal rows are two rows
    (2, "b", 20),
    (None, "n", 30),
    (3, None, 40),
    (3, "c", None),
]
OUT_K, OUT_N = Column(101, "k", LONG), Column(102, "limit", LONG)
DATA = "data.parquet"


@pytest.fixture(scope="module", params=["duckdb", pytest.param("spark", marks=pytest.mark.spark)])
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param == "duckdb":
        return DuckDBEngine()
    from predtrace.engines.spark.engine import SparkEngine

    session: SparkSession = request.getfixturevalue("spark")
    return SparkEngine(session)


@pytest.fixture
def scan(tmp_path: Path) -> Callable[..., ScanRequest]:
    file = tmp_path / "table" / DATA
    write(file, COLUMNS, ROWS)
    made = source("table", file, COLUMNS)
    return lambda predicate, binding=None, columns=COLUMNS: request(
        made, columns, predicate, binding
    )


def ids(engine: Engine, given: Targets, *requests: ScanRequest) -> set[tuple[Any, ...]]:
    rows = engine.open(given, SETTINGS).rows(requests)
    found = pairs(rows.row_ids())
    assert rows.count() == len(found)
    if engine.name == "duckdb":  # cheap there
        assert rows.to_arrow().num_rows == len(found)
    return found


def rows_of(*numbers: int) -> set[tuple[Any, ...]]:
    return {(DATA, number) for number in numbers}


@pytest.mark.parametrize(("value", "expected"), [(1, (0, 1)), (2, (2,)), (None, (3,)), (99, ())])
def test_one_target(
    engine: Engine, scan: Callable[..., ScanRequest], value: int | None, expected: tuple[int, ...]
) -> None:
    given = targets([OUT_K], [(0, (value,))], numbered=False)
    assert ids(engine, given, scan(same(K, param(OUT_K)))) == rows_of(*expected)


def test_one_target_of_several_rows(engine: Engine, scan: Callable[..., ScanRequest]) -> None:
    given = targets([OUT_K], [(0, (1,)), (0, (None,)), (0, (1,))], numbered=False)
    assert ids(engine, given, scan(same(K, param(OUT_K)))) == rows_of(0, 1, 3)


def test_many_targets_are_kept_apart(engine: Engine, scan: Callable[..., ScanRequest]) -> None:
    given = targets(
        [OUT_K], [(0, (1,)), (1, (None,)), (2, (1,)), (3, (99,)), (4, (3,))], numbered=True
    )
    assert ids(engine, given, scan(same(K, param(OUT_K)))) == {
        (0, DATA, 0), (0, DATA, 1), (1, DATA, 3), (2, DATA, 0), (2, DATA, 1),
        (4, DATA, 4), (4, DATA, 5),
    }  # fmt: skip


def test_plain_equality_never_matches_null(
    engine: Engine, scan: Callable[..., ScanRequest]
) -> None:
    given = targets([OUT_K], [(0, (1,)), (1, (None,))], numbered=True)
    assert ids(engine, given, scan(call("eq", K, param(OUT_K)))) == {(0, DATA, 0), (0, DATA, 1)}


@pytest.mark.parametrize("numbered", [False, True])
def test_no_target_rows_no_source_rows(
    engine: Engine, scan: Callable[..., ScanRequest], numbered: bool
) -> None:
    given = targets([OUT_K], [], numbered)
    assert ids(engine, given, scan(same(K, param(OUT_K)))) == set()
    assert ids(engine, given, scan(TRUE)) == set()


def test_predicate_without_params_needs_a_bound_row(
    engine: Engine, scan: Callable[..., ScanRequest]
) -> None:
    predicate = call("gt", AMOUNT, Literal(15, LONG))
    one = targets([OUT_K], [(0, (1,)), (0, (2,))], numbered=False)
    assert ids(engine, one, scan(predicate)) == rows_of(2, 3, 4)
    two = targets([OUT_K], [(0, (1,)), (0, (2,)), (5, (7,))], numbered=True)
    expected = {(t, DATA, row) for t in (0, 5) for row in (2, 3, 4)}
    assert ids(engine, two, scan(predicate)) == expected


def test_terms_on_the_bound_row_alone(engine: Engine, scan: Callable[..., ScanRequest]) -> None:
    predicate = conjunction(same(K, param(OUT_K)), call("is_not_null", param(OUT_N)))
    for numbered in (False, True):
        given = targets([OUT_K, OUT_N], [(0, (1, 5)), (0, (2, None))], numbered)
        found = ids(engine, given, scan(predicate))
        assert {pair[-1] for pair in found} == {0, 1}


def test_a_row_selected_by_several_bound_rows_comes_once(
    engine: Engine, scan: Callable[..., ScanRequest]
) -> None:
    predicate = conjunction(same(K, param(OUT_K)), call("lt", AMOUNT, param(OUT_N)))
    given = targets(
        [OUT_K, OUT_N], [(0, (1, 11)), (0, (1, 12)), (1, (1, 99)), (1, (1, 5))], numbered=True
    )
    expected = {(t, DATA, row) for t in (0, 1) for row in (0, 1)}
    assert ids(engine, given, scan(predicate)) == expected


def test_inequality_alone(engine: Engine, scan: Callable[..., ScanRequest]) -> None:
    given = targets([OUT_N], [(0, (15,)), (0, (25,)), (1, (35,))], numbered=True)
    found = ids(engine, given, scan(call("lt", AMOUNT, param(OUT_N))))
    assert found == {(0, DATA, r) for r in (0, 1, 2)} | {(1, DATA, r) for r in (0, 1, 2, 3)}


def test_equality_inside_or(engine: Engine, scan: Callable[..., ScanRequest]) -> None:
    predicate = disjunction(
        conjunction(call("eq", K, param(OUT_K)), call("lt", AMOUNT, Literal(15, LONG))),
        conjunction(call("eq", K, param(OUT_K)), call("is_null", AMOUNT)),
    )
    given = targets([OUT_K], [(0, (1,)), (1, (3,))], numbered=True)
    expected = {(0, DATA, 0), (0, DATA, 1), (1, DATA, 5)}
    assert ids(engine, given, scan(predicate)) == expected


MID_K, MID_V = Column(201, "mid_k", LONG), Column(202, "mid_v", LONG)


@pytest.mark.parametrize("numbered", [False, True])
def test_chain_of_stored_intermediates(
    engine: Engine, scan: Callable[..., ScanRequest], tmp_path: Path, numbered: bool
) -> None:
    first = stored(
        tmp_path / "first",
        [MID_K, MID_V],
        [(7, 1), (7, 1), (8, 2), (9, None), (7, 3)],
        same(MID_K, param(OUT_K)),
    )
    deep_k, deep_v = Column(301, "deep_k", LONG), Column(302, "deep_v", LONG)
    second = stored(
        tmp_path / "second",
        [deep_k, deep_v],
        [(1, 1), (3, 3), (2, 2), (None, None)],
        same(deep_v, param(MID_V, 1)),
        parent=first,
    )
    given = targets([OUT_K], [(0, (7,)), (1, (9,)), (2, (6,))], numbered)
    found = ids(engine, given, scan(same(K, param(deep_k, 2)), second))
    expected = {(0, DATA, 0), (0, DATA, 1), (0, DATA, 4), (0, DATA, 5), (1, DATA, 3)}
    assert found == (expected if numbered else {pair[1:] for pair in expected})


@pytest.mark.parametrize("numbered", [False, True])
def test_scans_of_one_table_are_united_by_row(
    engine: Engine, scan: Callable[..., ScanRequest], numbered: bool
) -> None:
    other = tuple(Column(c.id + 50, c.name, c.type) for c in COLUMNS)
    one = scan(same(K, param(OUT_K)))
    two = scan(call("le", other[2], Literal(20, LONG)), None, other)
    given = targets([OUT_K], [(0, (1,))], numbered)
    found = ids(engine, given, one, two)
    assert {pair[-1] for pair in found} == {0, 1, 2}


def test_rows_as_they_are_stored(engine: Engine, tmp_path: Path) -> None:
    price = Decimal(15, 2)
    columns = (
        Column(1, 'odd `name` "x".y', STRING),
        Column(2, "price", price),
        Column(3, "day", DATE),
        Column(4, "when", TIMESTAMP),
        Column(5, "list", Array(INTEGER)),
        Column(6, "target", Record((Field("a b", LONG),))),
        Column(7, "real", DOUBLE),
    )
    moment = dt.datetime(2024, 7, 1, 12, 0, tzinfo=dt.UTC)
    row = ("é'\\\n", decimal.Decimal("1.10"), dt.date(1, 1, 1), moment, [1, None], {"a b": 2}, 0.5)
    file = tmp_path / "a b" / "100%[x]" / "data.parquet"
    write(file, columns, [row, (None,) * len(columns)])
    made = source("odd", file, columns)
    given = [Column(100 + c.id, c.name, c.type) for c in columns[:4]]
    predicate = conjunction(*(same(c, param(g)) for c, g in zip(columns, given, strict=False)))
    for rows, numbered in (([(0, row[:4])], False), ([(0, row[:4]), (1, (None,) * 4)], True)):
        evaluation = engine.open(targets(given, rows, numbered), SETTINGS)
        answer = evaluation.rows([request(made, columns, predicate)])
        found = answer.to_arrow()
        names = [c.name for c in columns]
        assert found.column_names == (["_target", *names] if numbered else names)
        values = sorted(map(tuple, (r.values() for r in found.to_pylist())), key=repr)
        assert (*([0] if numbered else []), *row) in values
        assert set(answer.row_ids().column("file").to_pylist()) == {str(file)}
        batches = list(answer.to_batches(["price"]))
        assert sum(batch.num_rows for batch in batches) == len(rows)
        assert answer.head(1, ["day", "price"]).column_names[-2:] == ["day", "price"]
        out = tmp_path / f"out {numbered}"
        answer.write_parquet(out)
        assert pq.read_table(out).num_rows == len(rows)
        with pytest.raises(EngineError, match="not empty"):
            answer.write_parquet(out)
        with pytest.raises(EngineError, match="no source column 'nope'; there are"):
            answer.to_arrow(["nope"])


def test_nans_that_statistics_do_not_know(engine: Engine, tmp_path: Path) -> None:
    """Row groups whose statistics leave their NaNs out must not be skipped."""
    for data_type in (DOUBLE, Float(32)):
        real, out = Column(1, "real", data_type), Column(2, "out", data_type)
        file = tmp_path / DATA
        write(file, [real], [(1.0,), (math.nan,), (2.0,), (3.0,), (math.nan,), (-5.0,)])
        made = source("reals", file, [real])
        equal = request(made, [real], same(real, param(out)))
        one = targets([out], [(0, (math.nan,))], numbered=False)
        assert ids(engine, one, equal) == rows_of(1, 4)
        two = targets([out], [(0, (math.nan,)), (1, (1.0,)), (2, (None,))], numbered=True)
        assert ids(engine, two, equal) == {(0, DATA, 1), (0, DATA, 4), (1, DATA, 0)}
        larger = request(made, [real], call("gt", real, Literal(2.5, data_type)))
        assert ids(engine, one, larger) == rows_of(1, 3, 4)


def test_floats_meet_as_in_spark(engine: Engine, tmp_path: Path) -> None:
    real, out = Column(1, "real", DOUBLE), Column(2, "out", DOUBLE)
    file = tmp_path / DATA
    write(file, [real], [(0.0,), (-0.0,), (math.nan,), (None,), (1.0,)])
    made = source("reals", file, [real])
    given = targets([out], [(0, (0.0,)), (1, (math.nan,)), (2, (-0.0,)), (3, (None,))], True)
    assert ids(engine, given, request(made, [real], same(real, param(out)))) == {
        (0, DATA, 0), (0, DATA, 1), (1, DATA, 2), (2, DATA, 0), (2, DATA, 1), (3, DATA, 3),
    }  # fmt: skip
    for value, expected in ((0.0, (0, 1)), (-0.0, (0, 1)), (math.nan, (2,)), (None, (3,))):
        one = targets([out], [(0, (value,))], numbered=False)
        assert ids(engine, one, request(made, [real], same(real, param(out)))) == rows_of(*expected)


TEXTS = ["", "'", "\\", "a\\'b", "\x00", "\n", "%", "${x}", "🦆", ":p"]


def test_text_literals(engine: Engine, tmp_path: Path) -> None:
    name, out = Column(1, "name", STRING), Column(2, "out", STRING)
    file = tmp_path / DATA
    write(file, [name], [(value,) for value in TEXTS])
    asked = request(source("t", file, [name]), [name], same(name, param(out)))
    for index, value in enumerate(TEXTS):
        one = targets([out], [(0, (value,))], numbered=False)
        found = engine.open(one, SETTINGS).rows([asked]).row_ids()
        assert found.column("row").to_pylist() == [index], value


def test_partitioned_source(engine: Engine, tmp_path: Path) -> None:
    value, part = Column(1, "v", LONG), Column(2, "p", STRING)
    for folder in ("p=01", "p=a%3Ab", "p=__HIVE_DEFAULT_PARTITION__"):
        write(tmp_path / "t" / folder / f"{folder[-3:]}.parquet", [value], [(1,), (2,)])
    made = source("t", tmp_path / "t", [value, part], partition_columns=("p",))
    out = Column(9, "p", STRING)
    given = targets([out], [(0, ("01",)), (1, ("a:b",)), (2, (None,)), (3, ("1",))], True)
    predicate = conjunction(same(part, param(out)), call("gt", value, Literal(1, LONG)))
    found = ids(engine, given, request(made, [value, part], predicate))
    assert {(target, row) for target, _, row in found} == {(0, 1), (1, 1), (2, 1)}


def test_source_without_files(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    made = source("empty", tmp_path / "empty", COLUMNS)
    given = targets([OUT_K], [(0, (1,)), (1, (2,))], numbered=True)
    assert ids(engine, given, request(made, COLUMNS, same(K, param(OUT_K)))) == set()


def test_failing_expressions_give_null(engine: Engine, scan: Callable[..., ScanRequest]) -> None:
    large = Literal(2**63 - 1, LONG)
    narrow = call("cast", AMOUNT, type=Decimal(1, 0))
    given = targets([OUT_K], [(0, (1,))], numbered=False)
    assert (
        ids(engine, given, scan(call("eq", narrow, Literal(decimal.Decimal(1), Decimal(1, 0)))))
        == set()
    )
    if engine.name == "duckdb":  # Spark wraps without ANSI mode, and has no other way out.
        overflow = call("is_null", call("add", AMOUNT, large, type=LONG))
        assert ids(engine, given, scan(overflow)) == rows_of(*range(6))


def test_bound_rows(engine: Engine, tmp_path: Path) -> None:
    binding = stored(
        tmp_path / "mid", [MID_K, MID_V], [(7, 1), (7, 1), (8, 2)], same(MID_K, param(OUT_K))
    )
    given = targets([OUT_K], [(4, (7,)), (6, (7,))], numbered=True)
    found = engine.open(given, SETTINGS).bound(binding).to_pylist()
    assert sorted(map(tuple, (row.values() for row in found))) == [(4, 7, 1), (6, 7, 1)]


def test_void_columns(engine: Engine, scan: Callable[..., ScanRequest]) -> None:
    void = Column(400, "nothing", NULL)
    predicate = conjunction(same(K, param(OUT_K)), same(Literal(None, NULL), param(void)))
    given = targets([OUT_K, void], [(0, (1, None)), (1, (2, None))], numbered=True)
    assert ids(engine, given, scan(predicate)) == {(0, DATA, 0), (0, DATA, 1), (1, DATA, 2)}


def test_predicate_as_text(engine: Engine, scan: Callable[..., ScanRequest]) -> None:
    asked = scan(conjunction(same(K, param(OUT_K)), call("gt", AMOUNT, Literal(1, LONG))))
    one = engine.open(targets([OUT_K], [(0, (1,))], False), SETTINGS).predicate_sql(asked)
    assert "1 AS BIGINT" in one.replace("'", "")
    many = engine.open(targets([OUT_K], [(0, (1,)), (1, (2,))], True), SETTINGS)
    assert "bound" in many.predicate_sql(asked)


def test_timestamps_without_a_zone_in_the_file(engine: Engine, tmp_path: Path) -> None:
    """INT96, which Spark writes by default: UTC, though the file does not say so."""
    when, out = Column(1, "when", TIMESTAMP), Column(2, "when", TIMESTAMP)
    moment = dt.datetime(2024, 7, 1, 12, 0, tzinfo=dt.UTC)
    file = tmp_path / DATA
    pq.write_table(
        pa.table({"when": pa.array([moment, None], pa.timestamp("us", "UTC"))}),
        file,
        use_deprecated_int96_timestamps=True,
    )
    asked = request(source("t", file, [when]), [when], same(when, param(out)))
    assert ids(engine, targets([out], [(0, (moment,))], False), asked) == rows_of(0)
    answer = engine.open(targets([out], [(0, (moment,))], False), SETTINGS).rows([asked])
    assert answer.to_arrow().column("when").to_pylist() == [moment]


class TestDuckDBObstacles:
    """What DuckDB does not take on, and says so."""

    engine = DuckDBEngine()

    def problem(self, asked: ScanRequest) -> str:
        found = self.engine.inexactness([asked], SETTINGS)
        assert found is not None
        return found

    def changed(self, tmp_path: Path, **changes: Any) -> ScanRequest:
        import msgspec

        file = tmp_path / DATA
        write(file, COLUMNS, ROWS)
        made = msgspec.structs.replace(source("t", file, COLUMNS), **changes)
        return request(made, made.columns, TRUE)

    def test_formats(self, tmp_path: Path) -> None:
        assert "csv" in self.problem(self.changed(tmp_path, format="csv"))

    def test_options(self, tmp_path: Path) -> None:
        assert "secret" in self.problem(self.changed(tmp_path, options={"secret": "x"}))

    def test_names_by_case(self, tmp_path: Path) -> None:
        columns = (K, Column(2, "K", LONG))
        assert "case only" in self.problem(self.changed(tmp_path, columns=columns))

    def test_types(self, tmp_path: Path) -> None:
        columns = (Column(1, "i", YearMonthInterval()),)
        assert "interval" in self.problem(self.changed(tmp_path, columns=columns))

    def test_functions(self, tmp_path: Path) -> None:
        asked = self.changed(tmp_path)
        alike = request(asked.source, COLUMNS, call("ilike", NAME, param(NAME), type=BOOLEAN))
        assert "ilike" in self.problem(alike)

    def test_stored_types_are_found_out(self, tmp_path: Path) -> None:
        columns = (Column(1, "k", DATE), NAME, AMOUNT)
        asked = self.changed(tmp_path, columns=columns)
        assert self.engine.inexactness([asked], SETTINGS) is None
        evaluation = self.engine.open(targets([], [], False), SETTINGS)
        with pytest.raises(EngineError, match=r"t\.k is stored as BIGINT.*engine='spark'"):
            evaluation.check([asked])


def test_after_a_defect_of_duckdb_there_is_a_new_database() -> None:
    """DuckDB refuses everything after an internal error; the next question must not meet that."""
    import duckdb

    before = process.database()
    try:
        with (
            pytest.raises(EngineError, match=r"defect of its own .*; ask again"),
            process.duckdb_errors(),
        ):
            raise duckdb.InternalException("INTERNAL Error: a dictionary changed")
        assert process.database() is not before
        with process.zoned_cursor("UTC") as cursor:
            found = cursor.execute("SELECT current_setting('disabled_optimizers')").fetchall()
        assert found == [("statistics_propagation",)]
    finally:
        process.replace_database()
        process._failed.clear()
