"""Text functions: characters are code points, positions are 1-based."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable
from typing import Any

from symbolic.expr import Call
from symbolic.types import DataType
from tests.reference.functions.base import Builder, Settings, plain


@functools.lru_cache(maxsize=1024)
def like_pattern(pattern: str, escape: str, flags: int = 0) -> re.Pattern[str]:
    """A LIKE pattern as a regular expression for whole values."""
    parts: list[str] = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            parts.append(re.escape(next(characters, character)))
        else:
            parts.append({"%": ".*", "_": "."}.get(character) or re.escape(character))
    return re.compile("".join(parts), re.DOTALL | flags)


def _like(flags: int) -> Callable[..., bool]:
    def apply(value: str, pattern: str, escape: str = "\\") -> bool:
        return like_pattern(pattern, escape, flags).fullmatch(value) is not None

    return apply


def substring(value: Any, position: int, length: int = 2**31 - 1) -> Any:
    """The part from a position: 1-based, 0 as 1, negative from the end (Spark)."""
    start = position - 1 if position > 0 else len(value) + position if position < 0 else 0
    end = start + length
    return value[max(start, 0) : max(end, 0)] if end > start else value[:0]


def _pad(value: str, length: int, pad: str, left: bool) -> str:
    if length <= len(value) or not pad:
        return value[: max(length, 0)]
    filling = (pad * length)[: length - len(value)]
    return filling + value if left else value + filling


def _initcap(value: str) -> str:
    return " ".join(word[:1].upper() + word[1:].lower() for word in value.split(" "))


def _position(part: str, value: str, start: int = 1) -> int:
    return 0 if start < 1 else value.find(part, start - 1) + 1


def _replace(value: str, search: str, replacement: str = "") -> str:
    return value.replace(search, replacement) if search else value


def _translate(value: str, matching: str, replacing: str) -> str:
    table: dict[int, str | None] = {}
    for index, character in enumerate(matching):
        new = replacing[index] if index < len(replacing) else None
        table.setdefault(ord(character), new)
    return value.translate(table)


def _regexp_replace(value: str, pattern: str, replacement: str, start: int = 1) -> str:
    python_replacement = re.sub(r"\$(\d)", r"\\\1", replacement)
    return value[: start - 1] + re.sub(pattern, python_replacement, value[start - 1 :])


def _regexp_extract(value: str, pattern: str, group: int = 1) -> str:
    match = re.search(pattern, value)
    return (match.group(group) or "") if match else ""


def _split(value: str, pattern: str, limit: int = -1) -> tuple[str, ...]:
    return tuple(re.split(pattern, value, maxsplit=max(limit - 1, 0)))


def _char_pad(expr: Call, settings: Settings) -> Callable[..., str]:
    return lambda value, length: value.ljust(length)


def _concat(expr: Call, settings: Settings) -> Callable[..., Any]:
    empty = _empty(expr.type)
    return lambda *parts: functools.reduce(lambda left, right: left + right, parts, empty)


def _empty(data_type: DataType) -> Any:
    return {"Binary": b"", "Array": ()}.get(type(data_type).__name__, "")


def _sha2(value: bytes, bits: int) -> str | None:
    name = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}.get(bits)
    return hashlib.new(name, value).hexdigest() if name else None


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else value.encode()


TEXTS: dict[str, Builder] = {
    "like": plain(_like(0)),
    "ilike": plain(_like(re.IGNORECASE)),
    "rlike": plain(lambda value, pattern: re.search(pattern, value) is not None),
    "starts_with": plain(lambda value, part: value.startswith(part)),
    "ends_with": plain(lambda value, part: value.endswith(part)),
    "contains": plain(lambda value, part: part in value),
    "substring": plain(substring),
    "upper": plain(str.upper),
    "lower": plain(str.lower),
    "initcap": plain(_initcap),
    "trim": plain(lambda value, characters=" ": value.strip(characters)),
    "ltrim": plain(lambda value, characters=" ": value.lstrip(characters)),
    "rtrim": plain(lambda value, characters=" ": value.rstrip(characters)),
    "lpad": plain(lambda value, length, pad=" ": _pad(value, length, pad, left=True)),
    "rpad": plain(lambda value, length, pad=" ": _pad(value, length, pad, left=False)),
    "char_pad": _char_pad,
    "length": plain(len),
    "concat": _concat,
    "replace": plain(_replace),
    "translate": plain(_translate),
    "reverse": plain(lambda value: value[::-1]),
    "repeat": plain(lambda value, times: value * max(times, 0)),
    "position": plain(_position),
    "instr": plain(lambda value, part: value.find(part) + 1),
    "regexp_replace": plain(_regexp_replace),
    "regexp_extract": plain(_regexp_extract),
    "split": plain(_split),
    "ascii": plain(lambda value: ord(value[0]) if value else 0),
    "md5": plain(lambda value: hashlib.md5(_bytes(value)).hexdigest()),
    "sha2": plain(lambda value, bits: _sha2(_bytes(value), bits)),
}
