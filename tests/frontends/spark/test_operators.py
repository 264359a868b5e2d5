"""Every supported Catalyst operator: what it becomes, and that it gives Spark's result."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from predtrace.frontends.spark import SparkPipeline
from pushdown import operators as ops
from symbolic.expr import Call, Column, render
from symbolic.types import BOOLEAN
from tests.frontends.spark.shapes import shape

Read = Callable[[str], SparkPipeline]

SHAPES = {
    "SELECT k FROM t WHERE v > 5": "RowTransform(Filter(t1))",
    "SELECT * FROM t, u WHERE t.k = u.k": "InnerJoin(t1, u1)",
    "SELECT a FROM (SELECT TRANSFORM(k) USING 'cat' AS (a INT) FROM t)": (
        "Opaque(RowTransform(t1))"
    ),
    "SELECT * FROM t CROSS JOIN u": "InnerJoin(t1, u1)",
    "SELECT * FROM t JOIN u USING (k)": "RowTransform(InnerJoin(t1, u1))",
    "SELECT * FROM t NATURAL JOIN u": "RowTransform(InnerJoin(t1, u1))",
    "SELECT * FROM t LEFT JOIN u ON t.k = u.k": "LeftJoin(t1, u1)",
    "SELECT * FROM t RIGHT JOIN u ON t.k = u.k": "RightJoin(t1, u1)",
    "SELECT * FROM t FULL JOIN u ON t.k = u.k": "FullJoin(t1, u1)",
    "SELECT * FROM t LEFT SEMI JOIN u ON t.k = u.k": "SemiJoin(t1, u1)",
    "SELECT * FROM t LEFT ANTI JOIN u ON t.k = u.k": "AntiJoin(t1, u1)",
    "SELECT * FROM t WHERE EXISTS (SELECT * FROM u WHERE u.k = t.k)": "SemiJoin(t1, u1)",
    "SELECT * FROM t WHERE k IN (SELECT k FROM u)": "SemiJoin(t1, RowTransform(u1))",
    "SELECT * FROM t WHERE NOT EXISTS (SELECT * FROM u WHERE u.k = t.k)": "AntiJoin(t1, u1)",
    "SELECT * FROM t WHERE k NOT IN (SELECT k FROM u)": "AntiJoin(t1, RowTransform(u1))",
    "SELECT * FROM t WHERE v > 10 OR k IN (SELECT k FROM u)": (
        "RowTransform(Filter(MarkJoin(t1, RowTransform(u1))))"
    ),
    "SELECT * FROM t WHERE EXISTS (SELECT * FROM u WHERE w > 100)": (
        "RowTransform(Filter(MarkJoin(t1, Filter(u1))))"
    ),
    "SELECT k FROM t WHERE NOT EXISTS (SELECT * FROM e)": (
        "RowTransform(RowTransform(Filter(MarkJoin(t1, e1))))"
    ),
    "SELECT k FROM t WHERE v > (SELECT avg(v) FROM t)": (
        "RowTransform(RowTransform(Filter(ScalarSubquery(t1, GroupBy(t2)))))"
    ),
    "SELECT k, (SELECT max(w) FROM u) FROM t": "RowTransform(ScalarSubquery(t1, GroupBy(u1)))",
    "SELECT k FROM t WHERE v > (SELECT max(w) FROM e WHERE e.k = t.k)": (
        "RowTransform(RowTransform(RowTransform(InnerJoin(t1, RowTransform(GroupBy(e1))))))"
    ),
    "SELECT sum(v + (SELECT max(w) FROM u)) FROM t": "GroupBy(ScalarSubquery(t1, GroupBy(u1)))",
    "SELECT t.k FROM t JOIN u ON t.k = u.k AND u.w + t.v < (SELECT max(w) FROM u)": (
        "RowTransform(RowTransform(InnerJoin(ScalarSubquery(t1, GroupBy(u2)), u1)))"
    ),
    "SELECT k FROM t ORDER BY (SELECT max(w) FROM u), k": (
        "RowTransform(Sort(ScalarSubquery(RowTransform(t1), GroupBy(u1))))"
    ),
    "SELECT g, count(*) FROM t GROUP BY g": "GroupBy(t1)",
    "SELECT count(*), g FROM t GROUP BY g": "RowTransform(GroupBy(t1))",
    "SELECT g, sum(v) / count(v) FROM t GROUP BY g": "RowTransform(GroupBy(t1))",
    "SELECT v % 7 AS r, count(*) FROM t GROUP BY v % 7": "GroupBy(t1)",
    "SELECT v % 7 + 1 AS r, count(*) FROM t GROUP BY v % 7": "RowTransform(GroupBy(t1))",
    "SELECT sum(v) FROM t GROUP BY g, g": "RowTransform(GroupBy(t1))",
    "SELECT g, g AS h, max(v), max(v) FROM t GROUP BY g": "RowTransform(GroupBy(t1))",
    "SELECT g FROM t GROUP BY g HAVING sum(v) > 5": "RowTransform(Filter(GroupBy(t1)))",
    "SELECT g, e FROM t LATERAL VIEW explode(array(k, v)) AS e": "RowTransform(Generate(t1))",
    "SELECT g, count(*) FROM t GROUP BY ROLLUP (g)": (
        "RowTransform(GroupBy(Expand(RowTransform(t1))))"
    ),
    "SELECT DISTINCT g FROM t": "Distinct(RowTransform(t1))",
    "SELECT count(DISTINCT v), sum(v) FILTER (WHERE k > 1) FROM t": "GroupBy(t1)",
    "SELECT k FROM t UNION ALL SELECT w FROM u": "Union(RowTransform(t1), RowTransform(u1))",
    "SELECT k FROM t UNION SELECT w FROM u": (
        "Distinct(Union(RowTransform(t1), RowTransform(u1)))"
    ),
    "SELECT k FROM t INTERSECT SELECT k FROM u": "Intersect(RowTransform(t1), RowTransform(u1))",
    "SELECT k FROM t INTERSECT ALL SELECT k FROM u": (
        "Intersect(RowTransform(t1), RowTransform(u1))"
    ),
    "SELECT k FROM t EXCEPT SELECT k FROM u": "Except(RowTransform(t1), RowTransform(u1))",
    "SELECT k FROM t EXCEPT ALL SELECT k FROM u": "Except(RowTransform(t1), RowTransform(u1))",
    "SELECT * FROM t ORDER BY v": "Sort(t1)",
    "SELECT * FROM t ORDER BY v LIMIT 3 OFFSET 1": "Limit(Sort(t1))",
    "SELECT * FROM t ORDER BY v LIMIT ALL": "Sort(t1)",
    "SELECT * FROM t ORDER BY v LIMIT ALL OFFSET 1": "Limit(Sort(t1))",
    "SELECT k FROM (SELECT * FROM t LIMIT ALL) WHERE v > 1": "RowTransform(Filter(t1))",
    "SELECT * FROM t ORDER BY v OFFSET 1": "Limit(Sort(t1))",
    "SELECT * FROM t TABLESAMPLE (5 ROWS)": "Limit(t1)",
    "SELECT t.k, x.n FROM t, LATERAL (SELECT sum(w) AS n FROM u WHERE u.k < t.v) x": (
        "RowTransform(RowTransform(InnerJoin(t1, RowTransform(LeftJoin(Domain(t1), "
        "RowTransform(GroupBy(InnerJoin(Domain(t1), u1))))))))"
    ),
    "SELECT * FROM t TABLESAMPLE (50 PERCENT) REPEATABLE (7)": "Sample(t1)",
    "SELECT k, rand() AS r FROM t": "RowTransform(OpaqueColumns(t1))",
    "SELECT k FROM t WHERE v > 1 AND rand() < 0.5": (
        "RowTransform(RowTransform(Filter(OpaqueColumns(Filter(t1)))))"
    ),
    "WITH c AS (SELECT k, v FROM t) SELECT * FROM c a JOIN c b ON a.k = b.k": (
        "InnerJoin(RowTransform(t1), RowTransform(RowTransform(t2)))"
    ),
    "SELECT /*+ BROADCAST(u) */ * FROM t JOIN u ON t.k = u.k": "InnerJoin(t1, u1)",
    "SELECT k, rank() OVER (ORDER BY v) AS r FROM t": (
        "RowTransform(RowTransform(Window(RowTransform(t1))))"
    ),
    "SELECT 1 + 1": "RowTransform(OneRow())",
    "SELECT k, k FROM t": "RowTransform(t1)",
}


@pytest.mark.parametrize("statement", SHAPES)
def test_shape(read: Read, statement: str) -> None:
    assert shape(read(statement)) == SHAPES[statement]


def test_not_in_keeps_its_null_rule(read: Read) -> None:
    pipeline = read("SELECT * FROM t WHERE k NOT IN (SELECT k FROM u)")
    (join,) = (o for o in pipeline.graph.operators() if isinstance(o, ops.AntiJoin))
    assert isinstance(join.condition, Call)
    equal, unknown = join.condition.args
    assert (join.condition.function, unknown) == (
        "or",
        Call("is_null", (equal,), BOOLEAN, nullable=False),
    )


def test_common_conjuncts_become_the_join_condition(read: Read) -> None:
    statement = "SELECT t.k FROM t, u WHERE (t.k = u.k AND v = 1) OR (t.k = u.k AND w = 2)"
    assert shape(read(statement)) == "RowTransform(InnerJoin(t1, u1))"


def test_group_by_without_select_order_needs_no_projection(read: Read) -> None:
    graph = read("SELECT k, g, sum(v) FROM t GROUP BY g, k").graph
    assert [column.name for column in graph.output()] == ["k", "g", "sum(v)"]


def test_equal_aggregates_are_computed_once(read: Read) -> None:
    graph = read("SELECT max(v) AS a, max(v) AS b, max(v) + 1 FROM t").graph
    (group_by,) = (o for o in graph.operators() if isinstance(o, ops.GroupBy))
    assert len(group_by.aggregations) == 1


def test_aggregates(read: Read) -> None:
    graph = read(
        "SELECT count(*), count(v), count(DISTINCT k, v), avg(m), bool_and(b), count_if(b), "
        "median(v), percentile(v, 0.3), stddev(v), max(DISTINCT v), corr(v, x) FROM t"
    ).graph
    (group_by,) = (o for o in graph.operators() if isinstance(o, ops.GroupBy))
    calls = [aggregation.call for aggregation in group_by.aggregations]
    assert [(call.function, len(call.args), call.distinct) for call in calls] == [
        ("count", 0, False),
        ("count", 1, False),
        ("count", 2, True),
        ("avg", 1, False),
        ("bool_and", 1, False),
        ("count_if", 1, False),
        ("median", 1, False),
        ("percentile", 2, False),
        ("stddev_samp", 1, False),
        ("max", 1, False),
        ("corr", 2, False),
    ]


def test_column_ids_are_unique_and_passed_on(read: Read) -> None:
    graph = read("SELECT k, k, v + 1 AS v FROM t").graph
    ids = [column.id for column in graph.output()]
    scan = graph.scans()[0]
    assert len(set(ids)) == 3
    assert ids[0] == scan.columns[0].id
    assert not {ids[1], ids[2]} & {column.id for column in scan.columns}


def test_a_self_join_has_columns_of_its_own_on_each_side(read: Read) -> None:
    graph = read("SELECT * FROM t a JOIN t b ON a.k = b.v").graph
    assert len({column.id for column in graph.output()}) == len(graph.output())
    assert [scan.alias for scan in graph.scans()] == ["a", "b"]


def test_padded_sides_are_nullable(read: Read) -> None:
    graph = read("SELECT c FROM t LEFT JOIN (SELECT k, count(*) c FROM u GROUP BY k) USING (k)")
    assert graph.graph.output()[0].nullable
    inner = read("SELECT c FROM t JOIN (SELECT k, count(*) c FROM u GROUP BY k) USING (k)")
    assert not inner.graph.output()[0].nullable


def test_mark_columns_are_never_null(read: Read) -> None:
    graph = read("SELECT * FROM t WHERE v > 10 OR k IN (SELECT k FROM u)").graph
    (join,) = (o for o in graph.operators() if isinstance(o, ops.MarkJoin))
    assert (join.mark.type, join.mark.nullable) == (BOOLEAN, False)


def test_sort_keys(read: Read) -> None:
    graph = read("SELECT * FROM t ORDER BY v DESC, k ASC NULLS LAST").graph
    sort = graph[graph.root]
    assert isinstance(sort, ops.Sort)
    assert [(render(k.value), k.ascending, k.nulls_first) for k in sort.keys] == [
        ("v", False, False),
        ("k", True, False),
    ]


def test_origin_says_where(read: Read) -> None:
    graph = read("SELECT k\nFROM t\nWHERE v > 5").graph
    (filter_,) = (o for o in graph.operators() if isinstance(o, ops.Filter))
    assert filter_.origin is not None
    assert filter_.origin.line is not None
    assert "v > 5" in filter_.origin.text


def test_drop_duplicates_on_all_columns(read: Read) -> None:
    from predtrace.frontends.spark import read_pipeline

    frame = read("SELECT g FROM t").dataframe.dropDuplicates()
    assert shape(read_pipeline(frame)) == "Distinct(RowTransform(t1))"


def test_drop_duplicates_on_some_columns(read: Read) -> None:
    from predtrace.frontends.spark import read_pipeline

    frame = read("SELECT g, v, k FROM t").dataframe
    pipeline = read_pipeline(frame.dropDuplicates(["k", "g"]).filter("v > 1"))
    assert shape(pipeline) == "Filter(DropDuplicates(RowTransform(t1)))"
    (found,) = (o for o in pipeline.graph.operators() if isinstance(o, ops.DropDuplicates))
    assert {key.name for key in found.keys} == {"g", "k"}
    assert shape(read_pipeline(frame.dropDuplicates(["k", "v", "g"]))) == (
        "Distinct(RowTransform(t1))"
    )


def test_repartitioning_and_local_sorts_pass_rows_on(read: Read) -> None:
    from predtrace.frontends.spark import read_pipeline

    frame = read("SELECT * FROM t").dataframe.repartition(2, "k").sortWithinPartitions("v")
    assert shape(read_pipeline(frame.filter("v > 1"))) == "Filter(t1)"


def test_subquery_columns_are_dropped_again(read: Read) -> None:
    graph = read("SELECT * FROM t WHERE v > (SELECT avg(v) FROM t)").graph
    assert [column.name for column in graph.output()] == list("kgvdmxsb")


def test_references_are_the_inputs_columns(read: Read) -> None:
    graph = read("SELECT a.k + b.k FROM t a LEFT JOIN t b ON a.k = b.v").graph
    top = graph[graph.root]
    assert isinstance(top, ops.RowTransform)
    value = top.assignments[0].value
    assert isinstance(value, Call)
    below = set(graph.output(top.input))
    assert all(isinstance(arg, Column) and arg in below for arg in value.args)
