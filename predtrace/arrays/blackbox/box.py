"""`black_box`: a function that does not consist of numpy's, as one tracked operation."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal, TypeAlias, TypeVar, overload

from predtrace.arrays.blackbox.annotated import LIMIT as ANNOTATED_LIMIT
from predtrace.arrays.blackbox.annotated import Control, annotated, with_object_arrays
from predtrace.arrays.blackbox.probing import LIMIT as PROBED_LIMIT
from predtrace.arrays.blackbox.probing import probed
from predtrace.arrays.blackbox.result import Found, Run, flows_between, run_once
from predtrace.arrays.capture.call import Array, Operand, mapped
from predtrace.arrays.capture.regions import everything
from predtrace.arrays.quality import Quality
from predtrace.arrays.tracked.decorator import tracked_arrays
from predtrace.arrays.tracked.operations import Arguments, Done, record
from predtrace.errors import ArrayLineageError

How: TypeAlias = Literal["annotate", "probe", "everything"]
F = TypeVar("F", bound=Callable[..., Any])


@overload
def black_box(function: F, /) -> F: ...


@overload
def black_box(
    function: F, /, *, how: How = ..., control: Control = ..., limit: int | None = ...
) -> F: ...


@overload
def black_box(
    *, how: How = ..., control: Control = ..., limit: int | None = ...
) -> Callable[[F], F]: ...


def black_box(
    function: Any = None,
    /,
    *,
    how: How = "annotate",
    control: Control = "superset",
    limit: int | None = None,
) -> Any:
    """Make any function of arrays one operation when it is called with tracked arrays.

    It must be deterministic and return arrays or numbers. Its lineage is found by

    - "annotate": running it on cells that carry sets of input cells through Python's arithmetic.
      Precise, unless values decide what is done; then a superset, or with control="ignored" what
      was observed;
    - "probe": changing every input cell in several ways, and observing which output cells change;
    - "everything": saying that every output cell came from all input cells, a superset.

    `limit` bounds the input cells. Called without tracked arrays, the function is unchanged.
    """
    if function is None:
        return functools.partial(black_box, how=how, control=control, limit=limit)
    name = getattr(function, "__name__", type(function).__name__)

    @functools.wraps(function)
    def boxed(*args: Any, **kwargs: Any) -> Any:
        first = next(tracked_arrays((args, kwargs)), None)
        if first is None:
            return function(*args, **kwargs)
        given = Arguments(first.session)
        wrapped, options = given.wrapped(args), given.wrapped(kwargs)
        arrays = [array.values for array in given.arrays]

        def runner(called: Callable[..., Any]) -> Run:
            def run(*arrays: Array) -> Any:
                def value(operand: Operand) -> Any:
                    array = arrays[operand.position]
                    return array[()] if operand.is_number else array

                filled = mapped((wrapped, options), value)
                return called(*filled[0], **filled[1])

            return run

        if how == "annotate":
            objects = runner(with_object_arrays(function))
            found = annotated(
                name, runner(function), objects, arrays, control, limit or ANNOTATED_LIMIT
            )
        elif how == "probe":
            found = probed(name, runner(function), arrays, limit or PROBED_LIMIT)
        elif how == "everything":
            found = _everything(name, runner(function), arrays)
        else:
            raise ArrayLineageError(f'how={how!r} is not "annotate", "probe" or "everything"')
        done = Done(name, found.result, found.outputs, found.flows)
        return record(done, given, wrapped, options)

    return boxed


def _everything(name: str, run: Run, arrays: list[Array]) -> Found:
    result, outputs = run_once(name, run, arrays)
    flows = flows_between(
        outputs,
        arrays,
        lambda o, i: everything(outputs[o].shape, arrays[i].shape),
        Quality.SUPERSET,
        f"{name}: a black box, so all cells",
    )
    return Found(result, outputs, tuple(flows))
