"""Functions that no row of the function table knows, evaluated by Spark under their own names."""

from __future__ import annotations

import datetime
import logging
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import AnalysisException

import predtrace
from predtrace.errors import EngineError
from predtrace.frontends.spark import read_pipeline
from predtrace.frontends.spark.carrying import Carrier
from pushdown.operators import OpaqueColumns
from symbolic.expr import Call, walk
from symbolic.functions import Carried, carried
from tests.byhand import Expected

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_INSTANTS = ("2024-03-31T00:30:00", "2024-10-27T00:30:00", "1999-12-31T23:59:59.999999", None)
TABLE = pa.table(
    {
        "id": pa.array(range(8), pa.int32()),
        "s": pa.array(
            ["Robert", "Rupert", '{"a": 1, "b": [2]}', "", None, "1F", "<a>7</a>", "é;b"]
        ),
        "u": pa.array(["http://x.org/p?q=1", "a,b,a", '{"a": null}', "a", "x", None, "'", "\\"]),
        "i": pa.array([0, 5, -1, 20, None, 2**31 - 1, -(2**31), 5], pa.int32()),
        "l": pa.array([1, 0, -1, 2**63 - 1, None, -(2**63), 64, 1], pa.int64()),
        "f": pa.array(
            [0.0, -0.0, float("nan"), float("inf"), None, 1.5, -2.5, 1e300], pa.float64()
        ),
        "d": pa.array([Decimal(n).scaleb(-2) for n in (0, 1, -1, 12345, 7, 100, 7, 1)]),
        "day": pa.array([0, 19_812, 19_812, None, -1, 20_000, 11_016, 0], pa.date32()),
        "t": pa.array(
            [
                None if text is None else datetime.datetime.fromisoformat(text)
                for text in _INSTANTS * 2
            ],
            pa.timestamp("us", "UTC"),
        ),
        "xs": pa.array([[1, 2], [2, 1, None], [], None, [3], [1, 2], [0], [None]]),
    }
)
KEYS = """
soundex(s) | levenshtein(s, u) | levenshtein(s, u, 3) | hex(s) | hex(l) | bin(l)
base64(binary(s)) | crc32(binary(s)) | format_number(d, 1) | format_string('%s-%s', s, i)
elt(id % 3 + 1, s, u, 'z') | find_in_set(s, u) | overlay(s PLACING '_' FROM 2 FOR 1) | mask(s)
mask(s, 'Q') | substring_index(u, ',', 2) | regexp_count(s, '[a-z]')
regexp_extract_all(u, '(\\\\w)', 1) | str_to_map(s, ',', ':') IS NULL
to_json(named_struct('d', day, 'f', f))
to_json(named_struct('t', t), map('timestampFormat', 'dd HH'))
from_json(s, 'a INT, b ARRAY<INT>').b[0] | from_json(s, 'a INT', map('mode', 'PERMISSIVE')).a
get_json_object(s, '$.a') | json_array_length(u) | json_object_keys(s)
to_csv(named_struct('i', id)) | from_csv(u, 'a STRING, b STRING').b
parse_url(if(u LIKE 'http%', u, NULL), 'HOST') | url_encode(s) | quote(u) | luhn_check(u)
array_union(xs, array(id)) | array_join(xs, '-', '?') | arrays_overlap(xs, array(1))
array_max(xs) | sequence(0, id) | size(xs)
map_keys(map_filter(map(id, s), (k, v) -> k > 1 AND v <> '')) | array_sort(xs)
size(transform_values(map(id, s), (k, v) -> concat(v, k))) | nullif(array_min(xs), 2)
array_sort(xs, (x, y) -> CASE WHEN x > y THEN -1 WHEN x < y THEN 1 ELSE 0 END) | sin(f) | cot(f)
hypot(f, 1D) | atan2(f, -1D) | cbrt(f) | rint(f) | log(2, f) | shiftleft(i, 2) | ~i | bit_count(l)
getbit(l, 1) | width_bucket(f, 0, 10, 4) | typeof(i) | typeof(l) | factorial(id)
timestampadd(HOUR, 1, t) | timestampdiff(DAY, t, timestamp'2024-11-01 00:00:00')
to_utc_timestamp(t, 'Asia/Tokyo') | unix_micros(t) | unix_date(day) | date_from_unix_date(id)
dayname(day) | to_char(d, '999.99') | make_timestamp(2024, 10, 27, 2, id, 0)
day - date'2020-01-01' | t - timestamp'2020-01-01 00:00:00'
variant_get(try_parse_json(s), '$.a', 'int') | schema_of_variant(try_parse_json(u))
xpath_string(if(s LIKE '<%', s, NULL), 'a') | is_valid_utf8(s) | size(sentences(s))
try_to_binary(s, 'hex') | decode(id, 1, 'one', 2, 'two', 'more') | to_binary(hex(s), 'hex')
bround(f) | log1p(f) | degrees(f)
"""
SETTINGS = [(True, "UTC"), (False, "Europe/Berlin"), (True, "America/New_York")]
"""ANSI mode and time zone."""


def _keys() -> list[str]:
    return [key.strip() for line in KEYS.strip().splitlines() for key in line.split(" | ")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("carried")
    pq.write_table(TABLE, path / "t.parquet")
    return path


def _session(spark: SparkSession, folder: Path, ansi: bool, zone: str = "UTC") -> SparkSession:
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    session.conf.set("spark.sql.session.timeZone", zone)
    session.read.parquet(str(folder / "t.parquet")).createOrReplaceTempView("t")
    return session


@pytest.mark.parametrize("turn", range(len(SETTINGS)))
def test_groups_by_carried_functions(
    spark: SparkSession, folder: Path, tmp_path: Path, turn: int
) -> None:
    """The truth is Spark's own value of each row, beside the row's id; the settings take turns."""
    session = _session(spark, folder, *SETTINGS[turn])
    keys = _keys()[turn :: len(SETTINGS)]
    plain = ", ".join(f"string({key}) AS k{number}" for number, key in enumerate(keys))
    rows = session.sql(f"SELECT id, {plain} FROM t").collect()
    parts = (f"SELECT {n} AS tag, string({key}) AS k FROM t" for n, key in enumerate(keys))
    frame = session.sql(
        f"SELECT tag, k, count(*) AS n FROM ({' UNION ALL '.join(parts)}) GROUP BY tag, k"
    )
    expected: dict[Any, list[int]] = defaultdict(list)
    for row in rows:
        for number in range(len(keys)):
            expected[number, row[f"k{number}"]].append(row["id"])
    job = predtrace.trace(frame).run(store=tmp_path, keep="none")
    targets = list(expected)
    answer = job.lineage([(*group, len(expected[group])) for group in targets], engine="spark")
    assert answer.label == "precise"
    found: dict[Any, list[int]] = defaultdict(list)
    rows_of = answer["t"].row_ids()
    for target, number in zip(
        rows_of.column("target").to_pylist(), rows_of.column("row").to_pylist(), strict=True
    ):
        found[targets[target]].append(number)
    for group, members in expected.items():
        assert sorted(found[group]) == members, (keys[group[0]], group[1])


def test_most_of_these_keys_have_no_row(spark: SparkSession, folder: Path) -> None:
    session = _session(spark, folder, ansi=True)
    frame = session.sql(
        f"SELECT {', '.join(f'{key} AS k{n}' for n, key in enumerate(_keys()))} FROM t"
    )
    names = {
        function.name
        for operator in read_pipeline(frame).graph.operators()
        for expr in operator.expressions
        for node in walk(expr)
        if isinstance(node, Call) and (function := carried(node.function)) is not None
    }
    assert len(names) > 60
    assert {
        "to_json",
        "from_json",
        "map_filter",
        "array_sort",
        "variant_get",
        "timestampadd",
    } <= names
    assert {"<<", "shiftleft"} & names


QUERIES: dict[str, Expected] = {
    # Where the pipeline filters first, the function fails on rows that it never saw.
    "SELECT hex(b) AS k FROM (SELECT to_binary(s, 'hex') AS b FROM t WHERE s = '1F')": {
        ("1F",): {"t": [5]}
    },
    "SELECT id, CASE WHEN i BETWEEN 0 AND 20 THEN factorial(i) END AS k FROM t WHERE id < 4": {
        (0, 1): {"t": [0]},
        (1, 120): {"t": [1]},
        (2, None): {"t": [2]},
        (3, 2432902008176640000): {"t": [3]},
    },
    "SELECT CASE WHEN id < 9 THEN soundex(s) ELSE raise_error('no') END AS k, count(*) AS n "
    "FROM t WHERE id < 2 GROUP BY 1": {("R163", 2): {"t": [0, 1]}},
    # What a function makes of NULL is not known.
    "SELECT typeof(i) AS k, count(i) AS n FROM t GROUP BY 1": {
        ("int", 7): {"t": [0, 1, 2, 3, 4, 5, 6, 7]}
    },
    "SELECT soundex(max(s)) AS k, levenshtein(min(u), 'x') AS d FROM t WHERE id IN (0, 1) "
    "GROUP BY soundex(s)": {("R163", 5): {"t": [1]}},
    "SELECT a.id FROM t AS a JOIN t AS b ON soundex(a.s) = soundex(b.s) AND a.id <> b.id "
    "WHERE a.s LIKE 'R%'": {(0,): {"t": [0], "t2": [1]}, (1,): {"t": [1], "t2": [0]}},
}


@pytest.mark.parametrize("text", QUERIES)
def test_queries(spark: SparkSession, folder: Path, tmp_path: Path, text: str) -> None:
    frame = _session(spark, folder, ansi=True).sql(text)
    job = predtrace.trace(frame).run(store=tmp_path)
    assert {tuple(row) for row in job.output.collect()} == set(QUERIES[text])
    for row, rows in QUERIES[text].items():
        for mode in ("stored", "replayed"):
            answer = job.lineage(row, mode=mode, engine="spark")
            for name, wanted in rows.items():
                scan = answer.scan("t", occurrence=2 if name == "t2" else 1)
                assert (scan.label, sorted(scan.to_pandas()["id"])) == ("precise", wanted), mode


def test_zeros_are_told_apart(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    """0.0 joins -0.0, and their texts differ."""
    frame = _session(spark, folder, ansi=True).sql(
        "SELECT a.id AS x, b.id AS y, format_string('%.0f', b.f) AS text FROM t AS a "
        "JOIN t AS b ON a.f = b.f WHERE a.id < 2"
    )
    job = predtrace.trace(frame).run(store=tmp_path)
    rows = {(0, 0, "0"), (0, 1, "-0"), (1, 0, "0"), (1, 1, "-0")}
    assert {tuple(row) for row in job.output.collect()} == rows
    for x, y, text in rows:
        answer = job.lineage((x, y, text), mode="stored", engine="spark")
        for number, scan in (
            (x, answer.scan("t", occurrence=1)),
            (y, answer.scan("t", occurrence=2)),
        ):
            found = sorted(scan.to_pandas()["id"])
            assert number in found
            assert scan.label == "superset" or found == [number]


def test_duckdb_is_never_asked(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    frame = _session(spark, folder, ansi=True).sql("SELECT soundex(s) AS k FROM t")
    job = predtrace.trace(frame).run(store=tmp_path)
    with pytest.raises(EngineError, match="function soundex is not evaluated exactly"):
        job.lineage({"k": "R163"}, mode="replayed", engine="duckdb")["t"].row_ids()


def test_one_made_under_other_settings_does_not_come_back(
    spark: SparkSession, folder: Path
) -> None:
    """size(NULL) is -1 where the frame was made, and NULL where it is traced."""
    session = _session(spark, folder, ansi=False)
    frame = session.sql("SELECT size(xs) AS n FROM t")
    frame.schema  # noqa: B018
    read_pipeline(frame)
    session.conf.set("spark.sql.ansi.enabled", "true")
    assert _opaque_in(frame) == ["size(xs)"]


def _opaque_in(frame: Any) -> list[str]:
    """The columns that only the run computes."""
    operators = read_pipeline(frame).graph.operators()
    found = (o.made for o in operators if isinstance(o, OpaqueColumns))
    return [each.text.replace("t.", "") for made in found for each in made]


@pytest.mark.parametrize(
    "text",
    [
        "try_to_binary(string(1 / id), 'hex')",
        "from_xml(s, 'a INT', map('rowValidationXSDPath', '/x.xsd')).a",
        "to_binary(aes_encrypt(s, '0000111122223333'), 'hex')",
        "arrays_zip(xs, array(id))",
    ],
)
def test_left_to_the_run(spark: SparkSession, folder: Path, text: str) -> None:
    frame = _session(spark, folder, ansi=True).sql(
        f"SELECT {text} AS k, count(*) FROM t GROUP BY 1"
    )
    assert len(_opaque_in(frame)) == 1


def test_reading_leaves_the_session_as_it_was(spark: SparkSession, folder: Path) -> None:
    session = _session(spark, folder, ansi=True)
    before, tables = session.conf.getAll, session.sql("SHOW TABLES").collect()
    read_pipeline(session.sql("SELECT soundex(s) AS k FROM t"))
    assert (session.conf.getAll, session.sql("SHOW TABLES").collect()) == (before, tables)


def test_errors_of_spark_are_still_logged_and_raised(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PySpark's loggers take parts of messages that plain ones do not."""
    monkeypatch.setattr(logging.root.manager, "loggerDict", {})
    session = _session(spark, folder, ansi=True)
    read_pipeline(session.sql("SELECT soundex(s) AS k FROM t"))
    with pytest.raises(AnalysisException, match="UNRESOLVED_COLUMN"):
        session.sql("SELECT nothing FROM t")


def test_nested_functions_are_proved_once_each(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proved, function = [], Carrier.function

    def counted(self: Carrier, *args: Any) -> Carried:
        proved.append(args)
        return function(self, *args)

    monkeypatch.setattr(Carrier, "function", counted)
    text = "s"
    for outer in ["url_encode({})", "to_json(named_struct('x', {}))"] * 4:
        text = outer.format(text)
    read_pipeline(_session(spark, folder, ansi=True).sql(f"SELECT {text} AS k FROM t"))
    assert len(proved) == 8
