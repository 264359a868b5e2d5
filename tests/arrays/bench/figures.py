"""The figures of a benchmark run, in the form written to JSON; times are seconds."""

from __future__ import annotations

import msgspec


class Stored(msgspec.Struct, frozen=True):
    """Table VII: bytes on disk of an operation's lineage, by format, and rows compressed."""

    operation: str
    size: str
    pairs: int
    rows: int
    structured: bool
    bytes: dict[str, int]


class Written(msgspec.Struct, frozen=True):
    """Figure 7: seconds to compress and write lineage of so many pairs, by format."""

    kind: str
    pairs: int
    seconds: dict[str, float]


class Compressed(msgspec.Struct, frozen=True):
    """Unstructured lineage, compressed by ProvRC and by its plain implementation.

    `ratio` is the median, over rounds, of ProvRC's time to the plain one's of the same round;
    `seconds` and `rows` are by implementation.
    """

    data: str
    pairs: int
    rows: dict[str, int]
    seconds: dict[str, float]
    ratio: float


class QueryTimes(msgspec.Struct, frozen=True):
    """A query's best time by system: one operation (in situ), or a workflow (Figures 8, 9).

    `cells` were asked for, `answer` found.
    """

    workload: str
    direction: str
    kind: str
    cells: int
    answer: int
    structured: bool
    seconds: dict[str, float]


class Covered(msgspec.Struct, frozen=True):
    """Table IX: how one numpy function's lineage compresses, against raw pairs."""

    function: str
    family: str
    pairs: int
    rows: int
    bytes: int
    raw: int


class Predicted(msgspec.Struct, frozen=True):
    """Table IX: calls of a numpy function, and how many of them were wholly predicted.

    Of the predictions, `errors` were wrong. `by_shape`: lineage does not depend on values.
    """

    function: str
    elementwise: bool
    by_shape: bool
    calls: int
    dimensional: int
    generalised: int
    errors: int


class Registered(msgspec.Struct, frozen=True):
    """Seconds to register a call, by where its lineage comes from."""

    operation: str
    cells: int
    seconds: dict[str, float]


class Figures(msgspec.Struct, frozen=True):
    """All of a run."""

    machine: str
    scale: float
    stored: list[Stored] = []
    written: list[Written] = []
    compressed: list[Compressed] = []
    operations: list[QueryTimes] = []
    workflows: list[QueryTimes] = []
    random: list[QueryTimes] = []
    functions: list[Covered] = []
    untried: list[str] = []
    predicted: list[Predicted] = []
    registered: list[Registered] = []
