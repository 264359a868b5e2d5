"""Spark's built-in functions: which of them jobs may carry by name.

`builtins.tsv` has a line for each, written by `python -m predtrace.report.builtins`. A job file
that names any other function is refused.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Mapping
from importlib.resources import files

import msgspec

from predtrace.text.spark_calls import SYNTAX
from symbolic.functions import COMBINES

SCALAR = "scalar"
AGGREGATE = "aggregate"

_FILES = "it reads files"
_JAVA = "it calls any method of Java"
_RANDOM = "it draws random numbers"
_WINDOWS = "the analyzer writes time windows with other functions"
_OF_THE_RUN = "it tells about the run, which another one need not repeat"
_CONSTANT = """
    curdate current_catalog current_database current_date current_path current_schema current_time
    current_timestamp current_timezone current_user localtime localtimestamp now session_user user
    version
"""
FOLDED = frozenset(_CONSTANT.split())
"""Functions without arguments that are one value in the whole run: it stands in the job."""
TIME_WINDOWS = frozenset({"window", "session_window", "window_time"})
"""Functions that the analyzer replaces by functions of microseconds."""
OF_FILES_READ = frozenset({"input_file_name", "input_file_block_length", "input_file_block_start"})
"""Functions that hidden columns of the source replace, where only filters and projections stand
between them and the read."""
_PLACES = ("monotonically_increasing_id", "spark_partition_id")
NEVER: Mapping[str, str] = {
    **dict.fromkeys(("reflect", "java_method", "try_reflect"), _JAVA),
    **dict.fromkeys(("from_protobuf", "to_protobuf", "from_avro", "to_avro"), _FILES),
    "schema_of_avro": _FILES,
    "aes_encrypt": _RANDOM,
    **dict.fromkeys((f"kll_sketch_merge_{of}" for of in ("bigint", "float", "double")), _RANDOM),
    **dict.fromkeys(TIME_WINDOWS, _WINDOWS),
    **dict.fromkeys((*FOLDED, *OF_FILES_READ, *_PLACES), _OF_THE_RUN),
    **dict.fromkeys(("rand", "randn", "random", "randstr", "shuffle", "uniform", "uuid"), _RANDOM),
}
"""Scalar functions that are never carried, with the reason."""

GENERATED: Mapping[str, str] = {
    "explode": "the elements of the array",
    "posexplode": "the elements of the array, with their positions",
    "inline": "the fields of the structs in the array",
    "stack": "the arguments, row by row",
    "json_tuple": "opaque",
    "variant_explode": "opaque",
    "sql_keywords": "opaque",
    "collations": "opaque",
}
"""Generators, and what their rows are read as; those that are opaque are known by their names."""

OF_FILES = frozenset({"rowvalidationxsdpath", "avroschemaurl"})
"""Options that name files, in lower case."""


class Builtin(msgspec.Struct, frozen=True):
    """A built-in function: its class (or the builder of its class), and its kind.

    `support` says what becomes of a scalar one: it has rows of its own, is carried, or refused.
    """

    name: str
    expression: str
    kind: str
    support: str


@functools.cache
def builtins() -> Mapping[str, Builtin]:
    """Spark's built-in functions by name."""
    text = files("predtrace.jobs").joinpath("builtins.tsv").read_text(encoding="utf-8")
    rows = (Builtin(*line.split("\t")) for line in text.splitlines())
    return {row.name: row for row in rows}


@functools.cache
def classes() -> Mapping[str, tuple[str, ...]]:
    """The names of functions by their class."""
    found: dict[str, list[str]] = defaultdict(list)
    for row in builtins().values():
        found[row.expression].append(row.name)
    return {expression: tuple(names) for expression, names in found.items()}


def may_be_carried(name: str) -> bool:
    """Whether a function's calls may be sent to Spark by their name."""
    if name in SYNTAX or GENERATED.get(name) == "opaque":
        return True
    row = builtins().get(name)
    return row is not None and row.kind == SCALAR and name not in NEVER


def aggregate_may_be_carried(name: str) -> bool:
    """Whether an aggregate's calls may be sent to Spark by their name.

    There is no use in it for one whose result the order of the rows decides.
    """
    row = builtins().get(name)
    known = row is not None and row.kind == AGGREGATE and name in COMBINES
    return known and not COMBINES[name].by_order
