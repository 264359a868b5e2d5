"""Functions that Spark's processes import anew: is what this process has what they get?"""

from __future__ import annotations

import functools
import importlib
import runpy
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from predtrace.environment.settled_functions import is_settled

TEXT = """
import functools

RATE = 20

def shout(function):
    @functools.wraps(function)
    def around(x):
        return -function(x)
    return around

def plain(x): return x // 20

def with_default(x, by=20): return x // by

def with_rate(x): return x // RATE

def by_helper(x): return plain(x)

def local_names(x):
    plain = x // 20
    return plain

@shout
def decorated(x): return x // 20

def twice(x): return x // 20
def twice(x): return x // 30

class Tools:
    @staticmethod
    def plain(x): return x // 20
"""
PATHS = ("plain", "with_default", "with_rate", "by_helper", "local_names", "Tools.plain")


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A module of the user, freshly imported."""
    (tmp_path / "cleaning_of_users.py").write_text(TEXT)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("cleaning_of_users")
    sys.modules.pop("cleaning_of_users")


def _named(holder: Any, path: str) -> Callable[[int], int]:
    for name in path.split("."):
        holder = getattr(holder, name)
    return holder  # type: ignore[no-any-return]


def _anew(module: ModuleType, path: str) -> Callable[[int], int]:
    """The function that another process gets."""
    assert module.__file__ is not None
    first, *rest = path.split(".")
    found = runpy.run_path(module.__file__)[first]
    return _named(found, ".".join(rest)) if rest else found  # type: ignore[no-any-return]


@pytest.mark.parametrize("path", PATHS)
def test_functions_as_written(module: ModuleType, path: str) -> None:
    """Local names, methods and classes of the same name are no second definition."""
    assert _named(module, path)(60) == _anew(module, path)(60)
    assert is_settled(_named(module, path))


@pytest.mark.parametrize("path", ["decorated", "twice"])
def test_definitions_that_the_text_leaves_open(module: ModuleType, path: str) -> None:
    """What a decorator gives is not read from the text, nor which of two definitions counts."""
    assert not is_settled(_named(module, path))


def _in_disguise(function: Callable[..., int], name: str) -> Callable[..., int]:
    function.__module__ = "cleaning_of_users"
    function.__qualname__ = function.__name__ = name
    return function


def _other(module: ModuleType) -> None:
    module.plain = _in_disguise(lambda x: x // 70, "plain")  # type: ignore[attr-defined]


def _decorated_here(module: ModuleType) -> None:
    original = module.plain

    @functools.wraps(original)
    def logged(x: int) -> int:
        return int(original(x)) + 1

    module.plain = logged  # type: ignore[attr-defined]


def _of_the_same_file(module: ModuleType) -> None:
    module.plain = _in_disguise(module.by_helper, "plain")  # type: ignore[attr-defined]
    module.plain.__code__ = module.with_rate.__code__
    module.RATE = 5  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("path", "change"),
    [
        ("plain", _other),
        ("plain", _decorated_here),
        ("plain", _of_the_same_file),
        ("by_helper", _other),
        ("by_helper", _decorated_here),
    ],
)
def test_functions_put_in_a_module_here(
    module: ModuleType, path: str, change: Callable[[ModuleType], None]
) -> None:
    """They are sent by name: other processes get the function in the file."""
    change(module)
    assert _named(module, path)(60) != _anew(module, path)(60)
    assert not is_settled(_named(module, path))


@pytest.mark.parametrize("value", [(30,), (20.0,)])
def test_defaults_changed_here(module: ModuleType, value: tuple[Any, ...]) -> None:
    module.with_default.__defaults__ = value
    here, anew = module.with_default(60), _anew(module, "with_default")(60)
    assert repr(here) != repr(anew)
    assert not is_settled(module.with_default)
