"""The formats and options that a source may be read with; all others are refused.

A job's record is untrusted data. In Spark a format can be the name of any class; some options are
names of classes, too, and others are paths. The lists here allow neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_COMPRESSIONS = frozenset(
    {
        "none", "uncompressed", "snappy", "gzip", "lzo", "brotli", "lz4", "lz4_raw", "zstd",
        "bzip2", "deflate", "zlib",
    }
)  # fmt: skip
_NAMES_OF_CODECS = ("compression", "codec", "parquet.compression", "orc.compress")
"""Options whose value Spark reads as the name of a class, unless it is one of a few words."""

_FILES = frozenset(
    {
        "path", "paths", "basepath", "serialization.format", "pathglobfilter", "modifiedbefore",
        "modifiedafter", "recursivefilelookup", "ignorecorruptfiles", "ignoremissingfiles",
        "ignoreinvalidpartitionpaths", "timezone",
    }
)  # fmt: skip
_TEXT = frozenset(
    {
        "charset", "encoding", "columnnameofcorruptrecord", "compression", "dateformat",
        "enabledatetimeparsingfallback", "linesep", "locale", "mode", "multiline",
        "samplingratio", "singlevariantcolumn", "timeformat", "timestampformat",
        "timestampntzformat",
    }
)  # fmt: skip

OPTIONS: Mapping[str, frozenset[str]] = {
    "parquet": _FILES
    | {
        "compression", "parquet.compression", "datetimerebasemode", "int96rebasemode",
        "mergeschema",
    },
    "orc": _FILES | {"compression", "orc.compress", "mergeschema"},
    "csv": _FILES
    | _TEXT
    | {
        "chartoescapequoteescaping", "codec", "columnpruning", "comment", "delimiter", "emptyvalue",
        "enforceschema", "escape", "escapequotes", "extension", "header",
        "ignoreleadingwhitespace", "ignoretrailingwhitespace", "inferschema", "inputbuffersize",
        "maxcharspercolumn", "maxcolumns", "nanvalue", "negativeinf", "nullvalue", "positiveinf",
        "preferdate", "quote", "quoteall", "sep", "unescapedquotehandling",
    },
    "json": _FILES
    | _TEXT
    | {
        "allowbackslashescapinganycharacter", "allowcomments", "allownonnumericnumbers",
        "allownumericleadingzeros", "allowsinglequotes", "allowunquotedcontrolchars",
        "allowunquotedfieldnames", "dropfieldifallnull", "explodeembeddedarray",
        "ignorenullfields", "infertimestamp", "prefersdecimal", "pretty", "primitivesasstring",
        "sortkeys", "useunsaferow", "writenonasciicharacterascodepoint",
    },
    "range": frozenset({"start", "end", "step"}),
}  # fmt: skip
"""Formats, and the options that each may be read with, in lower case."""


def refusal(source_format: str, options: Mapping[str, str], roots: Sequence[str]) -> str | None:
    """The reason why a source may not be read with this format and these options, or None."""
    known = OPTIONS.get(source_format.lower())
    if known is None:
        return f"the format {source_format!r} is none of {', '.join(OPTIONS)}"
    for key, value in options.items():
        name = key.lower()
        if name not in known:
            return f"the option {key!r} is not known for {source_format}"
        if name in _NAMES_OF_CODECS and value.lower() not in _COMPRESSIONS:
            return f"the option {key!r} is {value!r}, which is not a compression"
        if name == "basepath" and not all(lies_under(root, _local(value)) for root in roots):
            return f"the option {key!r} is {value!r}, which is not above {', '.join(roots)}"
    return None


def lies_under(path: str, root: str) -> bool:
    """Whether a path is the root, or one below it, by its text alone."""
    return path == root or path.startswith(root.rstrip("/") + "/")


def _local(path: str) -> str:
    stripped = path.removeprefix("file://") if path.startswith("file:///") else path
    return stripped.removeprefix("file:")
