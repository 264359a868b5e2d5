"""The protocol of engines: the requests of a lineage question, and the relations they return.

A question has target rows and, for each scan, a predicate with params. *Bound rows* give the params
their values. They come from a binding source: the target rows themselves, or the rows of a stored
table that its own predicate selects for bound rows further up (`StoredBinding`; `ReplayedBinding`
if the table is computed again instead of stored). Engines evaluate all of this as joins. The result
is a relation that is computed when it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar, Union

import msgspec

from predtrace.errors import EngineError
from predtrace.inference.identities import Identity
from predtrace.inference.plan import Membership
from predtrace.jobs.model import EngineSettings, OutputNumbers, Source, StoredFile
from pushdown.graph import OperatorGraph
from symbolic.expr import Column, Expr

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")

OUTPUT_ROW = "output_row"
"""The column of a stored table that numbers rows of the output."""
TARGET = "target"
"""The column that numbers the targets in an answer for several targets."""


def physical_name(column_id: int) -> str:
    """The name of a column in stored files and in target rows."""
    return f"c{column_id}"


class Targets:
    """Target rows: `rows` has the column `target` (int64, from 0) and a column ``c<id>`` per
    column.

    One target may be several rows (a predicate that several output rows satisfy).
    `numbered` says whether answers carry the target's number.
    """

    def __init__(self, rows: pa.Table, columns: Sequence[Column], numbered: bool) -> None:
        self.rows = rows
        self.columns = tuple(columns)
        self.numbered = numbered


class TargetBinding(msgspec.Struct, frozen=True):
    """The top of every chain: the target rows bind the params."""


class StoredBinding(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of a stored table that `predicate` selects, given the rows of `parent`.

    `folder` holds Parquet files with the physical names of `columns`. Columns in `numbers` are
    missing there and are found in the stored output, whose folder is `output`. `files` and
    `output_files` are the job's records of the files in these folders.
    """

    folder: str
    columns: tuple[Column, ...]
    predicate: Expr
    parent: BindingSource
    numbers: OutputNumbers | None = None
    output: str = ""
    files: tuple[StoredFile, ...] = ()
    output_files: tuple[StoredFile, ...] = ()


class ReplayedBinding(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """The rows of node `node` of a graph that `predicate` selects, given the rows of `parent`.

    They are computed again. For each scan under the node (by its id) `scans` requests the rows that
    this needs: its predicate is sufficient for the rows looked up. Of these, the rows in the value
    sets `sets` are enough; `memberships` says so by scan. The scans `selective` give few rows, and
    lineage may be looked up in these rows, too. The graph may carry the `identities` of scans (by
    id) up to the node. Links of this kind are compared by object identity.
    """

    graph: OperatorGraph
    node: int
    scans: dict[int, ScanRequest]
    columns: tuple[Column, ...]
    predicate: Expr
    parent: BindingSource
    identities: dict[int, Identity] = {}
    sets: tuple[SetRequest, ...] = ()
    memberships: dict[int, tuple[Membership, ...]] = {}
    selective: frozenset[int] = frozenset()


class SetRequest(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """A value set of refinement: the distinct tuples of `columns` for each target row.

    The tuples come from the rows of `source` that `predicate` selects for the target row.
    `memberships` name the other sets that narrow it down.
    """

    node: int
    source: ScanRequest | ReplayedBinding
    columns: tuple[Column, ...]
    predicate: Expr
    memberships: tuple[Membership, ...]


class RefinedBinding(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """The tuples of scan `node`'s value set, with the values of their target row.

    All such bindings of a question share `sets`, in the order of the first pass. `columns` are the
    columns of the set. `renamed` has their names as params, since the target may have the same
    columns. `predicate` is the scan's predicate over both.
    """

    sets: tuple[SetRequest, ...]
    acyclic: bool
    node: int
    columns: tuple[Column, ...]
    renamed: tuple[Column, ...]
    predicate: Expr
    parent: BindingSource


class UnionBinding(msgspec.Struct, frozen=True, eq=False):
    """The rows of several bindings, which have the same columns: each distinct row once.

    What several operators ask for, for different bound rows, is looked up once for each of them.
    """

    parts: tuple[LookedUp, ...]


BindingSource = Union[TargetBinding, StoredBinding, ReplayedBinding, RefinedBinding, UnionBinding]
LookedUp = Union[StoredBinding, ReplayedBinding, RefinedBinding]


class ScanRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of `source` that `predicate` (over `columns`) selects for the rows of `binding`.

    `columns` are the scan's columns: named as in the source, with the ids of the graph. `node` is
    the scan's number, if it is a scan of the graph. The rows that the requests `also` give are
    selected, too.
    """

    source: Source
    columns: tuple[Column, ...]
    predicate: Expr
    binding: BindingSource
    node: int = -1
    also: tuple[ScanRequest, ...] = ()


def spread(requests: Iterable[ScanRequest]) -> list[ScanRequest]:
    """The requests, each followed by those that it also makes."""
    return [one for request in requests for one in (request, *request.also)]


def bindings_of(requests: Iterable[ScanRequest]) -> Iterator[LookedUp]:
    """All bindings on the way to answering the requests, except the targets."""
    seen: set[BindingSource] = set()
    for request in spread(requests):
        pending: list[BindingSource] = [request.binding]
        while pending:
            binding = pending.pop()
            if isinstance(binding, TargetBinding) or binding in seen:
                continue
            seen.add(binding)
            if isinstance(binding, UnionBinding):
                pending.extend(reversed(binding.parts))
            else:
                yield binding
                pending.append(binding.parent)


def expressions_of(requests: Sequence[ScanRequest]) -> Iterator[Expr]:
    """All predicates that are evaluated to answer the requests, except expressions of replays."""
    for request in spread(requests):
        yield request.predicate
    for binding in bindings_of(requests):
        yield binding.predicate
        yield from (scan.predicate for scan in scans_of(binding))
        if isinstance(binding, (ReplayedBinding, RefinedBinding)):
            for values in binding.sets:
                yield values.predicate
                yield from (membership.condition for membership in values.memberships)


def scans_of(binding: LookedUp) -> Iterator[ScanRequest]:
    """The scans that are read to compute a binding's rows."""
    match binding:
        case ReplayedBinding(scans=scans, sets=sets):
            yield from scans.values()
            for request in sets:
                if isinstance(request.source, ScanRequest):
                    yield request.source
        case RefinedBinding(sets=sets):
            for request in sets:
                if isinstance(request.source, ReplayedBinding):
                    yield from scans_of(request.source)
                else:
                    yield request.source


def replays_of(binding: LookedUp) -> Iterator[ReplayedBinding]:
    """The replays that are needed to compute a binding's rows."""
    match binding:
        case ReplayedBinding():
            yield binding
        case RefinedBinding(sets=sets):
            yield from (r.source for r in sets if isinstance(r.source, ReplayedBinding))


class Rows(Protocol):
    """Selected source rows, computed at each call. Rows are physical: equal rows stay apart.

    With numbered targets every result has the column `target` first, and a row that
    belongs to several targets appears once for each.
    """

    def count(self) -> int:
        """The number of rows; decodes only the columns that the predicate needs."""

    def head(self, limit: int, columns: Sequence[str] | None = None) -> pa.Table:
        """Any `limit` of the rows."""

    def to_arrow(self, columns: Sequence[str] | None = None) -> pa.Table:
        """All rows, with the source's columns (or those named) as stored."""

    def to_batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The same as a stream of Arrow batches."""

    def row_ids(self) -> pa.Table:
        """The `file` (a path without scheme and percent-encoding) and `row` (from 0) of each
        row."""

    def row_id_batches(self) -> Iterator[pa.RecordBatch]:
        """The same as a stream of Arrow batches."""

    def write_parquet(self, folder: Path) -> None:
        """Write the rows into `folder`, which must not exist yet or be empty."""

    def sql(self) -> str:
        """The query that selects the rows, for people."""


class Answering(Protocol):
    """One question: the part of its evaluation that answers need."""

    @property
    def passes(self) -> int | None:
        """The number of passes of refinement; None before it, or without it."""

    def rows(self, requests: Sequence[ScanRequest]) -> Rows:
        """The union, by row identity, of what several scans of one source select."""

    def predicate_sql(self, request: ScanRequest) -> str:
        """The scan's predicate as text, with known values of the bound row substituted."""


class Evaluation(Answering, Protocol):
    """One question on one engine: bound rows are shared among its scans."""

    def bound(self, binding: BindingSource) -> pa.Table:
        """The distinct rows of a binding: `target` and the physical columns."""

    def fetch(self, request: ScanRequest, ids: pa.Table) -> Rows:
        """Rows of the request's source by number: those with `ids` (as `Rows.row_ids` gives)."""

    def store(self, binding: ReplayedBinding, folder: Path) -> None:
        """Compute all rows of the binding's node, not only the rows looked up, and write them.

        Equal rows are written once if they are identical.

        `folder` is new; the Parquet files in it have the physical names of the columns.
        """

    def check(self, requests: Sequence[ScanRequest]) -> None:
        """Raise EngineError if the files turn out not to be readable as the job read them."""


class Opener(Protocol):
    """The part of an engine that begins questions."""

    name: str

    def open(self, targets: Targets, settings: EngineSettings) -> Answering:
        """Begin a question."""


class Engine(Opener, Protocol):
    """An engine: evaluates questions, and says which expressions it evaluates as the pipeline
    did."""

    def inexactness(self, requests: Sequence[ScanRequest], settings: EngineSettings) -> str | None:
        """The reason why the engine cannot answer the requests exactly; None if it can."""

    def binding_inexactness(self, binding: LookedUp, settings: EngineSettings) -> str | None:
        """The reason why the engine cannot read, or compute again, the binding's rows; None if it
        can."""

    def expression_inexactness(self, exprs: Sequence[Expr], settings: EngineSettings) -> str | None:
        """The reason why the engine cannot evaluate the expressions exactly; None if it can."""

    def open(self, targets: Targets, settings: EngineSettings) -> Evaluation:
        """Begin a question."""

    def at_once(self, steps: Sequence[Callable[[], T]]) -> list[T]:
        """The results of steps that read different sources of a question, in their order.

        They may run at the same time. If one fails, the others are ended, and its error is raised.
        """


def output_names(columns: Sequence[Column], wanted: Sequence[str] | None) -> tuple[Column, ...]:
    """The scan columns of these names, in the order asked for; all without `wanted`.

    Raises EngineError, with the known names, for an unknown name or an empty list.
    """
    if wanted is None:
        return tuple(columns)
    if isinstance(wanted, str):
        raise EngineError(f"columns are a list of names, not the text {wanted!r}")
    by_name = {column.name: column for column in columns}
    if not wanted:
        raise EngineError(f"no columns asked for; there are {', '.join(by_name) or 'none'}")
    unknown = [name for name in wanted if name not in by_name]
    if unknown:
        raise EngineError(
            f"no source column {unknown[0]!r}; there are {', '.join(by_name) or 'none'}"
        )
    return tuple(by_name[name] for name in wanted)


def target_name(columns: Sequence[Column]) -> str:
    """The name of the target column beside these: `target`, with underscores if taken."""
    taken = {column.name.lower() for column in columns}
    name = TARGET
    while name in taken:
        name = f"_{name}"
    return name


def prepare_folder(folder: Path) -> None:
    """Make the folder that rows are written to.

    Raises EngineError if it has content or cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise EngineError(f"{folder} is not empty; give a new folder")
    except OSError as error:
        raise EngineError(f"cannot write to {folder}: {error.strerror}") from error
