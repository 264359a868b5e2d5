"""What a program of the corpus is: a function for Spark, and the truth beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from tests.pipelines.kit import Frame, Tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ZONES = ("UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kolkata")


class Program(NamedTuple):
    """A pipeline, and the rows that it gives with the source rows behind them.

    `spark` takes a session and the folder of the tables, and returns its output, or several by
    name; `truth` returns as many frames. `ansi` is the ANSI mode, if only one will do.
    """

    spark: Callable[[SparkSession, str], DataFrame | dict[str, DataFrame]]
    truth: Callable[[Tables], Frame | dict[str, Frame]]
    ansi: bool | None = None

    @property
    def name(self) -> str:
        """The name of the function for Spark."""
        return self.spark.__name__

    def settings(self, seed: int) -> Settings:
        """The settings that it runs with, drawn from its name and the seed of the tables."""
        draw = crc32(f"{self.name} {seed}".encode())
        ansi = bool(draw // 4 % 3) if self.ansi is None else self.ansi
        return Settings(ZONES[draw % 4], ansi, whole=draw // 12 % 4 == 0)


class Settings(NamedTuple):
    """A session's time zone and ANSI mode, and the reading of min and max."""

    zone: str
    ansi: bool
    whole: bool


def by_name(outputs: Any) -> dict[str, Any]:
    """Several outputs by name; a single one is called "out"."""
    return outputs if isinstance(outputs, dict) else {"out": outputs}


def corpus() -> dict[str, Program]:
    """All programs, by name."""
    import importlib
    import pkgutil

    from tests.pipelines import programs

    found = [
        program
        for module in pkgutil.iter_modules(programs.__path__)
        for program in importlib.import_module(f"{programs.__name__}.{module.name}").PROGRAMS
    ]
    named = {program.name: program for program in found}
    assert len(named) == len(found), "two programs have one name"
    return named
