"""Random operator graphs with tables to run them on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from hypothesis import strategies as st
from msgspec.structs import replace

from pushdown.graph import OperatorGraph
from pushdown.operators import (
    Aggregation,
    AntiJoin,
    Assignment,
    Distinct,
    Domain,
    DropDuplicates,
    Except,
    Expand,
    Filter,
    Generate,
    GroupBy,
    GroupKey,
    InnerJoin,
    Intersect,
    Limit,
    MarkJoin,
    OneRow,
    Opaque,
    OpaqueColumn,
    OpaqueColumns,
    Operator,
    OperatorBase,
    OuterJoin,
    RowTransform,
    Sample,
    ScalarSubquery,
    Scan,
    SemiJoin,
    Sort,
    SortKey,
    Union_,
    Window,
)
from symbolic.expr import TRUE, Call, Column, Expr, Literal, call, same
from symbolic.types import BOOLEAN, LONG, Array, DataType, Field, Record, comparable
from tests.strategies.aggregates import aggregate_call
from tests.strategies.expressions import Draw, join_condition, likely, one_of, predicate, value_of
from tests.strategies.values import COLUMN_NAMES, COLUMN_TYPES, values
from tests.strategies.windows import over_rows, ranking, window_functions

Row = tuple[Any, ...]


class Table(NamedTuple):
    """A source: names, types and nullability of its columns, and its rows."""

    columns: tuple[tuple[str, DataType, bool], ...]
    rows: list[Row]


class Pipeline(NamedTuple):
    """A graph and the rows of its tables."""

    graph: OperatorGraph
    tables: dict[str, list[Row]]


class Node(NamedTuple):
    """A finished part of a graph: its top node and that node's output columns."""

    id: int
    columns: tuple[Column, ...]


class GraphBuilder:
    """Builds a random graph downwards from a budget of operators.

    With `sharing`, parts that are there already are read again, through a projection.
    """

    def __init__(
        self,
        draw: Draw,
        tables: dict[str, Table],
        kinds: tuple[str, ...],
        *,
        sharing: bool = False,
    ) -> None:
        self.draw = draw
        self.tables = tables
        self.kinds = kinds
        self.operators: list[Operator] = []
        self.scans: Counter[str] = Counter()
        self.column_count = 0
        self.sharing = sharing
        self.finished: list[Node] = []

    def relation(self, budget: int) -> Node:
        """A random part with about `budget` operators above its scans."""
        if self.sharing and self.finished and likely(self.draw, 2):
            return self.again(one_of(self.draw, self.finished))
        if budget <= 0:
            made = self.scan()
        else:
            made = _KINDS[one_of(self.draw, self.kinds)][0](self, budget - 1)
        if made.columns:
            self.finished.append(made)
        return made

    def again(self, node: Node) -> Node:
        """A part that is there already, with new columns."""
        copied = tuple(Assignment(self.column(c.name, c.type, c.nullable), c) for c in node.columns)
        return self.add(RowTransform, node, input=node.id, assignments=copied)

    def add(self, make: Callable[..., Operator], *inputs: Node, **fields: Any) -> Node:
        """Add an operator of the class with the fields."""
        operator = make(id=len(self.operators) + 1, **fields)
        self.operators.append(operator)
        return Node(operator.id, operator.output(*(node.columns for node in inputs)))

    def column(self, name: str, data_type: DataType, nullable: bool = True) -> Column:
        """A column with a new id."""
        self.column_count += 1
        return Column(self.column_count, name, data_type, nullable)

    def named(self, data_type: DataType) -> Column:
        """A new column of the type, with some name."""
        return self.column(one_of(self.draw, COLUMN_NAMES), data_type)

    def halves(self, budget: int) -> tuple[Node, Node]:
        """Two parts that share the budget."""
        left = self.draw(st.integers(0, budget))
        return self.relation(left), self.relation(budget - left)

    def scan(self) -> Node:
        """A scan of some table, perhaps not the first one of it."""
        name = one_of(self.draw, sorted(self.tables))
        self.scans[name] += 1
        columns = tuple(self.column(*column) for column in self.tables[name].columns)
        return self.add(Scan, table=name, occurrence=self.scans[name], columns=columns)

    def projected(self, source: Node, types: tuple[DataType, ...]) -> Node:
        """The source with computed columns of the given types."""
        assignments = tuple(
            Assignment(self.named(data_type), self.fitting(source, data_type))
            for data_type in types
        )
        return self.add(RowTransform, source, input=source.id, assignments=assignments)

    def fitting(self, source: Node, data_type: DataType) -> Expr:
        """A column of the type if there is one, else some expression."""
        found = [column for column in source.columns if column.type == data_type]
        return one_of(self.draw, found) if found else value_of(self.draw, data_type, source.columns)


def _filter(build: GraphBuilder, budget: int) -> Node:
    source = build.relation(budget)
    condition = predicate(build.draw, source.columns)
    return build.add(Filter, source, input=source.id, condition=condition)


def _row_transform(build: GraphBuilder, budget: int) -> Node:
    source = build.relation(budget)
    kept = build.draw(st.lists(st.sampled_from(source.columns), max_size=3, unique=True)) \
        if source.columns else []  # fmt: skip
    assignments = [Assignment(column, column) for column in kept]
    for _ in range(one_of(build.draw, (0, 1, 1, 2)) or not kept):
        column = build.named(one_of(build.draw, COLUMN_TYPES))
        assignments.append(Assignment(column, value_of(build.draw, column.type, source.columns)))
    return build.add(RowTransform, source, input=source.id, assignments=tuple(assignments))


def _join(make: Callable[..., Operator]) -> Callable[[GraphBuilder, int], Node]:
    def build_join(build: GraphBuilder, budget: int) -> Node:
        left, right = build.halves(budget)
        condition = join_condition(build.draw, left.columns, right.columns)
        extra: dict[str, Any] = {}
        if make is OuterJoin:
            extra["kind"] = one_of(build.draw, ("left", "left", "right", "full"))
        if make is MarkJoin:
            extra["mark"] = build.column("exists", BOOLEAN, nullable=False)
        if make in (AntiJoin, MarkJoin) and likely(build.draw, 3):
            # NOT IN: a comparison that is NULL decides as a match does, but is none.
            if make is MarkJoin:
                extra["matches"] = condition
            condition = call("or", condition, Call("is_null", (condition,), BOOLEAN))
        return build.add(
            make, left, right, left=left.id, right=right.id, condition=condition, **extra
        )

    return build_join


def _mark_filter(build: GraphBuilder, budget: int) -> Node:
    """A mark join with a condition on its mark, as EXISTS inside OR gives."""
    marked = _join(MarkJoin)(build, max(budget - 1, 0))
    other = predicate(build.draw, marked.columns, depth=1)
    condition = call("or", marked.columns[-1], other)
    return build.add(Filter, marked, input=marked.id, condition=condition)


def _scalar_subquery(build: GraphBuilder, budget: int) -> Node:
    left, source = build.halves(max(budget - 1, 0))
    if likely(build.draw, 3):
        right = build.projected(source, (one_of(build.draw, COLUMN_TYPES),))
        right = build.add(Limit, right, input=right.id, count=1)
    else:
        right = _grouped(build, source, keys=0, aggregates=1)
    value = right.columns[0]
    column = build.column("value", value.type)
    return build.add(ScalarSubquery, left, right, left=left.id, right=right.id, column=column)


def _group_by(build: GraphBuilder, budget: int) -> Node:
    keys = one_of(build.draw, (0, 1, 1, 2))
    aggregates = one_of(build.draw, (0, 1, 1, 2))
    return _grouped(build, build.relation(budget), keys, aggregates)


def _grouped(build: GraphBuilder, source: Node, keys: int, aggregates: int) -> Node:
    draw = build.draw
    chosen: dict[int, Assignment] = {}
    for _ in range(keys if source.columns else 0):
        column = one_of(draw, source.columns)
        if likely(draw, 4):
            new = build.named(column.type)
            chosen[new.id] = Assignment(new, value_of(draw, column.type, source.columns))
        else:
            chosen[column.id] = Assignment(column, column)
    aggregations = []
    only_extremes = likely(draw, 2)
    for _ in range(aggregates if chosen else max(aggregates, 1)):
        made = aggregate_call(draw, source.columns, only_extremes)
        column = build.column(made.function, made.type, nullable=made.function != "count")
        aggregations.append(Aggregation(column, made))
    return build.add(
        GroupBy,
        source,
        input=source.id,
        keys=tuple(chosen.values()),
        aggregations=tuple(aggregations),
    )


def _having(build: GraphBuilder, budget: int) -> Node:
    grouped = _group_by(build, max(budget - 1, 0))
    condition = predicate(build.draw, grouped.columns, depth=1)
    return build.add(Filter, grouped, input=grouped.id, condition=condition)


def _distinct(build: GraphBuilder, budget: int) -> Node:
    source = build.relation(budget)
    return build.add(Distinct, source, input=source.id)


def _correlated(build: GraphBuilder, budget: int) -> Node:
    """Outer rows joined with what is computed for the different values of one of their columns."""
    outer, inner = build.halves(budget)
    if not outer.columns:
        return build.add(InnerJoin, outer, inner, left=outer.id, right=inner.id, condition=TRUE)
    value = one_of(build.draw, outer.columns)
    column = build.named(value.type)
    domain = build.add(Domain, outer, input=outer.id, assignments=(Assignment(column, value),))
    condition = join_condition(build.draw, domain.columns, inner.columns)
    pairs = build.add(InnerJoin, domain, inner, left=domain.id, right=inner.id, condition=condition)
    if likely(build.draw, 2):
        made = aggregate_call(build.draw, pairs.columns, likely(build.draw, 2))
        result = build.column(made.function, made.type, nullable=made.function != "count")
        pairs = build.add(
            GroupBy, pairs, input=pairs.id, keys=(Assignment(column, column),),
            aggregations=(Aggregation(result, made),),
        )  # fmt: skip
    sides: dict[str, Any] = {"left": outer.id, "right": pairs.id, "condition": same(column, value)}
    join = one_of(build.draw, (InnerJoin, OuterJoin, SemiJoin, AntiJoin))
    extra = {"kind": "left"} if join is OuterJoin else {}
    return build.add(join, outer, pairs, **sides, **extra)


def _drop_duplicates(build: GraphBuilder, budget: int) -> Node:
    source = build.relation(budget)
    few = st.lists(st.sampled_from(source.columns), max_size=2, unique=True)
    keys = build.draw(few) if source.columns else []
    return build.add(DropDuplicates, source, input=source.id, keys=tuple(keys))


def _set_operation(make: Callable[..., Operator]) -> Callable[[GraphBuilder, int], Node]:
    def build_set_operation(build: GraphBuilder, budget: int) -> Node:
        first, second = build.halves(budget)
        size = build.draw(st.integers(1, 3))
        types = tuple(column.type for column in first.columns[:size])
        left, right = build.projected(first, types), build.projected(second, types)
        columns = tuple(build.named(data_type) for data_type in types)
        branches = (left.columns, right.columns)
        if make is Union_:
            return build.add(
                make, left, right, inputs=(left.id, right.id), branches=branches, columns=columns
            )
        every = likely(build.draw, 3)
        return build.add(
            make, left, right,
            left=left.id, right=right.id, branches=branches, columns=columns, all=every,
        )  # fmt: skip

    return build_set_operation


def _sort(build: GraphBuilder, budget: int) -> Node:
    source = build.relation(budget)
    keys = tuple(
        SortKey(one_of(build.draw, source.columns), *build.draw(st.tuples(*[st.booleans()] * 2)))
        for _ in range(min(len(source.columns), 2))
    )
    return build.add(Sort, source, input=source.id, keys=keys)


def _limit(build: GraphBuilder, budget: int) -> Node:
    source = build.relation(budget)
    count = one_of(build.draw, (None, 0, 1, 1, 2, 3))
    offset = one_of(build.draw, (0, 0, 1))
    return build.add(Limit, source, input=source.id, count=count, offset=offset)


def _sample(build: GraphBuilder, budget: int) -> Node:
    source = build.relation(budget)
    lower = one_of(build.draw, (0.0, 0.0, 0.3))
    seed = build.draw(st.integers(0, 99))
    return build.add(
        Sample, source, input=source.id, lower=lower, upper=one_of(build.draw, (0.5, 0.8, 1.0)),
        with_replacement=likely(build.draw, 3), seed=seed,
    )  # fmt: skip


def _opaque(build: GraphBuilder, budget: int) -> Node:
    """A program over one or two tables, or over their groups."""
    tables = [build.relation(budget // 2) for _ in range(one_of(build.draw, (1, 1, 2)))]
    columns = tuple(build.named(one_of(build.draw, COLUMN_TYPES)) for _ in range(2))
    inputs = tuple(table.id for table in tables)
    if likely(build.draw, 2):
        return build.add(Opaque, *tables, inputs=inputs, name="program", columns=columns)
    pairs = [
        (left, right)
        for left in tables[0].columns
        for right in tables[-1].columns
        if left.type == right.type and comparable(left.type)
    ]
    keys = tuple(
        GroupKey(build.named(left.type), (left, right)[: len(tables)])
        for left, right in (
            build.draw(st.lists(st.sampled_from(pairs), max_size=2)) if pairs else ()
        )
        if len(tables) == 2 or left == right
    )
    return build.add(
        Opaque, *tables, inputs=inputs, name="program", columns=columns, keys=keys, grouped=True
    )


def _opaque_columns(build: GraphBuilder, budget: int) -> Node:
    source = build.relation(budget)
    made = tuple(
        OpaqueColumn(
            build.named(LONG), "random", tuple(c for c in source.columns if likely(build.draw, 4))
        )
        for _ in range(one_of(build.draw, (1, 1, 2)))
    )
    return build.add(OpaqueColumns, source, input=source.id, made=made)


def _top_k(build: GraphBuilder, budget: int) -> Node:
    source = _sort(build, max(budget - 1, 0))
    count = one_of(build.draw, (1, 2, 3))
    return build.add(Limit, source, input=source.id, count=count)


def _expand(build: GraphBuilder, budget: int) -> Node:
    """Projections that pass some columns on, and give others different values."""
    source = build.relation(budget)
    passed = tuple(column for column in source.columns if likely(build.draw, 2))
    types = [one_of(build.draw, COLUMN_TYPES) for _ in range(one_of(build.draw, (1, 1, 2)))]
    projections = tuple(
        (*passed, *(_expanded(build, source, data_type) for data_type in types))
        for _ in range(one_of(build.draw, (1, 2, 2, 3)))
    )
    columns = (*passed, *map(build.named, types))
    return build.add(Expand, source, input=source.id, projections=projections, columns=columns)


def _expanded(build: GraphBuilder, source: Node, data_type: DataType) -> Expr:
    if likely(build.draw, 3):
        return Literal(None, data_type)
    return build.fitting(source, data_type)


def _generate(build: GraphBuilder, budget: int) -> Node:
    """The elements of an array of values, or the fields of structs in one; some arrays are NULL."""
    source = build.relation(budget)
    types = [one_of(build.draw, COLUMN_TYPES) for _ in range(one_of(build.draw, (1, 1, 2)))]
    structs = len(types) > 1 or likely(build.draw, 3)
    names = tuple(f"f{place}" for place in range(len(types)))
    kind: DataType = types[0]
    if structs:
        fields = zip(names, types, strict=True)
        kind = Record(tuple(Field(name, data_type) for name, data_type in fields))
    items = []
    for _ in range(one_of(build.draw, (1, 2, 2, 3))):
        values = tuple(build.fitting(source, data_type) for data_type in types)
        items.append(Call("make_struct", values, kind, False) if structs else values[0])
    rows: Expr = Call("make_array", tuple(items), Array(kind), False)
    if likely(build.draw, 2):
        there = predicate(build.draw, source.columns, depth=1)
        rows = Call("case", (there, rows, Literal(None, rows.type)), rows.type)
    return build.add(
        Generate, source, input=source.id, rows=rows, columns=tuple(map(build.named, types)),
        fields=names if structs else (), outer=likely(build.draw, 2),
    )  # fmt: skip


def _grouping_sets(build: GraphBuilder, budget: int) -> Node:
    """Groups at several levels, told apart by a number or, where it is not read above, not."""
    source = build.relation(max(budget - 2, 0))
    keys = tuple(column for column in source.columns if likely(build.draw, 2))
    expanded = tuple(build.named(column.type) for column in keys)
    level = build.column("level", LONG, nullable=False)
    projections = tuple(
        (
            *source.columns,
            *(key if likely(build.draw, 2) else Literal(None, key.type) for key in keys),
            Literal(number, LONG),
        )
        for number in range(one_of(build.draw, (1, 2, 3)))
    )
    columns = (*source.columns, *expanded, level)
    made = build.add(Expand, source, input=source.id, projections=projections, columns=columns)
    aggregations = tuple(
        Aggregation(build.column(c.function, c.type, nullable=c.function != "count"), c)
        for c in [
            aggregate_call(build.draw, source.columns, likely(build.draw, 2))
            for _ in range(one_of(build.draw, (0, 1, 2)))
        ]
    )
    grouped = tuple(Assignment(column, column) for column in (*expanded, level))
    groups = build.add(GroupBy, made, input=made.id, keys=grouped, aggregations=aggregations)
    kept = tuple(c for c in groups.columns if c != level or likely(build.draw, 2))
    if not kept:
        return groups
    shown = tuple(Assignment(column, column) for column in kept)
    return build.add(RowTransform, groups, input=groups.id, assignments=shown)


def _window(build: GraphBuilder, budget: int) -> Node:
    source = build.relation(budget)
    if not source.columns:
        return source
    functions = window_functions(build.draw, source.columns, build.column)
    return build.add(Window, source, input=source.id, functions=functions)


def _row_frames(build: GraphBuilder, budget: int) -> Node:
    """An aggregate over a frame of rows: a window below numbers them, a projection drops that."""
    source = build.relation(max(budget - 2, 0))
    if not source.columns:
        return source
    numbering, function = over_rows(build.draw, source.columns, build.column)
    numbered = build.add(Window, source, input=source.id, functions=(numbering,))
    framed = build.add(Window, numbered, input=numbered.id, functions=(function,))
    shown = tuple(Assignment(c, c) for c in (*source.columns, function.column))
    return build.add(RowTransform, framed, input=framed.id, assignments=shown)


def _top_ranked(build: GraphBuilder, budget: int) -> Node:
    """A filter on a ranking that nothing else reads."""
    source = build.relation(max(budget - 2, 0))
    if not source.columns:
        return source
    name = one_of(build.draw, ("rank", "dense_rank", "row_number"))
    made = replace(ranking(build.draw, source.columns, build.column, name), silent=True)
    ranked = build.add(Window, source, input=source.id, functions=(made,))
    most = Literal(one_of(build.draw, (1, 1, 2)), made.column.type)
    kept = build.add(Filter, ranked, input=ranked.id, condition=call("le", made.column, most))
    shown = tuple(Assignment(c, c) for c in source.columns)
    return build.add(RowTransform, kept, input=kept.id, assignments=shown)


def _one_row(build: GraphBuilder, budget: int) -> Node:
    return build.projected(build.add(OneRow), (one_of(build.draw, COLUMN_TYPES),))


_KINDS: dict[str, tuple[Callable[[GraphBuilder, int], Node], type[OperatorBase]]] = {
    "filter": (_filter, Filter),
    "project": (_row_transform, RowTransform),
    "inner": (_join(InnerJoin), InnerJoin),
    "outer": (_join(OuterJoin), OuterJoin),
    "semi": (_join(SemiJoin), SemiJoin),
    "anti": (_join(AntiJoin), AntiJoin),
    "mark": (_join(MarkJoin), MarkJoin),
    "mark_filter": (_mark_filter, MarkJoin),
    "scalar": (_scalar_subquery, ScalarSubquery),
    "group": (_group_by, GroupBy),
    "having": (_having, GroupBy),
    "distinct": (_distinct, Distinct),
    "correlated": (_correlated, Domain),
    "duplicates": (_drop_duplicates, DropDuplicates),
    "union": (_set_operation(Union_), Union_),
    "intersect": (_set_operation(Intersect), Intersect),
    "except": (_set_operation(Except), Except),
    "sort": (_sort, Sort),
    "limit": (_limit, Limit),
    "top_k": (_top_k, Limit),
    "one_row": (_one_row, OneRow),
    "window": (_window, Window),
    "row_frames": (_row_frames, Window),
    "top_ranked": (_top_ranked, Window),
    "sample": (_sample, Sample),
    "opaque_columns": (_opaque_columns, OpaqueColumns),
    "expand": (_expand, Expand),
    "generate": (_generate, Generate),
    "grouping_sets": (_grouping_sets, Expand),
    "opaque": (_opaque, Opaque),
}
"""Kind of part to how it is drawn, and the operator that it is there for."""
DRAWN = frozenset({Scan, *(operator for _, operator in _KINDS.values())})
_ON_REQUEST = {
    "sample": "an engine draws other rows than the reference",
    "opaque": "no engine runs a program again",
    "duplicates": "an engine may keep other rows than the reference",
    "opaque_columns": "no engine knows the values",
}
"""Kinds that are drawn only if they are asked for, and why."""
_ALL = (
    *_KINDS, "filter", "project", "inner", "inner", "semi", "group", "outer", "window", "sample",
)  # fmt: skip
_WEIGHTED = tuple(kind for kind in _ALL if kind not in _ON_REQUEST)
BY_DEFAULT = tuple(kind for kind in _KINDS if kind not in _ON_REQUEST)
_POSITIVE = ("filter", "project", "inner", "semi", "distinct", "sort")
_BLOCKS = ("filter", "project", "inner", "inner", "group", "having", "distinct", "sort")


@st.composite
def tables(draw: Any, most_rows: int = 5, count: int = 3) -> dict[str, Table]:
    """One to `count` tables of one to four columns; some of them empty."""
    made: dict[str, Table] = {}
    for name in ("r", "s", "t.u")[: draw(st.integers(1, count))]:
        types = draw(st.lists(st.sampled_from(COLUMN_TYPES), min_size=1, max_size=4))
        names = draw(st.permutations(COLUMN_NAMES))
        columns = tuple(
            (column, data_type, not likely(draw, 4))
            for column, data_type in zip(names, types)  # noqa: B905 (more names than columns)
        )
        row = st.tuples(*(values(data_type, nullable) for _, data_type, nullable in columns))
        fewest = one_of(draw, (0, 1, 2, 3, 3, 3))
        rows = draw(st.lists(row, min_size=fewest, max_size=most_rows))
        if rows and likely(draw, 3):
            rows.append(draw(st.sampled_from(rows)))
        made[name] = Table(columns, rows)
    return made


@st.composite
def _pipelines(
    draw: Any,
    kinds: tuple[str, ...],
    operators: int,
    most_rows: int,
    *,
    sharing: bool = False,
    top: str | None = None,
) -> Pipeline:
    sources = draw(tables(most_rows))
    build = GraphBuilder(draw, sources, kinds, sharing=sharing)
    budget = draw(st.integers(1, operators))
    root = build.relation(budget) if top is None else _KINDS[top][0](build, budget - 1)
    graph = OperatorGraph(build.operators, root.id)
    return Pipeline(graph, {name: table.rows for name, table in sources.items()})


def pipelines(operators: int = 8, *, samples: bool = False) -> st.SearchStrategy[Pipeline]:
    """Graphs of all operators, up to about `operators` of them.

    Without `samples` none takes rows that are up to the run, except limits.
    """
    return _pipelines(_ALL if samples else _WEIGHTED, operators, 5)


def pipelines_under(top: str, operators: int = 4) -> st.SearchStrategy[Pipeline]:
    """Graphs with a part of some kind at their top, a name in `BY_DEFAULT`."""
    return _pipelines(_WEIGHTED, operators, 5, top=top)


def duplicate_pipelines(operators: int = 3) -> st.SearchStrategy[Pipeline]:
    """Graphs of operators that pass rows on, and of some that drop duplicates."""
    kinds = ("duplicates", "duplicates", "filter", "project", "union", "inner", "sort")
    found = _pipelines(kinds, operators, 5)
    return found.filter(lambda pipeline: _drops_duplicates(pipeline.graph))


def _drops_duplicates(graph: OperatorGraph) -> bool:
    return any(isinstance(operator, DropDuplicates) for operator in graph.operators())


def shared_pipelines(operators: int = 6) -> st.SearchStrategy[Pipeline]:
    """Graphs of all operators with a node that several of them read."""
    found = _pipelines(_WEIGHTED, operators, 4, sharing=True)
    return found.filter(lambda pipeline: bool(pipeline.graph.shared))


def positive_pipelines(operators: int = 4) -> st.SearchStrategy[Pipeline]:
    """Graphs without negation, grouping, limits and unions, over few rows."""
    return _pipelines(_POSITIVE, operators, 3)


def block_pipelines(operators: int = 5) -> st.SearchStrategy[Pipeline]:
    """Graphs of blocks of selection, projection and join, and groups above and among them."""
    return _pipelines(_BLOCKS, operators, 5)
