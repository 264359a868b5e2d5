"""The listener in a Spark application, and the executions that it saw."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from predtrace.environment.sessions import classes_kept
from predtrace.errors import EngineError
from predtrace.frontends.spark.catalyst import JavaObject, Jvm, read_nested, read_strings
from predtrace.frontends.spark.files_read import FileRead, FilesRead, ScanRead
from predtrace.jobs.settings import ANSI, CASE_SENSITIVE, EXCLUDED_RULES, SAVED, TIME_ZONE

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

JAR = Path(__file__).with_name("sink.jar")
CLASS = "predtrace.listener.Sink"
CAPACITY = 1_000
"""The executions that wait at most: more are dropped, counted and told."""
_LONGEST_BUS = 30_000
"""Milliseconds in which Spark's own queue of events has to run empty."""


@dataclass(frozen=True)
class Execution:
    """A SQL execution that ended, with all executions that ran for it.

    `started` and `ended` are milliseconds since 1970. `error` says why it failed; `unknown` why the
    files that it read are not known; both are empty otherwise. A command is no query.
    `files_written` are counted by Spark.
    """

    plan: JavaObject
    started: int
    ended: int
    error: str
    unknown: str
    files_written: int
    is_command: bool
    _handle: JavaObject

    def files_read(self) -> FilesRead:
        """The files that its scans read."""
        scans = tuple(_scan(rows) for rows in read_nested(self._handle.scans()))
        return FilesRead(scans, self.started)

    def session(self, context: SparkContext) -> SparkSession:
        """A session like the execution's, with the settings that were in force when it started.

        The user may have changed them since. The user's own session stays as it is. Raises
        EngineError if a setting was taken back since the application started: it is not known
        whether that was before the execution.
        """
        from pyspark.sql import SparkSession

        original = self._handle.session()
        found = original.cloneSession()
        conf = found.sessionState().conf()
        now = dict(_pair(line, " -> ") for line in _lines(conf.getAllConfs().mkString("\0"), "\0"))
        general = _lines(original.sharedState().conf().toDebugString(), "\n")
        modified = dict(_pair(line, "=") for line in read_strings(self._handle.settings()))
        then = {**dict(_pair(line, "=") for line in general), **modified}
        for key in (TIME_ZONE, ANSI, CASE_SENSITIVE, EXCLUDED_RULES, *SAVED):
            if key not in then:
                conf.unsetConf(key)
            elif key not in now and key not in modified:
                _refuse_unset(key, then[key], conf)
            elif then[key] != now.get(key):
                conf.setConfString(key, then[key])
        with classes_kept():
            return SparkSession(context, found)


class Listener:
    """The Java listener of one Spark application."""

    def __init__(self, context: SparkContext, *, actions: bool) -> None:
        gateway = context._gateway
        jvm: Jvm = context._jvm
        urls = gateway.new_array(jvm.java.net.URL, 1)
        urls[0] = jvm.java.io.File(str(JAR)).toURI().toURL()
        above = jvm.Thread.currentThread().getContextClassLoader()
        loaded = jvm.java.net.URLClassLoader(urls, above).loadClass(CLASS)
        arguments = gateway.new_array(jvm.Object, 2)
        arguments[0], arguments[1] = CAPACITY, actions
        self._sink: JavaObject = loaded.getConstructors()[0].newInstance(arguments)
        self._spark: JavaObject = context._jsc.sc()
        self._spark.addSparkListener(self._sink)

    def take(self, milliseconds: int) -> Execution | None:
        """The next execution that ended; None if none ends in so many milliseconds."""
        found = self._sink.take(milliseconds)
        if found is None:
            return None
        return Execution(
            plan=found.plan(),
            started=int(found.started()),
            ended=int(found.ended()),
            error=str(found.error()),
            unknown=str(found.unknown()),
            files_written=int(found.files()),
            is_command=bool(found.command()),
            _handle=found,
        )

    def dropped(self) -> int:
        """The executions that did not fit into the queue since this was asked last."""
        return int(self._sink.takeDropped())

    def wait_for_spark(self) -> None:
        """Wait until the listener has seen all that happened so far, for a while at most."""
        from py4j.protocol import Py4JError

        try:
            self._spark.listenerBus().waitUntilEmpty(_LONGEST_BUS)
        except Py4JError:  # it takes longer, or Spark was stopped
            return

    def remove(self) -> None:
        """Stop listening."""
        self._spark.removeSparkListener(self._sink)


def _refuse_unset(key: str, value: str, conf: JavaObject) -> None:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        default = str(conf.getConfString(key))
    except (Py4JError, PySparkException):  # it has none
        default = None
    if default != value:
        raise EngineError(
            f"the program unset {key}, which was {value} from its start, and it is not known "
            "whether the job still had it; set it to a value instead"
        )


def _scan(rows: list[list[str]]) -> ScanRead:
    roots, (pruned,), *files = rows
    return ScanRead(
        roots=tuple(map(_local, roots)),
        pruned=pruned == "true",
        files=tuple(
            FileRead(_local(path), int(size), int(modified)) for path, size, modified in files
        ),
    )


def _local(path: str) -> str:
    return str(path).removeprefix("file:")


def _lines(text: str, separator: str) -> list[str]:
    return [line for line in str(text).split(separator) if line]


def _pair(line: str, separator: str) -> tuple[str, str]:
    key, _, value = str(line).partition(separator)
    return key, value
