"""The kit's rows and what is behind them, on tables small enough to see."""

from __future__ import annotations

import ast
import math
from pathlib import Path

import pytest

from tests.pipelines import aggregates as a
from tests.pipelines import windows as w
from tests.pipelines.kit import Frame, Tables, key

ROWS = [(1, "x", 5), (1, "x", 5), (1, "y", 7), (2, "y", None), (None, "z", 7)]


def tables(whole: bool = False) -> Tables:
    return Tables({"t": (["k", "s", "v"], ROWS)}, whole=whole)


def shown(frame: Frame) -> list[tuple[tuple[object, ...], str]]:
    """The rows with the numbers of their source rows."""
    return [
        (tuple(row[c] for c in frame.columns), "".join(sorted(str(n) for _, _, n in row.sources)))
        for row in frame.rows
    ]


def test_nothing_in_it_knows_spark_or_predtrace() -> None:
    for name in ("rows", "kit", "aggregates", "windows"):
        tree = ast.parse((Path(__file__).parent / f"{name}.py").read_text("utf-8"))
        nodes = list(ast.walk(tree))
        modules = {alias.name for n in nodes if isinstance(n, ast.Import) for alias in n.names}
        modules |= {n.module for n in nodes if isinstance(n, ast.ImportFrom) and n.module}
        mine = {m for m in modules if m.startswith("tests.")}
        assert mine <= {"tests.pipelines.rows", "tests.pipelines.kit"}
        assert not {m for m in modules if m.split(".")[0] in ("pyspark", "predtrace")}


def test_groups_have_all_their_rows_or_those_that_attain() -> None:
    t = tables()
    assert shown(t("t").group("k", n=a.count()))[0] == ((1, 3), "012")
    assert shown(t("t").group("k", m=a.high("v")))[0] == ((1, 7), "2")
    assert shown(t("t").group("k", m=a.high("v"), l=a.low("v")))[0] == ((1, 7, 5), "012")
    assert shown(t("t").group("k", m=a.high("v")))[1] == ((2, None), "3")
    assert shown(t("t").group("k", m=a.high("v"), n=a.count()))[0] == ((1, 7, 3), "012")
    assert shown(tables(whole=True)("t").group("k", m=a.high("v")))[0] == ((1, 7), "012")
    assert shown(t("t").where(lambda r: False).group("", n=a.count())) == [((0,), "")]


def test_joins_pad_and_do_not_match_nulls() -> None:
    t = tables()
    one, other = t("t").select("k"), Frame(["k", "x"], t("t").select("k s").rename(s="x").rows)
    other = other.where(lambda r: r.x != "x")
    assert shown(one.join(other, "k"))[:2] == [((1, "y"), "02"), ((1, "y"), "12")]
    assert ((None, None), "4") in shown(one.join(other, "k", "left"))
    assert ((None, "z"), "4") in shown(one.join(other, "k", "full"))
    assert shown(one.join(other, "k", "semi"))[0] == ((1,), "02")
    assert shown(one.join(other, "k", "anti")) == [((None,), "4")]


def test_a_row_stands_for_its_values() -> None:
    t = tables()
    assert shown(t("t").distinct())[0] == ((1, "x", 5), "01")
    assert shown(w.limit(t("t"), "k s v", 2))[1] == ((1, "x", 5), "01")
    assert shown(w.top(t("t"), "k", "v"))[0] == ((1, "x", 5), "01")
    assert shown(t("t").select("s").intersect(t("t").select("s")))[0] == (("x",), "0011")
    assert shown(t("t").select("s").minus(t("t").where(lambda r: r.s == "x").select("s")))[0] == (
        ("y",), "23",
    )  # fmt: skip


def windowed(function: w.Function, order: str = "v", *, whole: bool = False) -> list[object]:
    """A window over the rows with k = 1: (5, 5, 7); its values and rows behind."""
    rows = tables(whole)("t").where(lambda r: r.k == 1)
    return [(row[-1], behind) for row, behind in shown(w.window(rows, "k", order, f=function))]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (w.rank(), [(1, "01"), (1, "01"), (3, "012")]),
        (w.dense_rank(), [(1, "01"), (1, "01"), (2, "012")]),
        (w.row_number(), [(1, "01"), (2, "01"), (3, "012")]),
        (w.lag("v"), [(None, "01"), (5, "01"), (5, "012")]),
        (w.lag("v", -1), [(5, "01"), (7, "012"), (None, "2")]),
        (w.over(a.total("v")), [(10, "01"), (10, "01"), (17, "012")]),
        (w.over(a.high("v")), [(5, "01"), (5, "01"), (7, "2")]),
        (w.over(a.total("v"), w.rows(0, 1)), [(10, "01"), (12, "012"), (7, "2")]),
        (w.over(a.total("v"), w.span(-1, 0)), [(10, "01"), (10, "01"), (7, "2")]),
        (w.first("v"), [(5, "01"), (5, "01"), (5, "012")]),
        (w.last("v", w.rows(), nulls=False), [(7, "012"), (7, "012"), (7, "2")]),
        (w.part(lambda at: 1), [(1, "012"), (1, "012"), (1, "012")]),
    ],
)
def test_windows(function: w.Function, expected: list[object]) -> None:
    assert windowed(function) == expected


def test_windows_under_the_whole_reading() -> None:
    assert windowed(w.first("v"), whole=True)[2] == (5, "012")
    assert windowed(w.over(a.high("v")), whole=True)[2] == (7, "012")


def test_orders() -> None:
    frame = Frame(["v"], tables()("t").pick("v").rows)
    assert [row.v for row in w.in_order(frame.rows, "v")] == [None, 5, 5, 7, 7]
    assert [row.v for row in w.in_order(frame.rows, "-v")] == [7, 7, 5, 5, None]


def test_rollups_and_pivots() -> None:
    t = tables()
    rolled = shown(t("t").rollup("k s", n=a.count()))
    assert ((1, "x", 2), "01") in rolled
    assert ((1, None, 3), "012") in rolled
    assert ((None, None, 5), "01234") in rolled
    assert shown(t("t").pivot("k", "s", ["x", "y"], m=a.high("v")))[0] == ((1, 5, 7), "012")


def test_values_are_compared_as_spark_groups_them() -> None:
    assert key(math.nan) == key(-math.nan)
    assert key([0.0, None]) == key([-0.0, None])
    assert key(0.1 + 0.2, exact=False) == key(0.3, exact=False)
    assert key(0.1 + 0.2) != key(0.3)


def test_scans_of_a_table_are_told_apart() -> None:
    t = tables()
    sources = {origin for row in t("t").union(t("t")).rows for origin in row.sources}
    assert {number for _, number, _ in sources} == {1, 2}
