"""The SQL of a syntax tree."""

from __future__ import annotations

from tests.sqltruth.syntax import (
    Aggregate,
    Call,
    Constant,
    Derived,
    Edge,
    Exists,
    Expr,
    Grouping,
    InQuery,
    Item,
    Join,
    Pivot,
    Query,
    Ref,
    Scalar,
    Select,
    SetOperation,
    Statement,
    Table,
    Top,
    Unpivot,
    Values,
    View,
    Window,
    Windows,
    quoted,
)

WRITTEN: dict[str, str] = {
    "sizes of lists": "size(collect_list({0}){1})",
    "sizes of sets": "size(collect_set({0}){1})",
    "sorted lists": "array_join(sort_array(collect_list({0}){1}), ';')",
    "max by itself": "max_by({0}, {0}){1}",
    "largest by": "max_by({0}, struct({2}, {0})){1}",
    "least by": "min_by({0}, struct({2}, {0})){1}",
    "halves": "percentile({0}, 0.5){1}",
    "lower halves": "percentile_disc(0.5) WITHIN GROUP (ORDER BY {0}){1}",
    "texts together": "listagg(string({0}), ',') WITHIN GROUP (ORDER BY string({0})){1}",
    "grouping": "CAST(grouping({0}) AS int)",
    "grouping_id": "grouping_id()",
}
"""The SQL of aggregates that are more than a call: of the argument, FILTER, the second argument.

What the order of rows decides is put in an order, or counted.
"""
_OVER: dict[str, str] = {
    "sizes of lists": "size(collect_list({0}) OVER {1})",
    "sizes of sets": "size(collect_set({0}) OVER {1})",
    "count all": "count(*) OVER {1}",
}
_SIDES = {-1: "PRECEDING", 1: "FOLLOWING"}


def statement_text(statement: Statement) -> str:
    """The SQL of a statement."""
    heads = ", ".join(f"{quoted(name)} AS ({query_text(q)})" for name, q in statement.ctes)
    text = query_text(statement.query)
    return f"WITH {heads} {text}" if heads else text


def query_text(query: Query) -> str:
    """The SQL of a query."""
    match query:
        case Select():
            return _select_text(query)
        case SetOperation(operator, every, left, right):
            words = f"{operator} ALL" if every else operator
            return f"({query_text(left)}) {words} ({query_text(right)})"
        case Top(inner, order, limit, offset):
            places = ", ".join(f"{place + 1} {direction}" for place, direction in order)
            text = f"{query_text(inner)} ORDER BY {places}"
            text += f" LIMIT {limit}" if limit is not None else ""
            return text + (f" OFFSET {offset}" if offset else "")


def _select_text(select: Select) -> str:
    items = ", ".join(
        f"{text(item)} AS {quoted(name)}"
        for item, name in zip(select.items, select.names, strict=True)
    )
    parts = ["SELECT", "DISTINCT" * select.distinct, "*" if select.star else items]
    parts += ["FROM", item_text(select.source), *map(_view_text, select.views)]
    if select.where:
        parts += ["WHERE", " AND ".join(text(term) for term in select.where)]
    parts += _grouping_parts(select.grouping)
    parts += _window_clause(select.windows)
    if select.qualify is not None:
        parts += ["QUALIFY", text(select.qualify)]
    if select.order:
        parts += ["ORDER BY", ", ".join(text(term) for term in select.order)]
    return " ".join(part for part in parts if part)


def _grouping_parts(grouping: Grouping | None) -> list[str]:
    if grouping is None:
        return []
    parts = []
    if grouping.keys:
        parts += ["GROUP BY", grouping.levels or ", ".join(grouping.written)]
    if grouping.having is not None:
        parts += ["HAVING", text(grouping.having)]
    return parts


def _window_clause(windows: Windows | None) -> list[str]:
    named = {f.label: _over(f) for f in (windows.functions if windows else ()) if f.label}
    return ["WINDOW", ", ".join(f"{name} AS {over}" for name, over in named.items())] * bool(named)


def _view_text(view: View) -> str:
    outer = "OUTER " * view.outer
    names = ", ".join(map(quoted, view.names))
    return f"LATERAL VIEW {outer}{_generator(view)} {quoted(view.alias)} AS {names}"


def _generator(view: View) -> str:
    values = [", ".join(map(text, row)) for row in view.rows]
    if view.kind == "stack":
        return f"stack({len(values)}, {', '.join(values)})"
    if view.kind == "inline":
        named = [[f"'c{n}', {text(part)}" for n, part in enumerate(row)] for row in view.rows]
        values = [f"named_struct({', '.join(row)})" for row in named]
    array = f"array({', '.join(values)})"
    if view.kept is not None:
        array = f"CASE WHEN {text(view.kept)} THEN {array} END"
    return f"{view.kind}({array})"


def item_text(item: Item) -> str:
    """The SQL of a FROM item."""
    match item:
        case Table(name=name, alias=alias, sample=sample):
            name += f" TABLESAMPLE ({sample})" if sample else ""
            return name if alias is None else f"{name} AS {quoted(alias)}"
        case Values(text=rows, alias=alias, names=names):
            return f"{rows} AS {quoted(alias)}({', '.join(map(quoted, names))})"
        case Pivot() | Unpivot():
            clause = _pivot(item) if isinstance(item, Pivot) else _unpivot(item)
            inner = f"SELECT * FROM ({query_text(item.query)}) {clause}"
            return f"({inner}) AS {quoted(item.alias)}"
        case Derived(query=query, alias=alias, cte=cte, lateral=lateral):
            inner = f"({query_text(query)})" if cte is None else quoted(cte)
            return f"{'LATERAL ' * lateral}{inner} AS {quoted(alias)}"
        case Join():
            right = item_text(item.right)
            right = f"({right})" if isinstance(item.right, Join) else right
            words = f"NATURAL {item.kind}" if item.natural else item.kind
            joined = f"{item_text(item.left)} {words} {right}"
            if item.using and not item.natural:
                return f"{joined} USING ({', '.join(map(quoted, item.using))})"
            return joined if item.on is None else f"{joined} ON {text(item.on)}"


def _pivot(item: Pivot) -> str:
    names = list(map(quoted, item.names))
    first = len(names) - len(item.aggregates)
    made = ", ".join(
        f"{text(call)} AS {name}" for call, name in zip(item.aggregates, names[first:], strict=True)
    )
    labels = names[first - len(item.options) : first]
    options = ", ".join(
        f"{option.text} AS {label}" for option, label in zip(item.options, labels, strict=True)
    )
    return f"PIVOT ({made} FOR {names[item.by]} IN ({options}))"


def _unpivot(item: Unpivot) -> str:
    names = list(map(quoted, item.names))
    turned = ", ".join(names[place] for place in item.turned)
    nulls = "INCLUDE NULLS " * item.nulls
    return f"UNPIVOT {nulls}({names[-1]} FOR {names[-2]} IN ({turned}))"


def text(expr: Expr | Aggregate | Window) -> str:
    """The SQL of an expression."""
    match expr:
        case Ref(of=None, text=written):
            return written
        case Ref(of=of):
            assert of is not None
            return text(of)
        case Constant(text=written):
            return written
        case Call(function, arguments):
            return f"({function.text.format(*map(text, arguments))})"
        case Exists(query, negated):
            return f"({'NOT ' * negated}EXISTS ({query_text(query)}))"
        case InQuery(operands, query, negated):
            left = ", ".join(map(text, operands))
            left = f"({left})" if len(operands) > 1 else left
            return f"({left} {'NOT ' * negated}IN ({query_text(query)}))"
        case Scalar(query=query):
            return f"({query_text(query)})"
        case Aggregate():
            return _aggregate(expr)
        case Window():
            default = f"{expr.name}({{0}}){' IGNORE NULLS' * expr.skips} OVER {{1}}"
            written = _OVER.get(expr.name, default)
            return written.format(", ".join(map(text, expr.arguments)), expr.label or _over(expr))


def _aggregate(call: Aggregate) -> str:
    inner = "*" if call.argument is None else text(call.argument)
    where = "" if call.filter is None else f" FILTER (WHERE {text(call.filter)})"
    written = WRITTEN.get(call.name, f"{call.name}({{0}}){{1}}")
    by = "" if call.by is None else text(call.by)
    return written.format(f"{'DISTINCT ' * call.distinct}{inner}", where, by)


def _over(window: Window) -> str:
    parts = []
    if window.partition:
        parts.append(f"PARTITION BY {', '.join(map(text, window.partition))}")
    if window.order:
        keys = (f"{text(key.value)} {key.direction}" for key in window.order)
        parts.append(f"ORDER BY {', '.join(keys)}")
    if window.frame is not None:
        unit, start, end = window.frame
        parts.append(f"{unit} BETWEEN {_edge(start)} AND {_edge(end)}")
    return f"({' '.join(parts)})"


def _edge(edge: Edge) -> str:
    return f"{edge.text} {_SIDES[edge.side]}" if edge.side else "CURRENT ROW"
