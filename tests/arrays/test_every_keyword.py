"""Every rule with every keyword of its functions, in all layouts, against changed cells.

A call that numpy takes is either refused, and then it is in `REFUSED`, or its lineage is what
changing one cell at a time shows, in tables whose shapes and ranges are right.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from predtrace.arrays.capture.call import UntrackedCallError
from predtrace.arrays.capture.registry import RULES
from predtrace.arrays.capture.rule import CaptureRule, numpy_function
from predtrace.arrays.quality import Quality
from tests.arrays.chosen import captured_with, claimed, laid_out
from tests.arrays.examples import EXAMPLES
from tests.arrays.keywords import BESIDE, NO_VALUE, NOT_HERE, OF_FUNCTION, VALUES, keywords_of
from tests.arrays.perturbation import changed_by
from tests.arrays.test_capture_numpy import BY_VALUE, FLAT, arguments, arrays_in, replaced

NUMPYS = (TypeError, ValueError, IndexError, AttributeError, ArithmeticError, RuntimeError)
OPTIONS = {name: rule for rule in RULES for name in rule.names.split()}

REFUSED = {
    ("interp", "period"),
    ("polyfit", "full"),
    ("polyfit", "cov"),
    ("histogram2d", "bins"),
    ("histogramdd", "bins"),
}

UNSETTLED = {
    **FLAT,
    "empty_like": "has any values",
    "trim_zeros": "values decide",
    "interp": "values decide",
    "linspace": "zero times NaN is NaN, though no other value shows that",
    "logspace": "as linspace",
    "geomspace": "as linspace",
    "real_if_close": "",
}


def calls(name: str, keyword: str, place: int) -> Iterator[tuple[Any, dict[str, Any]]]:
    """For every value of a keyword an example that numpy accepts it in, of several another one."""
    examples = range(len(EXAMPLES[name]))
    for start, value in enumerate(OF_FUNCTION.get((name, keyword), VALUES[keyword])):
        for number in examples:
            args, kwargs = arguments(name, (start + number) % len(examples))
            args = args[:place]
            changed = {**kwargs, **BESIDE.get((name, keyword), {}), keyword: value}
            if accepted(name, args, changed):
                yield args, changed
                break


def accepted(name: str, args: Any, kwargs: dict[str, Any]) -> bool:
    copies = replaced((args, kwargs), [a.copy(order="K") for a in arrays_in((args, kwargs))])
    try:
        numpy_function(name)(*copies[0], **copies[1])
    except NUMPYS:
        return False
    return True


def check(name: str, rule: CaptureRule, args: Any, kwargs: dict[str, Any]) -> None:
    arrays = arrays_in((args, kwargs))
    captured = captured_with(numpy_function(name), args, kwargs, range(len(arrays)))
    exact = rule.family not in BY_VALUE and name not in UNSETTLED

    def run(changed: list[np.ndarray]) -> Any:
        new_args, new_kwargs = replaced((args, kwargs), list(changed))
        result = numpy_function(name)(*new_args, **new_kwargs)
        return new_args[0] if rule.writes else result

    for position, array in enumerate(arrays):
        said = claimed(captured, position)
        alone = {0, position} if rule.writes else {position}
        constant = captured_with(numpy_function(name), args, kwargs, alone)
        assert claimed(constant, position) == said, (kwargs, position, "others are constants")
        if array.dtype.kind in "fc" and rule.family not in BY_VALUE and exact:
            seen = changed_by(run, arrays, position)
            assert seen <= said, (kwargs, position, sorted(seen - said)[:5])
            if captured.quality(position) is Quality.PRECISE and shows_all(kwargs):
                assert said == seen, (kwargs, position, sorted(said - seen)[:5])


def shows_all(kwargs: dict[str, Any]) -> bool:
    """Whether every change of a cell shows: it need not where numbers are cut off."""
    return kwargs.get("dtype") is not np.int8 and "method" not in kwargs


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def tried_keywords(name: str) -> dict[str, int]:
    every = keywords_of(name, numpy_function(name))
    left_out = {keyword for keyword in every if keyword in NOT_HERE or (name, keyword) in NO_VALUE}
    return {keyword: place for keyword, place in every.items() if keyword not in left_out}


@pytest.mark.parametrize("name", [name for name in EXAMPLES if tried_keywords(name)])
def test_keywords(name: str) -> None:
    for keyword, place in tried_keywords(name).items():
        tried = 0
        for args, kwargs in calls(name, keyword, place):
            tried += 1
            try:
                check(name, OPTIONS[name], args, kwargs)
            except UntrackedCallError:
                assert (name, keyword) in REFUSED, (name, kwargs)
        assert tried, f"{name} was not called with {keyword}"


@pytest.mark.parametrize("name", [name for name in EXAMPLES if not name.endswith("as_strided")])
def test_layouts(name: str) -> None:
    for number in range(len(EXAMPLES[name])):
        args, kwargs = arguments(name, number)
        arrays = arrays_in((args, kwargs))
        plain = captured_with(numpy_function(name), args, kwargs, range(len(arrays)))
        for layout in ("F", "reversed", "strided"):
            turned = [laid_out(array, layout) for array in arrays]
            new_args, new_kwargs = replaced((args, kwargs), list(turned))
            captured = captured_with(numpy_function(name), new_args, new_kwargs, range(len(arrays)))
            for position in range(len(arrays)):
                assert claimed(captured, position) == claimed(plain, position), (number, layout)
