"""Checks of a job's record beyond the types of its fields.

A record is untrusted data. What it names must exist, its paths must stay where they are allowed,
and the formats, options and settings that it puts in force must be known.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath

from predtrace.jobs.builtins import OF_FILES, aggregate_may_be_carried, may_be_carried
from predtrace.jobs.fields import Malformed
from predtrace.jobs.formats import lies_under, refusal
from predtrace.jobs.model import Job, Source, StoredResult
from predtrace.jobs.ranges import NumberRange
from predtrace.jobs.settings import SAVED
from predtrace.text.spark_calls import options_of, spark_call
from pushdown.graph import OperatorGraph
from pushdown.operators import GroupBy, MarkJoin, Scan, Window
from symbolic.expr import Call, conjuncts
from symbolic.functions import (
    FUNCTIONS,
    WINDOW_ONLY,
    Carried,
    aggregate_of,
    carried,
    described,
)
from symbolic.types import LONG

_MOST = 1 << 48
"""More bytes, or rows, than files have."""


def function_problem(function: str) -> str | None:
    """Why calls of a function cannot be answered; None if they can."""
    try:
        found = described(function)
    except ValueError as error:
        return str(error)
    if isinstance(found, Carried):
        return carried_problem(found, may_be_carried)
    known = found is not None or function in FUNCTIONS
    return None if known else f"there is no function {function!r}"


def aggregate_problem(function: str) -> str | None:
    """Why a job cannot have an aggregate; None if it can."""
    try:
        found = carried(function)
        if found is not None:
            return carried_problem(found, aggregate_may_be_carried)
        return None if aggregate_of(function) else f"there is no aggregate {function!r}"
    except ValueError as error:
        return str(error)


def carried_problem(function: Carried, allowed: Callable[[str], bool]) -> str | None:
    """Why calls of a carried function cannot be answered; None if they can."""
    if not allowed(function.name):
        return f"there is no built-in function {function.name!r} that jobs may call by its name"
    try:
        spark_call(function, ())
        read = [name for name in options_of(function) if name.lower() in OF_FILES]
        return f"the option {read[0]!r} of {function.name} reads files" if read else None
    except ValueError as error:
        return str(error)


def check_record(job: Job) -> None:
    """Check what must hold beyond the types of the fields. Raises Malformed."""
    for check in (
        _check_graph,
        _check_settings,
        _check_sources,
        _check_plans,
        _check_folders,
        _check_numbers,
    ):
        check(job)


def _check_graph(job: Job) -> None:
    ids = [operator.id for operator in job.graph]
    if len(set(ids)) != len(ids) or job.root not in ids:
        raise Malformed("the operators' numbers are not unique, or the root is not among them")
    try:
        OperatorGraph(job.graph, job.root)
    except (ValueError, LookupError) as error:
        raise Malformed(f"the operator graph: {error}") from error
    for operator in job.graph:
        for aggregation in operator.aggregations if isinstance(operator, GroupBy) else ():
            if problem := aggregate_problem(aggregation.call.function):
                raise Malformed(problem)
        for each in operator.functions if isinstance(operator, Window) else ():
            known = each.call.function in WINDOW_ONLY
            if not known and (problem := aggregate_problem(each.call.function)):
                raise Malformed(problem)


def _check_settings(job: Job) -> None:
    for key in job.settings.conf:
        if key not in SAVED:
            raise Malformed(f"the setting {key!r} is not among the settings that jobs keep")


def _check_sources(job: Job) -> None:
    names = [source.name for source in job.sources]
    if len(set(names)) != len(names):
        raise Malformed("two sources have one name")
    for operator in job.graph:
        if isinstance(operator, Scan) and operator.table not in names:
            raise Malformed(f"there is no source {operator.table!r}, which is scanned")
    for source in job.sources:
        found = refusal(source.format, source.options, source.roots) or _problem(source)
        if found is not None:
            raise Malformed(f"source {source.name!r}: {found}")


def _problem(source: Source) -> str | None:
    """Why a source's files cannot be what they are said to be; None if they can."""
    if source.is_computed:
        return _computed_problem(source)
    if source.kept and not _is_in_one_folder(source):
        return "rows kept with the job lie in one folder of the job's"
    for path in (*source.roots, *(file.path for file in source.files)):
        if (not source.kept and not path.startswith("/")) or _goes_up(path):
            return f"{path!r} is not a whole local path"
    for file in source.files:
        if not any(lies_under(file.path, root) for root in source.roots):
            return f"{file.path!r} is under none of its paths"
        if not 0 <= file.size <= _MOST or not 0 <= (file.rows or 0) <= _MOST:
            return f"{file.path!r} cannot be so large"
    return None


def _computed_problem(source: Source) -> str | None:
    try:
        file = NumberRange.of(source.options).file
    except ValueError as error:
        return str(error)
    columns = [column.type for column in source.columns]
    if source.kept or source.roots or source.files != (file,) or columns != [LONG]:
        return f"it is not what {file.path} gives"
    return None


def _is_in_one_folder(source: Source) -> bool:
    """Whether kept rows are Parquet files in a folder that lies in the job's folder."""
    if source.format != "parquet" or source.options or source.partition_columns:
        return False
    if not source.roots:
        return not source.files
    parts = [PurePosixPath(source.roots[0]), *(PurePosixPath(f.path) for f in source.files)]
    lengths = [len(part.parts) for part in parts]
    return (
        len(source.roots) == 1
        and lengths == [1] + [2] * len(source.files)
        and bool(source.files)
        and not any(map(_leads_out, map(str, parts)))
    )


def check_marks(job: Job) -> None:
    """Refuse old files that do not say whether a mark join has the NULL rule of NOT IN.

    Raises Malformed for a job whose answers depend on it.
    """
    for operator in job.graph:
        for term in conjuncts(operator.condition) if isinstance(operator, MarkJoin) else ():
            match term:
                case Call(function="or", args=(compared, Call(function="is_null", args=(tested,)))):
                    if compared == tested:
                        raise Malformed(
                            "an older version saved it with a NOT IN under OR or as a value, and "
                            "answered for its NULLs as for matches"
                        )


def _check_plans(job: Job) -> None:
    ids = {operator.id for operator in job.graph}
    bindings: dict[str, set[int]] = {}
    for plan in job.plans:
        known = {0, *(intermediate.binding for intermediate in plan.intermediates)}
        bindings[plan.aggregates] = known
        named = [scan.node for scan in plan.scans] + [step.node for step in plan.steps]
        for node in named + [intermediate.node for intermediate in plan.intermediates]:
            if node not in ids:
                raise Malformed(f"a plan names the operator {node}, which does not exist")
        used = {one.binding for scan in plan.scans for one in scan.selections}
        used |= {one.binding for item in plan.intermediates for one in item.selections}
        if not used <= known:
            raise Malformed(f"a plan names the binding {min(used - known)}, which does not exist")
    for stored in job.intermediates:
        if stored.binding not in bindings.get(stored.aggregates, ()):
            raise Malformed(f"a stored result is of binding {stored.binding}, which does not exist")


def _check_folders(job: Job) -> None:
    given = OperatorGraph(job.graph, job.root).output()
    if job.output is not None and job.output.columns != given:
        raise Malformed("the stored output has other columns than the pipeline")
    results: list[StoredResult] = [stored.result for stored in job.intermediates]
    if job.output is not None:
        results.append(job.output)
    results += [result for function in job.functions for result in function.results]
    for result in results:
        if _leads_out(result.folder):
            raise Malformed(f"the folder {result.folder!r} is not inside the job's folder")
        for file in () if result.numbers is None else result.numbers.files:
            if _leads_out(file.name):
                raise Malformed(f"the file {file.name!r} is not inside the output's folder")
        for stored in result.files:
            if _leads_out(stored.name):
                raise Malformed(f"the file {stored.name!r} is not inside the result's folder")


def _leads_out(name: str) -> bool:
    path = PurePosixPath(name)
    return path.is_absolute() or not path.parts or "\\" in name or _goes_up(name)


def _goes_up(path: str) -> bool:
    return ".." in PurePosixPath(path).parts or "\0" in path


def _check_numbers(job: Job) -> None:
    output = set() if job.output is None else {column.id for column in job.output.columns}
    for stored in job.intermediates:
        columns = {column.id for column in stored.result.columns}
        numbers = stored.result.numbers
        for value in () if numbers is None else numbers.values:
            if value.column not in columns or value.output not in output:
                raise Malformed(
                    f"column {value.column} is recorded as the output's {value.output}, but one of "
                    "them does not exist"
                )
