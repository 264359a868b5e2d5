"""The user's modules behind functions that are sent by name."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from predtrace.environment.function_modules import modules_digest
from predtrace.environment.python_functions import pickled

FILES = {
    "cleaning_a/__init__.py": "from cleaning_a.texts import clean\n",
    "cleaning_a/texts.py": "from . import tables\nfrom .deep import low as deeply\nimport json\n"
    "def clean(x):\n    import cleaning_b\n    return cleaning_b.add(tables.LOW[x])\n",
    "cleaning_a/tables.py": "LOW = {1: 2}\n",
    "cleaning_a/deep/__init__.py": "from ..sibling import low\n",
    "cleaning_a/sibling.py": "def low(x): return x\n",
    "cleaning_b.py": "from cleaning_c import *\ndef add(x): return x + ONE\n",
    "cleaning_c.py": "ONE = 1\n",
}
USED = sorted(FILES)


@pytest.fixture
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], int]]:
    """A function of the user's package; cleaning_b is imported when it is called."""
    for name, text in {**FILES, "cleaning_d.py": "import cleaning_a\n"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("cleaning_a").clean
    for name in [name for name in sys.modules if name.startswith("cleaning_")]:
        del sys.modules[name]


def _digest(function: Callable[[int], int]) -> str:
    return modules_digest(pickled((function, "int")))


@pytest.mark.parametrize("name", USED)
def test_every_file_counts(tmp_path: Path, clean: Callable[[int], int], name: str) -> None:
    before = _digest(clean)
    file = tmp_path / name
    file.write_text(file.read_text() + "\nOTHER = 1\n")
    assert _digest(clean) != before != ""


def test_nothing_is_imported(tmp_path: Path, clean: Callable[[int], int]) -> None:
    """And a module that is imported meanwhile is the same module."""
    before = _digest(clean)
    assert "cleaning_b" not in sys.modules
    assert clean(1) == 3
    assert "cleaning_b" in sys.modules
    assert _digest(clean) == before


def test_what_uses_the_function_does_not_count(tmp_path: Path, clean: Callable[[int], int]) -> None:
    before = _digest(clean)
    (tmp_path / "cleaning_d.py").write_text("import cleaning_a, sys\n")
    assert _digest(clean) == before


def test_functions_of_a_script(tmp_path: Path, clean: Callable[[int], int]) -> None:
    """They are sent by value; what they import is not."""

    def own(x: int) -> int:
        import cleaning_b  # type: ignore[import-not-found]

        return int(cleaning_b.add(x))

    before = _digest(own)
    (tmp_path / "cleaning_c.py").write_text("ONE = 2\n")
    assert _digest(own) != before
