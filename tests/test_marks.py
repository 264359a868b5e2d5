"""Marks follow from what tests use, and random tests say how much they compared."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis.strategies import integers

from tests.strategies.compared import compared, enough_compared


def test_a_jvm_needs_a_mark(request: pytest.FixtureRequest) -> None:
    from pyspark.java_gateway import launch_gateway

    with pytest.raises(ValueError, match=f"{request.node.name} starts a JVM: mark it spark"):
        launch_gateway()


def test_what_uses_generated_data_is_marked(
    request: pytest.FixtureRequest, twisted_folder: Path
) -> None:
    assert request.node.get_closest_marker("benchdata")
    assert request.node.get_closest_marker("spark") is None


def test_random_tests_say_how_much_they_compared() -> None:
    @given(number=integers(0, 9999))
    @settings(max_examples=20, database=None, derandomize=True)
    def rarely(number: int) -> None:
        assume(number < 2)

    with pytest.raises(AssertionError, match="of 20 compared something"), enough_compared(rarely):
        rarely()


def test_examples_that_compare_nothing_do_not_count() -> None:
    @given(number=integers(0, 9999))
    @settings(max_examples=20, database=None, derandomize=True)
    def rarely(number: int) -> None:
        compared(0)
        compared(number < 2)

    with pytest.raises(AssertionError, match="of 20 compared something"), enough_compared(rarely):
        rarely()
