"""A twisted copy of TPC-H data, on which every predicate of the 22 queries matters.

Plain TPC-H hides faults: at scale 0.1 nothing fails Q20's availability filter, at 0.01
Q16 has no complaining supplier, and Q17 selects nothing. It has no NULL, no duplicate
row and hardly a tie. The edits below put all that in. They are deterministic: which
rows they touch follows from row numbers and the seed.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

import duckdb

from tpch.data import TABLES, build_folder, read_marker
from tpch.database import open_database

_ROW_GROUP = 8192
# Two tables are written as several files: a row number alone identifies no row there.
_FILES = {"orders": 2, "lineitem": 3}


class Edit(NamedTuple):
    """One change: what it is for, and the SQL statements that make it."""

    purpose: str
    statements: tuple[str, ...]


class Gap(NamedTuple):
    """NULLs for a column: in one row of `one_in`."""

    table: str
    column: str
    one_in: int


class Repeat(NamedTuple):
    """Second copies of rows: of one row of `one_in`."""

    table: str
    one_in: int


# mixed(): a number that follows from the row and the salt but shows no pattern.
_MACROS = (
    "CREATE MACRO mixed(number, salt) AS"
    " ((number + 1 + salt * 1000003 + getvariable('seed') * 7919) * 2654435761 % 4294967296)"
    " // 4096",
    "CREATE MACRO pick(number, salt, one_in) AS mixed(number, salt) % one_in = 0",
    "CREATE MACRO nation_key(wanted) AS"
    " (SELECT min(n_nationkey) FROM nation WHERE n_name = wanted)",
)

_SUPPLIERS = (
    Edit(
        "The nations that the queries name have several suppliers, JAPAN has one.",
        (
            """UPDATE supplier SET s_nationkey = n_nationkey FROM nation
               WHERE pick(supplier.row_id, 1, 3) AND n_name = (
                 ['GERMANY', 'FRANCE', 'BRAZIL', 'CANADA', 'CANADA', 'SAUDI ARABIA']
               )[1 + mixed(supplier.row_id, 3) % 6]""",
            """UPDATE supplier SET s_nationkey = nation_key('CHINA')
               WHERE s_nationkey = nation_key('JAPAN') AND s_suppkey <> (
                 SELECT min(s_suppkey) FROM supplier WHERE s_nationkey = nation_key('JAPAN'))""",
        ),
    ),
    Edit(
        "Q16: suppliers with complaints.",
        (
            """UPDATE supplier SET s_comment = 'the Customer regrets his Complaints'
               WHERE pick(row_id, 2, 10)""",
        ),
    ),
)

_PARTS = (
    Edit(
        "Q2, Q8, Q20: more parts of the size, type and name asked for.",
        (
            "UPDATE part SET p_size = 15 WHERE p_type LIKE '%BRASS' AND pick(row_id, 11, 4)",
            "UPDATE part SET p_type = 'ECONOMY ANODIZED STEEL' WHERE pick(row_id, 12, 40)",
            "UPDATE part SET p_name = 'forest ' || p_name WHERE pick(row_id, 13, 8)",
        ),
    ),
    Edit(
        "Q17, Q19: parts of the brands and containers asked for, of right and wrong sizes.",
        (
            """UPDATE part SET p_brand = 'Brand#23', p_container = 'MED BOX'
               WHERE mixed(row_id, 14) % 60 < 2""",
            """UPDATE part SET p_brand = wanted.brand, p_size = 1 + row_id % wanted.sizes,
                 p_container = CASE WHEN row_id % 5 = 0 THEN 'JUMBO JAR' ELSE wanted.container END
               FROM (VALUES (1, 'Brand#12', 'SM CASE', 7), (2, 'Brand#34', 'LG PKG', 20),
                 (3, 'Brand#23', 'MED BAG', 14)) AS wanted (slot, brand, container, sizes)
               WHERE mixed(row_id, 14) % 60 // 2 = wanted.slot""",
        ),
    ),
    Edit(
        "Q2: ties for the least supply cost.",
        (
            """UPDATE partsupp SET ps_supplycost = 100.00 WHERE pick(row_id, 15, 2)
               AND ps_partkey IN (
                 SELECT p_partkey FROM part WHERE p_size = 15 AND p_type LIKE '%BRASS')""",
        ),
    ),
    Edit(
        "Q11: stock too small to be important.",
        ("UPDATE partsupp SET ps_availqty = 1 WHERE pick(row_id, 16, 10)",),
    ),
)

_ORDERS = (
    Edit(
        "Q13: special requests.",
        (
            """UPDATE orders SET o_comment = 'some special quick requests here'
               WHERE pick(row_id, 21, 25)""",
        ),
    ),
    Edit(
        "Q22: rich customers elsewhere move the average if the country codes are ignored.",
        (
            """UPDATE customer SET c_acctbal = 9000.00 WHERE pick(row_id, 22, 4)
               AND substring(c_phone, 1, 2) NOT IN ('13', '31', '23', '29', '30', '18', '17')""",
        ),
    ),
    Edit(
        "Q18: orders above 300 pieces, and some of exactly 300.",
        (
            """UPDATE lineitem SET l_quantity = 50 WHERE l_orderkey IN (
                 SELECT l_orderkey FROM lineitem GROUP BY l_orderkey
                 HAVING count(*) >= 6 AND pick(l_orderkey, 23, 30))""",
        ),
    ),
    Edit(
        "Q21: finished orders in which the first supplier alone is late.",
        (
            """UPDATE lineitem SET l_receiptdate = l_commitdate
                 + CASE WHEN l_linenumber = 1 THEN 5 ELSE 0 END
               WHERE l_orderkey IN (SELECT o_orderkey FROM orders
                 WHERE o_orderstatus = 'F' AND pick(o_orderkey, 24, 10))""",
        ),
    ),
    Edit(
        "Q17: parts with a few small orders; others with small ones only, all alike.",
        (
            """UPDATE lineitem SET l_quantity = CASE
                 WHEN l_partkey % 2 = 0 THEN 3 WHEN row_id % 5 = 0 THEN 1 + row_id % 3 ELSE 40 END
               WHERE l_partkey IN (SELECT p_partkey FROM part
                 WHERE p_brand = 'Brand#23' AND p_container = 'MED BOX' AND p_partkey % 3 > 0)""",
        ),
    ),
    Edit(
        "Q19: the second ship mode exists, the instructions are common, some quantities are 0.",
        (
            "UPDATE lineitem SET l_shipmode = 'AIR REG'"
            " WHERE l_shipmode = 'REG AIR' AND pick(row_id, 25, 2)",
            "UPDATE lineitem SET l_shipinstruct = 'DELIVER IN PERSON' WHERE pick(row_id, 26, 2)",
            "UPDATE lineitem SET l_quantity = 0 WHERE pick(row_id, 27, 50)",
        ),
    ),
)

_GAPS = (
    Gap("nation", "n_comment", 5),
    Gap("supplier", "s_nationkey", 25),
    Gap("supplier", "s_name", 15),
    Gap("supplier", "s_comment", 9),
    Gap("supplier", "s_acctbal", 8),
    Gap("part", "p_mfgr", 4),
    Gap("part", "p_size", 60),
    Gap("part", "p_type", 60),
    Gap("part", "p_container", 60),
    Gap("partsupp", "ps_supplycost", 30),
    Gap("partsupp", "ps_availqty", 50),
    Gap("partsupp", "ps_suppkey", 200),
    Gap("partsupp", "ps_partkey", 200),
    Gap("customer", "c_acctbal", 12),
    Gap("customer", "c_comment", 4),
    Gap("customer", "c_name", 5),
    Gap("customer", "c_phone", 50),
    Gap("customer", "c_nationkey", 60),
    Gap("customer", "c_mktsegment", 60),
    Gap("orders", "o_custkey", 100),
    Gap("orders", "o_comment", 30),
    Gap("orders", "o_orderpriority", 40),
    Gap("orders", "o_totalprice", 5),
    Gap("orders", "o_orderdate", 150),
    Gap("orders", "o_shippriority", 3),
    Gap("lineitem", "l_orderkey", 500),
    Gap("lineitem", "l_suppkey", 200),
    Gap("lineitem", "l_partkey", 200),
    Gap("lineitem", "l_discount", 100),
    Gap("lineitem", "l_quantity", 100),
    Gap("lineitem", "l_extendedprice", 200),
    Gap("lineitem", "l_commitdate", 40),
    Gap("lineitem", "l_receiptdate", 40),
    Gap("lineitem", "l_returnflag", 200),
    Gap("lineitem", "l_shipmode", 100),
)

_REPEATS = (
    Repeat("region", 3),
    Repeat("nation", 8),
    Repeat("supplier", 12),
    Repeat("part", 25),
    Repeat("partsupp", 25),
    Repeat("customer", 25),
    Repeat("orders", 50),
    Repeat("lineitem", 50),
)

_QUARTER = "l_shipdate >= DATE '1996-01-01' AND l_shipdate < DATE '1996-04-01'"
_EXACT_VALUES = (
    Edit(
        "Q15: the last supplier has exactly the revenue of the first.",
        (
            f"""CREATE TEMP TABLE revenue AS
                SELECT l_suppkey, sum(l_extendedprice * (1 - l_discount)) AS total
                FROM lineitem WHERE {_QUARTER} AND l_suppkey IS NOT NULL GROUP BY l_suppkey""",
            "SET VARIABLE richest = (SELECT arg_max(l_suppkey, (total, l_suppkey)) FROM revenue)",
            "SET VARIABLE poorest = (SELECT arg_min(l_suppkey, (total, l_suppkey)) FROM revenue)",
            f"""UPDATE lineitem SET l_shipdate = DATE '1998-11-01'
                WHERE l_suppkey = getvariable('poorest') AND {_QUARTER}""",
            f"""INSERT INTO lineitem
                SELECT * REPLACE (getvariable('poorest') AS l_suppkey) FROM lineitem
                WHERE l_suppkey = getvariable('richest') AND {_QUARTER}""",
        ),
    ),
    Edit(
        "Q20: of the forest parts, one supplier in three has one that is just available enough"
        " (fewer orders of another year would tip it), one just not enough, one as it is.",
        (
            """CREATE TEMP TABLE stock AS
               SELECT partsupp.row_id, ps_suppkey,
                 sum(l_quantity) FILTER (WHERE year(l_shipdate) = 1994) AS during,
                 coalesce(sum(l_quantity) FILTER (WHERE year(l_shipdate) < 1994), 0) AS before,
                 coalesce(sum(l_quantity) FILTER (WHERE year(l_shipdate) > 1994), 0) AS after
               FROM partsupp JOIN part ON p_partkey = ps_partkey AND p_name LIKE 'forest%'
               LEFT JOIN lineitem ON l_partkey = ps_partkey AND l_suppkey = ps_suppkey
               GROUP BY partsupp.row_id, ps_suppkey""",
            """CREATE TEMP TABLE just_enough AS
               SELECT row_id, (0.5 * during)::INTEGER + 1 AS quantity FROM stock
               WHERE during IS NOT NULL AND ps_suppkey % 3 = 0
               QUALIFY row_number() OVER (
                 PARTITION BY ps_suppkey ORDER BY least(before, after) DESC, row_id) = 1""",
            """UPDATE partsupp SET ps_availqty = 0
               WHERE ps_suppkey % 3 < 2 AND row_id IN (SELECT row_id FROM stock)""",
            """UPDATE partsupp SET ps_availqty = quantity FROM just_enough
               WHERE partsupp.row_id = just_enough.row_id""",
        ),
    ),
)


def twist(folder: Path, out: Path, seed: int = 1) -> Path:
    """Write a twisted copy of the data folder to `out`, unless it is there already."""
    recipe = repr((_MACROS, _edits(), _FILES, _ROW_GROUP))
    digest = hashlib.sha256(recipe.encode()).hexdigest()[:16]
    marker = {**(read_marker(folder) or {}), "twist": digest, "seed": seed}

    def fill(temporary: Path) -> None:
        with open_database(folder) as database:
            database.execute("SET VARIABLE seed = ?::BIGINT", [seed])
            for edit in (Edit("macros", _MACROS), *_edits()):
                for statement in edit.statements:
                    database.execute(statement)
            for table in TABLES:
                _write(database, table, temporary)

    return build_folder(out, marker, fill)


def _edits() -> tuple[Edit, ...]:
    """All edits in order: exact values last, since NULLs and repetitions would undo them."""
    gaps = tuple(
        f"UPDATE {gap.table} SET {gap.column} = NULL WHERE pick(row_id, {salt}, {gap.one_in})"
        for salt, gap in enumerate(_GAPS, start=100)
    )
    repeats = tuple(
        f"INSERT INTO {repeat.table} SELECT * FROM {repeat.table}"
        f" WHERE pick(row_id, {salt}, {repeat.one_in})"
        for salt, repeat in enumerate(_REPEATS, start=200)
    )
    return (
        *_SUPPLIERS,
        *_PARTS,
        *_ORDERS,
        Edit("NULLs, in keys, group keys, measures and texts.", gaps),
        Edit("Rows that occur twice.", repeats),
        *_EXACT_VALUES,
    )


def _write(database: duckdb.DuckDBPyConnection, table: str, folder: Path) -> None:
    """Write a table, its rows spread by a second mix so that equal rows are apart."""
    path = folder / f"{table}.parquet"
    rows = database.table(table)
    files = _FILES.get(table, 1)
    if files > 1:
        path.mkdir()
    for number in range(files):
        part = rows.filter(f"mixed(row_id, 301) % {files} = {number}") if files > 1 else rows
        ordered = part.order("mixed(row_id, 302) % 16, row_id").project("* EXCLUDE (row_id)")
        target = path / f"part-{number}.parquet" if files > 1 else path
        ordered.write_parquet(str(target), row_group_size=_ROW_GROUP)
