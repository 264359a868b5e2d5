"""The model of a job: the records that `job.json` holds.

Stored Parquet files name their columns ``c<column id>``, whatever the query calls them. So names
with dots, quotes or repetitions cause no trouble.
"""

from __future__ import annotations

import msgspec

from predtrace.inference.plan import LineagePlan
from pushdown.operators import Operator
from symbolic.expr import Column

HIDDEN = "_metadata"
"""The hidden column that Spark adds to files: what it knows of a row's file, and the row's number.

A scan may read it; it is not among the columns of its source."""
RANGE = "range"
"""The format of sources that are computed: numbers in equal steps (see `predtrace.jobs.ranges`)."""
NUMBERED = ("parquet", RANGE)
"""The formats whose rows have numbers."""


class SourceFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file of a source as it was when the job ran. `modified` is in nanoseconds.

    `fingerprint` covers its content (see `checksums.fingerprint`); records of earlier versions have
    none.
    """

    path: str
    size: int
    modified: int
    rows: int | None = None
    fingerprint: str = ""


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A source table: `name` is unique in the job (catalog name, else view, else path).

    `roots` are the paths the pipeline read (canonical, not percent-encoded; local ones
    without a scheme); `files` is the snapshot. `columns` are the stored columns (ids
    mean nothing here); `partition_columns` come from directory names. `declared` are facts of
    the schema that names and types do not tell (see `predtrace.jobs.declared`).

    The rows of a `kept` source were brought by the program itself: they lie in the job's folder,
    and saved records have paths in it (see `predtrace.jobs.kept`). Without a file they were not
    kept. Rows of a computed format (``range``) lie nowhere; the only file is a name for them.
    """

    name: str
    format: str
    roots: tuple[str, ...]
    files: tuple[SourceFile, ...]
    columns: tuple[Column, ...]
    options: dict[str, str] = {}
    partition_columns: tuple[str, ...] = ()
    declared: str = ""
    kept: bool = False

    @property
    def has_row_numbers(self) -> bool:
        """Whether a row is identified by its file and its number in the file."""
        return self.format.lower() in NUMBERED

    @property
    def is_computed(self) -> bool:
        """Whether its rows lie in no file."""
        return self.format == RANGE

    @property
    def is_there(self) -> bool:
        """Whether its rows can be read: false for rows of the program that were not kept."""
        return bool(self.files) or not self.kept


class EngineSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of the session that change what the pipeline means.

    `conf` has the other settings that can change results, by name
    (`predtrace.jobs.settings.SAVED`); None stands for a setting without a value. It is empty in
    jobs of versions that did not keep it.
    """

    engine_version: str
    time_zone: str
    ansi: bool
    case_sensitive: bool
    conf: dict[str, str | None] = {}


class OutputFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the stored output, by name, and the number of its first row."""

    name: str
    first: int


class OutputValue(msgspec.Struct, frozen=True, kw_only=True):
    """A stored table's column that has the values of an output column (both by id)."""

    column: int
    output: int


class OutputNumbers(msgspec.Struct, frozen=True, kw_only=True):
    """The output rows from which the rows of a stored table take some of their values.

    The table's files have the column ``output_row`` instead of those `values`: the number
    of a row of the stored output, counted file after file as `files` says.
    """

    files: tuple[OutputFile, ...]
    values: tuple[OutputValue, ...]


class StoredFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a stored table: its path in the table's folder, its size, and its checksum."""

    name: str
    bytes: int
    sha256: str


class StoredResult(msgspec.Struct, frozen=True, kw_only=True):
    """A stored table in the job's folder: `folder` is relative; `bytes` on disk.

    With `numbers` some of its columns are read from the stored output. `files` are all its files;
    records of earlier versions have no `files`.
    """

    folder: str
    columns: tuple[Column, ...]
    rows: int
    bytes: int
    numbers: OutputNumbers | None = None
    files: tuple[StoredFile, ...] = ()


class StoredIntermediate(msgspec.Struct, frozen=True, kw_only=True):
    """The stored result for intermediate `binding` of the plan for `aggregates`.

    Plans share one stored table where they keep the same operator's output.
    """

    aggregates: str
    binding: int
    result: StoredResult


class KeptConstant(msgspec.Struct, frozen=True, kw_only=True):
    """A value that a function uses by a name, as text."""

    name: str
    text: str


class KeptFunction(msgspec.Struct, frozen=True, kw_only=True):
    """A Python function of the user that the pipeline calls, as far as it is known.

    `digest` is that of its bytes in the plan, `id` its id in calls; `modules` is the digest of the
    user's modules that the bytes name. `source` is its text; `constants` are values that it uses;
    functions with one `signature` are the same. `results` has what it gave in the run, by its
    arguments, with a table for each list of their types; calls are then looked up there. Texts are
    empty if the function was not at hand, or if it uses what has no text.
    """

    name: str
    digest: str
    id: str = ""
    source: str = ""
    constants: tuple[KeptConstant, ...] = ()
    signature: str = ""
    modules: str | None = None
    results: tuple[StoredResult, ...] = ()


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """Where a job that ran without us wrote its rows, by the engine's own `command`.

    What is not known is empty. `path` is a folder; `table` is a name in the catalog. `mode` is
    ``append``, ``overwrite``, ``errorifexists`` or ``ignore``. `started` and `ended` are ISO
    timestamps in UTC.
    """

    command: str
    path: str = ""
    table: str = ""
    format: str = ""
    mode: str = ""
    partition_columns: tuple[str, ...] = ()
    started: str = ""
    ended: str = ""

    @property
    def place(self) -> str:
        """The table, else the path, in words."""
        return self.table or self.path


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a pipeline, saved. `created` is an ISO timestamp in UTC.

    `output` is None if the output was not kept. `front_end` names the front end that read the
    pipeline, and that reads its output back. `written` is the place of its rows, if it ran without
    us.
    """

    id: str
    created: str
    query: str
    keep: str
    graph: tuple[Operator, ...]
    root: int
    plans: tuple[LineagePlan, ...]
    sources: tuple[Source, ...]
    settings: EngineSettings
    intermediates: tuple[StoredIntermediate, ...] = ()
    output: StoredResult | None = None
    timings: dict[str, float] = {}
    front_end: str = "spark"
    functions: tuple[KeptFunction, ...] = ()
    written: Written | None = None
