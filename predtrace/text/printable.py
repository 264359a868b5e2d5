"""Text from data, names and paths in a form that is safe to show: nothing in it steers a terminal.

Control characters (ANSI escapes begin with one), line breaks, and format characters (which turn the
direction of writing, or are invisible) are written as escapes: ``\\x1b``.
"""

from __future__ import annotations

import unicodedata

_STEERING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode's categories: control, format, surrogate, line and paragraph separator."""
_JOINERS = "\u200c\u200d"
"""Joiners, with which some scripts and emoji combine characters."""


def printable(text: str, keep: str = "") -> str:
    """The text with escapes for all characters that are not plain, except the characters in
    `keep`."""
    if text.isprintable():
        return text
    return "".join(_escaped(char) if steers(char) and char not in keep else char for char in text)


def one_line(text: str) -> str:
    """The same with spaces for line breaks."""
    return printable(" ".join(text.splitlines()))


def steers(char: str) -> bool:
    """Whether a terminal may do anything but show the character."""
    return unicodedata.category(char) in _STEERING and char not in _JOINERS


def _escaped(char: str) -> str:
    code = ord(char)
    if code < 1 << 8:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"
