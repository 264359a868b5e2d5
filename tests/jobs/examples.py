"""A small job with every kind of record, and Hypothesis strategies for expressions and jobs."""

from __future__ import annotations

import datetime as dt
import decimal

import msgspec
from hypothesis import strategies as st

from predtrace.inference.plan import Intermediate, LineagePlan, ScanLineage, Step
from predtrace.jobs.model import (
    EngineSettings,
    Job,
    Source,
    SourceFile,
    StoredIntermediate,
    StoredResult,
)
from pushdown.operators import (
    AggregateCall,
    Aggregation,
    Assignment,
    Filter,
    GroupBy,
    Origin,
    Scan,
    SemiJoin,
    Sort,
    SortKey,
)
from symbolic import types as t
from symbolic.expr import (
    Call,
    Column,
    Lambda,
    Literal,
    Param,
    Variable,
    call,
    conjunction,
    same,
)
from symbolic.functions import FUNCTIONS

ORDER_KEY = Column(1, "o_orderkey", t.LONG)
PRIORITY = Column(2, "o_orderpriority", t.STRING)
LINE_KEY = Column(3, "l_orderkey", t.LONG)
COUNT = Column(4, "order_count", t.LONG, nullable=False)
TARGET = same(PRIORITY, Param(0, 2, "o_orderpriority", t.STRING))
MATCHES = call("eq", LINE_KEY, Param(1, 1, "o_orderkey", t.LONG))
SETTINGS = EngineSettings(
    engine_version="4.3.0", time_zone="Europe/Berlin", ansi=True, case_sensitive=False
)
GRAPH = (
    Sort(id=0, input=1, keys=(SortKey(PRIORITY),)),
    GroupBy(
        id=1,
        input=2,
        keys=(Assignment(PRIORITY, PRIORITY),),
        aggregations=(Aggregation(COUNT, AggregateCall("count", (), t.LONG)),),
    ),
    SemiJoin(id=2, left=3, right=4, condition=call("eq", ORDER_KEY, LINE_KEY)),
    Filter(
        id=3,
        input=5,
        condition=call("gt", ORDER_KEY, Literal(7, t.LONG)),
        origin=Origin("WHERE o_orderkey > 7", 3),
    ),
    Scan(id=4, table="lineitem", occurrence=1, columns=(LINE_KEY,), alias="l"),
    Scan(id=5, table="orders", occurrence=1, columns=(ORDER_KEY, PRIORITY)),
)
PLAN = LineagePlan(
    aggregates="minimal",
    scans=(
        ScanLineage(node=5, predicate=same(ORDER_KEY, MATCHES.args[1]), binding=1),
        ScanLineage(
            node=4, predicate=MATCHES, binding=1, label="superset", reason="the semi join: unknown"
        ),
    ),
    intermediates=(
        Intermediate(
            binding=1,
            node=2,
            columns=(ORDER_KEY, PRIORITY),
            predicate=TARGET,
            parent=0,
            why="the semi join below needs o_orderkey",
            estimated_rows=100.0,
            estimated_bytes=float("inf"),
        ),
    ),
    steps=(
        Step(node=0, above=TARGET, below=(TARGET,), verdict="exact", reason="order only"),
        Step(node=1, above=TARGET, below=(TARGET,), verdict="exact", reason="a key"),
        Step(
            node=2,
            above=conjunction(TARGET, same(ORDER_KEY, MATCHES.args[1])),
            below=(TARGET, MATCHES),
            verdict="exact",
            reason="all keys are bound",
            stored=1,
        ),
        Step(node=3, above=TARGET, below=(TARGET,), verdict="superset", reason="not proved"),
    ),
)


def source(name: str = "orders", *files: SourceFile) -> Source:
    return Source(
        name=name,
        format="parquet",
        roots=(f"/data/{name}.parquet",),
        files=files or (SourceFile(path=f"/data/{name}.parquet", size=10, modified=5, rows=2),),
        columns=(ORDER_KEY, PRIORITY),
    )


def example_job(job_id: str = "20261121-093000-4f2a", query: str = "SELECT 1\nFROM orders") -> Job:
    stored = StoredResult(folder="intermediate-1", columns=(ORDER_KEY, PRIORITY), rows=5, bytes=60)
    return Job(
        id=job_id,
        created="2026-11-21T09:30:00+00:00",
        query=query,
        keep="inline",
        graph=GRAPH,
        root=0,
        plans=(PLAN,),
        sources=(source("lineitem"), source("orders")),
        settings=SETTINGS,
        intermediates=(StoredIntermediate(aggregates="minimal", binding=1, result=stored),),
        output=StoredResult(folder="output", columns=(PRIORITY, COUNT), rows=5, bytes=40),
        timings={"run": 1.5},
    )


data_types = st.recursive(
    st.sampled_from(
        [
            t.BOOLEAN,
            t.INTEGER,
            t.LONG,
            t.DOUBLE,
            t.STRING,
            t.DATE,
            t.TIMESTAMP,
            t.NULL,
            t.Decimal(15, 2),
            t.Binary(),
            t.Opaque("variant"),
            t.YearMonthInterval(),
        ]
    ),
    lambda inner: st.one_of(
        st.builds(t.Array, inner),
        st.builds(t.Map, inner, inner),
        st.lists(st.builds(t.Field, st.text(max_size=3), inner), max_size=3).map(
            lambda fields: t.Record(tuple(fields))
        ),
    ),
    max_leaves=4,
)
values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.decimals(),
    st.text(),
    st.binary(),
    st.dates(),
    st.datetimes(timezones=st.sampled_from([None, dt.UTC])),
    st.just(decimal.Decimal("1.50")),
)
variables = st.builds(Variable, st.integers(0, 2), st.text(max_size=4), data_types)
expressions = st.recursive(
    st.one_of(
        variables,
        st.builds(Literal, values, data_types),
        st.builds(Column, st.integers(0, 9), st.text(max_size=4), data_types, st.booleans()),
        st.builds(Param, st.integers(0, 2), st.integers(0, 9), st.text(max_size=4), data_types),
    ),
    lambda inner: st.one_of(
        st.builds(
            Call,
            st.sampled_from(sorted(FUNCTIONS)),
            st.lists(inner, max_size=3).map(tuple),
            data_types,
            st.booleans(),
        ),
        st.builds(Lambda, st.lists(variables, max_size=2).map(tuple), inner),
    ),
    max_leaves=12,
)


@st.composite
def jobs(draw: st.DrawFn) -> Job:
    predicate = draw(expressions)
    column = draw(st.builds(Column, st.just(1), st.text(), data_types))
    graph = (
        Filter(id=0, input=1, condition=predicate),
        Scan(id=1, table="t", occurrence=1, columns=(column,)),
    )
    scan = ScanLineage(node=1, predicate=draw(expressions), binding=0)
    plan = LineagePlan(aggregates="whole", scans=(scan,), intermediates=(), steps=())
    return msgspec.structs.replace(
        example_job(query=draw(st.text())),
        graph=graph,
        sources=(source("t"),),
        plans=(plan,),
        intermediates=(),
        output=None,
        timings=draw(st.dictionaries(st.text(max_size=3), st.floats(allow_nan=False), max_size=2)),
    )
