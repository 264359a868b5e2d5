"""Safe folder names for the names of scans, which are text from queries and records."""

from __future__ import annotations

from collections.abc import Sequence

_PLAIN = frozenset("._-[]() ")
_LONGEST = 100
"""The most bytes of a name; file systems allow 255."""


def folder_names(names: Sequence[str]) -> list[str]:
    """A folder name for each; the names differ even if case is ignored.

    Letters, digits and some signs stay. Characters that could lead elsewhere, or hide the folder,
    do not.
    """
    found: list[str] = []
    taken: set[str] = set()
    for name in names:
        plain = _plain(name)
        own, number = plain, 1
        while own.casefold() in taken:
            number += 1
            own = f"{plain}~{number}"
        taken.add(own.casefold())
        found.append(own)
    return found


def _plain(name: str) -> str:
    kept = "".join(char if char.isalnum() or char in _PLAIN else "_" for char in name)
    short = kept.encode()[:_LONGEST].decode(errors="ignore").rstrip(" .")
    return f"_{short}" if not short or short[0] in ". " else short
