"""The source tables of the pipelines: seeded, with NULLs, duplicates, ties and odd names.

Times are points in time, as naive datetimes in UTC.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import random
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NamedTuple

Row = tuple[Any, ...]
SEED = 7
_START = dt.datetime(2024, 3, 29, 20, 0)
_DAY = dt.date(2024, 1, 1)


class Table(NamedTuple):
    """Columns with the names of their types, rows, and the way in which they lie on disk.

    `form` is ``parquet``, ``csv``, ``json`` or the columns by which folders partition the table.
    """

    columns: Mapping[str, str]
    rows: list[Row]
    form: str = "parquet"


def tables(seed: int = SEED) -> dict[str, Table]:
    """All tables, by name."""
    made = {}
    for name, make in _MAKERS.items():
        made[name] = make(random.Random(f"{seed} {name}"))
    return made


def _customers(rng: random.Random) -> Table:
    names = ["Ann", "  bob", "Zoë", "O'Neil", "Li", "ANN ", None, "Max"]
    rows: list[Row] = [
        (
            number,
            rng.choice(names),
            rng.choice(["a@x.com", "B@X.COM ", "bad", None, "c@y.org"]),
            rng.choice(["Berlin", "berlin", "Paris", None, "Köln"]),
            _DAY + dt.timedelta(days=rng.randint(0, 90)),
            rng.choice(["gold", "basic", None]),
        )
        for number in range(1, 13)
    ]
    columns = {
        "customer_id": "int", "name": "text", "email": "text", "city": "text",
        "signup": "date", "tier": "text",
    }  # fmt: skip
    return Table(columns, [*rows, rows[2], rows[5]])


def _orders(rng: random.Random) -> Table:
    rows: list[Row] = [
        (
            100 + number,
            rng.choice([*range(1, 10), 77, None]),
            _START + dt.timedelta(hours=5 * number, minutes=rng.randint(0, 59)),
            rng.choice(["paid", "paid", "open", "cancelled", None]),
            rng.choice([Decimal("10.00"), Decimal("19.99"), Decimal("250.50"), None]),
            rng.choice(["web", "shop", "App"]),
        )
        for number in range(30)
    ]
    columns = {
        "order_id": "int", "customer_id": "int", "ordered_at": "time", "status": "text",
        "amount": "decimal", "order channel": "text",
    }  # fmt: skip
    return Table(columns, [*rows, rows[4], rows[4], rows[11]])


def _items(rng: random.Random) -> Table:
    skus = ["s1", "s2", "s3", "s4", "s9", None]
    rows: list[Row] = [
        (
            rng.randint(100, 129),
            line,
            rng.choice(skus),
            rng.choice([1, 2, 3, None]),
            rng.choice([1.5, 2.25, 10.0, 0.5, None]),
        )
        for line in range(45)
    ]
    columns = {
        "order_id": "int", "line": "int", "sku": "text", "qty": "int", "unit_price": "double",
    }  # fmt: skip
    return Table(columns, rows)


def _products(_: random.Random) -> Table:
    columns = {
        "sku": "text", "title": "text", "category": "text", "price": "double", "tags": "texts",
    }  # fmt: skip
    rows: list[Row] = [
        ("s1", "Lamp", "home", 20.0, ["new", "sale"]),
        ("s2", "Desk", "home", 120.0, []),
        ("s3", "Pen", "office", 1.5, ["sale", "sale", None]),
        ("s4", "Ink", "office", None, None),
        ("s5", "Rug", None, 75.0, ["eco"]),
        ("s6", "Cup", "kitchen", 4.0, ["eco", "new"]),
        ("s7", "Tray", "kitchen", 4.0, ["b2b"]),
    ]
    return Table(columns, rows)


def _events(rng: random.Random) -> Table:
    rows: list[Row] = []
    for user in ("u1", "u2", "u3", "u4", None):
        moment = _START + dt.timedelta(minutes=rng.randint(0, 600))
        for _ in range(rng.randint(6, 9)):
            moment += dt.timedelta(minutes=rng.choice([1, 3, 10, 29, 31, 45, 200]))
            kind = rng.choice(["view", "view", "cart", "buy", "search"])
            page = rng.choice(["/", "/p/1", "/p/2", None])
            rows.append((len(rows) + 1, user, moment, kind, page, _payload(rng)))
    rng.shuffle(rows)
    columns = {
        "event_id": "int", "user": "text", "at": "time", "kind": "text", "page": "text",
        "payload": "text",
    }  # fmt: skip
    return Table(columns, rows)


def _payload(rng: random.Random) -> str | None:
    good = {
        "device": {"os": rng.choice(["ios", "android"]), "v": rng.randint(1, 3)},
        "ids": [rng.randint(1, 4) for _ in range(rng.randint(0, 3))],
        "ab": rng.choice(["A", "B", None]),
    }
    return rng.choice([json.dumps(good)] * 6 + ["{broken", None])


def _readings(rng: random.Random) -> Table:
    rows: list[Row] = [
        (
            sensor,
            _START + dt.timedelta(minutes=15 * step),
            rng.choice([None, None, 1.0, 2.5, 4.0]) if step < ends else None,
        )
        for sensor, ends in (("a", 12), ("b", 9), ("c", 12))
        for step in range(12)
    ]
    return Table({"sensor": "text", "at": "time", "value": "double"}, rows)


def _prices(_: random.Random) -> Table:
    days = {"s1": [(0, 18.0), (40, 20.0)], "s2": [(10, 110.0), (20, 115.0), (85, 120.0)],
            "s3": [(0, 1.0)], "s4": [(89, None)]}  # fmt: skip
    rows: list[Row] = [
        (sku, _DAY + dt.timedelta(days=day), price)
        for sku, steps in days.items()
        for day, price in steps
    ]
    return Table({"sku": "text", "valid_from": "date", "list_price": "double"}, rows)


def _dim_customer(_: random.Random) -> Table:
    """A slowly changing dimension of type 2."""
    end = dt.date(2024, 2, 1)
    rows: list[Row] = [
        (1, 1, "Berlin", "gold", _DAY, end, False),
        (2, 1, "Paris", "gold", end, None, True),
        (3, 2, "Berlin", "basic", _DAY, None, True),
        (4, 3, None, "basic", _DAY, None, True),
        (5, 4, "Köln", None, _DAY, end, False),
        (6, 5, "Paris", "gold", end, None, True),
    ]
    columns = {
        "key": "int", "customer_id": "int", "city": "text", "tier": "text",
        "valid_from": "date", "valid_to": "date", "is_current": "bool",
    }  # fmt: skip
    return Table(columns, rows)


def _updates(_: random.Random) -> Table:
    day = dt.date(2024, 3, 1)
    rows: list[Row] = [
        (1, "Paris", "gold", day, "U"),
        (2, "Hamburg", "basic", day, "U"),
        (3, None, "gold", day, "U"),
        (3, "Rome", "gold", day + dt.timedelta(days=1), "U"),
        (6, "Rome", None, day, "I"),
        (5, "Paris", "gold", day, "D"),
        (None, "Oslo", "basic", day, "I"),
    ]
    columns = {
        "customer_id": "int", "city": "text", "tier": "text", "changed_on": "date", "op": "text",
    }  # fmt: skip
    return Table(columns, rows)


def _employees(rng: random.Random) -> Table:
    rows: list[Row] = [
        (
            number,
            f"e{number}",
            None if number == 1 else rng.randint(1, max(1, number // 2)),
            rng.choice(["eng", "ops", "hr"]),
            rng.choice([1000, 1200, 1200, 1500, 2600, 3000, None]),
            _DAY + dt.timedelta(days=number * 9),
        )
        for number in range(1, 17)
    ]
    columns = {
        "id": "int", "name": "text", "manager_id": "int", "dept": "text", "salary": "int",
        "hired": "date",
    }  # fmt: skip
    return Table(columns, rows)


def _logins(rng: random.Random) -> Table:
    days = [_DAY + dt.timedelta(days=day) for day in (0, 1, 2, 4, 5, 9, 10, 11, 12)]
    rows: list[Row] = [
        (user, day) for user in ("u1", "u2", "u3") for day in days if rng.random() < 0.7
    ]
    return Table({"user": "text", "day": "date"}, [*rows, rows[0], rows[3]])


def _sales(rng: random.Random) -> Table:
    rows: list[Row] = [
        (
            rng.choice(["north", "south", "east", None]),
            rng.choice(["s1", "s2", "s3"]),
            rng.choice([5, 10, 20, None]),
            rng.choice([2.0, 4.5, -0.0, 0.0, math.nan]),
            year,
            month,
        )
        for year in (2023, 2024)
        for month in (1, 2, 3)
        for _ in range(5)
    ]
    columns = {
        "region": "text", "sku": "text", "units": "int", "weight": "double", "year": "int",
        "month": "int",
    }  # fmt: skip
    return Table(columns, rows, "year month")


def _old_orders(rng: random.Random) -> Table:
    """Orders of an older system: text, under other names."""
    rows: list[Row] = [
        (
            f"{number}",
            rng.choice(["1", "2", "3", "n/a", ""]),
            rng.choice(["12.50", "7", "abc", None, "1e2"]),
            rng.choice(["2023-12-31", "2024-01-05", "31.01.2024", None]),
            rng.choice(["Yes", "no", "Y", None]),
        )
        for number in range(50, 66)
    ]
    columns = {
        "Order No": "text", "Customer#": "text", "Total": "text", "Date": "text", "Paid?": "text",
    }  # fmt: skip
    return Table(columns, rows)


def _stores(_: random.Random) -> Table:
    rows: list[Row] = [
        (1, "Mitte", "north", 120),
        (2, "Süd, Ost", "south", None),
        (3, 'The "Box"', "east", 80),
        (4, None, "west", 80),
    ]
    columns = {"store_id": "int", "store name": "text", "region": "text", "size": "int"}
    return Table(columns, rows, "csv")


def _logs(rng: random.Random) -> Table:
    rows: list[Row] = [
        (
            number,
            rng.choice(["INFO", "WARN", "ERROR", None]),
            rng.choice(["db", "web", "job"]),
            rng.choice([12, 80, 300, None]),
            rng.choice(["timeout after 30s", "ok", "retry 2 of 5", None]),
        )
        for number in range(24)
    ]
    columns = {"id": "long", "level": "text", "service": "text", "ms": "long", "message": "text"}
    return Table(columns, rows, "json")


_MAKERS = {
    "customers": _customers,
    "orders": _orders,
    "items": _items,
    "products": _products,
    "events": _events,
    "readings": _readings,
    "prices": _prices,
    "dim_customer": _dim_customer,
    "updates": _updates,
    "employees": _employees,
    "logins": _logins,
    "sales": _sales,
    "old_orders": _old_orders,
    "stores": _stores,
    "logs": _logs,
}
