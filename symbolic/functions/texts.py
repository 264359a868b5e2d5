"""Functions of text."""

from __future__ import annotations

from functools import partial

from symbolic.functions.base import Encoding, Function, Nulls, Semantics, Zeros
from symbolic.types import BOOLEAN, INTEGER

_PROPAGATES, _PROPAGATES_ONLY, _OWN = Nulls.PROPAGATES, Nulls.PROPAGATES_ONLY, Nulls.OWN

_spark = partial(
    Function, semantics=Semantics.SPARK, encoding=Encoding.UNINTERPRETED, zeros=Zeros.APART
)

ROWS = (
    _spark(
        "like",
        BOOLEAN,
        _PROPAGATES_ONLY,
        "SQL LIKE; the arguments are value, pattern and escape character",
    ),
    _spark("ilike", BOOLEAN, _PROPAGATES, "LIKE without regard to case"),
    _spark("rlike", BOOLEAN, _PROPAGATES, "matches a Java regular expression"),
    _spark("starts_with", BOOLEAN, _PROPAGATES_ONLY, "begins with"),
    _spark("ends_with", BOOLEAN, _PROPAGATES_ONLY, "ends with"),
    _spark("contains", BOOLEAN, _PROPAGATES_ONLY, "has as a part"),
    _spark(
        "substring",
        None,
        _PROPAGATES,
        "part from position (1-based, negative from the end), with a length",
    ),
    _spark("upper", None, _PROPAGATES_ONLY, "in upper case"),
    _spark("lower", None, _PROPAGATES_ONLY, "in lower case"),
    _spark("initcap", None, _PROPAGATES, "words with a capital"),
    _spark("trim", None, _PROPAGATES, "without the given characters (blank) on both sides"),
    _spark("ltrim", None, _PROPAGATES, "without the given characters (blank) on the left"),
    _spark("rtrim", None, _PROPAGATES, "without the given characters (blank) on the right"),
    _spark("lpad", None, _PROPAGATES, "padded on the left to a length"),
    _spark("rpad", None, _PROPAGATES, "padded on the right to a length"),
    _spark("char_pad", None, _PROPAGATES, "a CHAR(n) value, padded with blanks on reading"),
    _spark("length", INTEGER, _PROPAGATES_ONLY, "number of characters"),
    _spark("concat", None, _PROPAGATES, "the arguments one after the other"),
    _spark("concat_ws", None, _OWN, "texts joined by a separator, NULLs skipped"),
    _spark("replace", None, _PROPAGATES, "every occurrence replaced"),
    _spark("translate", None, _PROPAGATES, "characters exchanged one by one"),
    _spark("reverse", None, _PROPAGATES, "back to front"),
    _spark("repeat", None, _PROPAGATES, "the text n times"),
    _spark("position", INTEGER, _PROPAGATES, "1-based position of a part, from a start"),
    _spark("instr", INTEGER, _PROPAGATES, "1-based position of a part"),
    _spark(
        "regexp_replace", None, _PROPAGATES, "every match of a Java regular expression replaced"
    ),
    _spark(
        "regexp_extract", None, _PROPAGATES, "group of the first match of a Java regular expression"
    ),
    _spark(
        "split",
        None,
        _PROPAGATES,
        "array of the parts between matches of a Java regular expression",
    ),
    _spark("ascii", INTEGER, _PROPAGATES, "code of the first character"),
    _spark("md5", None, _PROPAGATES, "MD5 sum as text"),
    _spark("sha2", None, _PROPAGATES, "SHA-2 sum as text"),
)
"""All are Spark's, and uninterpreted."""
