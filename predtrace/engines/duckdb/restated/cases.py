"""Upper and lower case as ICU has it, which Spark asks.

Python follows the same standard, with the Unicode version of the interpreter. It is asked about
letters alone whose cases no newer version has changed; of the others `Untold` is raised.
"""

from __future__ import annotations

import unicodedata

_CHANGED = frozenset("\u019b\u0264\u0295\ua7d3\ua7d5")
"""Letters whose cases came or changed when they had long been letters (Unicode 16 and 17)."""
_UNASSIGNED = "Cn"
_SIGMA = "\N{GREEK CAPITAL LETTER SIGMA}"


class Untold(ValueError):
    """It is not known what Spark gives."""


def _check(text: str) -> None:
    for letter in text:
        unassigned = unicodedata.category(letter) == _UNASSIGNED and not _is_no_letter(ord(letter))
        if unassigned or letter in _CHANGED:
            raise Untold(f"versions of Unicode differ in the case of {letter!r}")


def _is_no_letter(point: int) -> bool:
    """Whether a code point is one of those that will never be assigned."""
    return point & 0xFFFE == 0xFFFE or 0xFDD0 <= point <= 0xFDEF


def lower(text: str) -> str:
    """The text in lower case; a sigma at a word's end is a final one."""
    if not text.isascii():
        _check(text)
    return text.lower()


def upper(text: str) -> str:
    """The text in upper case."""
    if not text.isascii():
        _check(text)
    return text.upper()


def initcap(text: str) -> str:
    """Words with a letter in title case, the others in lower case. Blanks alone separate words."""
    if not text.isascii():
        _check(text)
    return " ".join(map(_capital, text.split(" ")))


def _capital(word: str) -> str:
    if _SIGMA not in word:
        return word[:1].title() + word[1:].lower()
    # Which sigma it is depends on the whole word.
    whole = word.lower()
    letters = [
        whole[len(word[:place].lower())] if letter == _SIGMA else letter.lower()
        for place, letter in enumerate(word)
    ]
    return word[:1].title() + "".join(letters[1:])
