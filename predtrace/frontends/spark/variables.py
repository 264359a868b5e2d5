"""The variables of the program that hold frames made of its own rows: names for these rows."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from types import FrameType
from typing import TypeAlias

from predtrace.frontends.spark.catalyst import JavaObject, Jvm, class_name, items

Identity: TypeAlias = tuple[str, int]
"""What distinguishes the rows of a leaf from other rows in this process."""

_PACKAGE = __name__.partition(".")[0]


def identity_of(cls: str, leaf: JavaObject, jvm: Jvm) -> Identity:
    """The identity of the rows of a leaf of that class; copies of a leaf in one plan share it.

    Copies of a range do not, since they have nothing in common but their numbers.
    """
    if cls == "LogicalRDD":
        return "rdd", int(leaf.rdd().id())
    if cls == "LocalRelation":
        return "rows", int(jvm.java.lang.System.identityHashCode(leaf.data()))
    return "range", int(leaf.output().head().exprId().id())


class Variables:
    """The variables of the functions that are running, and of their modules."""

    def __init__(self, jvm: Jvm) -> None:
        self._jvm = jvm
        self._viewed: dict[str, list[tuple[Identity, JavaObject]]] = {}

    def identity_of(self, cls: str, leaf: JavaObject, view: str | None) -> Identity:
        """The identity of the rows of a leaf of that class.

        The VALUES of a view's text are read anew for every use of the view: equal rows under the
        name of one view are the same.
        """
        found = identity_of(cls, leaf, self._jvm)
        if cls != "LocalRelation" or view is None:
            return found
        data = leaf.data()
        viewed = self._viewed.setdefault(view, [])
        known = next((known for known, rows in viewed if rows.equals(data)), None)
        if known is None:
            viewed.append((found, data))
        return known or found

    def name_of(self, identity: Identity) -> str | None:
        """The variable whose frame has just these rows, if there is one."""
        return self._names.get(identity)

    @cached_property
    def _names(self) -> dict[Identity, str]:
        found: dict[Identity, str] = {}
        for name, plan in _plans(self._jvm):
            cls = class_name(plan)
            if cls in BROUGHT:
                found.setdefault(identity_of(cls, plan, self._jvm), name)
        return found


BROUGHT = {
    "LocalRelation": "VALUES, and createDataFrame from pandas or Arrow: kept with the job",
    "LogicalRDD": "createDataFrame from rows of Python or an RDD, checkpoints: kept with the job; "
    "the run reads the kept rows",
    "Range": "numbers: computed again",
}
"""The classes of leaves whose rows the program itself brings: what becomes of them."""


def _plans(jvm: Jvm) -> Iterator[tuple[str, JavaObject]]:
    """The variables that hold a DataFrame of this JVM, innermost first, and what their plans read
    if they only rename columns."""
    from py4j.protocol import Py4JError
    from pyspark.sql.classic.dataframe import DataFrame

    for frame in _callers():
        for variables in (frame.f_locals, frame.f_globals):
            for name, value in list(variables.items()):
                # Asking a value for its class may run code of the value's; asking for its type
                # does not.
                if not issubclass(type(value), DataFrame):
                    continue
                if value._jdf._gateway_client is jvm._gateway_client:
                    with suppress(Py4JError):  # a frame of a session that was stopped
                        yield name, _unnamed(value._jdf.queryExecution().analyzed())


def _callers() -> Iterator[FrameType]:
    """The calls under way outside of this package, innermost first."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] != _PACKAGE:
            yield frame
        frame = frame.f_back


def _unnamed(plan: JavaObject) -> JavaObject:
    """The plan without nodes on top that only give its columns names."""
    while True:
        cls = class_name(plan)
        if cls not in ("SubqueryAlias", "Project") or (cls == "Project" and not _renames(plan)):
            return plan
        plan = plan.child()


def _renames(project: JavaObject) -> bool:
    listed = list(items(project.projectList()))
    if len(listed) != int(project.child().output().size()):
        return False
    given = [one.child() if class_name(one) == "Alias" else one for one in listed]
    return all(class_name(one) == "AttributeReference" for one in given)
