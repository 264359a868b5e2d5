"""Functions that users wrote in Python, as far as this process has them.

A pipeline's plan has the bytes to which PySpark pickled a function and its result type. These are
compared and hashed, and never loaded. A function of this process is the pipeline's function if it
pickles to the very same bytes.
"""

from __future__ import annotations

import gc
import hashlib
import pickle
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import BuiltinFunctionType, FrameType, FunctionType
from typing import Any, NamedTuple

from predtrace.environment.function_modules import modules_digest
from predtrace.environment.function_texts import is_of_library, text_of
from predtrace.errors import PredTraceError
from symbolic.functions import PythonFunction

Function = Callable[..., Any]


class Live(NamedTuple):
    """A function of this process, its result type as PySpark has it, and its digest when it was
    shown; with the digest then of the modules that its bytes name."""

    function: Function
    returns: Any
    shown: str = ""
    modules: str = ""


_live: dict[str, Live] = {}


def digest(data: bytes) -> str:
    """What stands for a function's bytes in its id."""
    return hashlib.sha256(data).hexdigest()


def known(wanted: PythonFunction) -> Live | None:
    """The function, if this process has shown it to predtrace.

    Raises PredTraceError if it would give other results now, since something that it uses changed.
    """
    found = _live.get(wanted.digest)
    if found is None:
        return None
    data = _pickled(found)
    if found.shown not in _digests(data) or found.modules != modules_digest(data):
        raise PredTraceError(
            f"the function {wanted.name} changed since the pipeline was read: a value that it "
            "uses, or a module that it is in, is another one now; run the pipeline again"
        )
    return found


def find(wanted: Iterable[PythonFunction], given: Mapping[str, Function]) -> None:
    """Look for functions among those `given` by name, in the callers' frames, and in modules.

    Raises PredTraceError for a function that was given and is another one.
    """
    for function in wanted:
        if function.name in given:
            enter(function, given[function.name])
        elif function.digest not in _live:
            _first(function, _in_sight(function.name))


def enter(
    wanted: PythonFunction, given: Any, signature: str = "", modules: str | None = None
) -> None:
    """Take a function that the user gives for the pipeline's.

    The job may have kept the digest of the `modules` that its bytes name. It may have other bytes
    than in the plan, or other modules, if it has the `signature` that the job kept: the same
    function, loaded from another place. Raises PredTraceError if it is another one.
    """
    if not callable(given):
        raise PredTraceError(
            f"functions[{wanted.name!r}] is the function {wanted.name}, not a value of type "
            f"{type(given).__name__}"
        )
    if _first(wanted, (given,), modules):
        return
    live = _live_of(given, wanted)
    same_type = live.returns == _live_of(live.function, wanted).returns
    if not (signature and same_type and text_of(live.function).signature == signature):
        raise PredTraceError(
            f"functions[{wanted.name!r}] is not the function {wanted.name} that the pipeline ran: "
            "its code, a value that it uses, or its result type changed"
        )
    data = _pickled(live)
    shown, *_ = _digests(data) or ("",)
    _live[wanted.digest] = live._replace(shown=shown, modules=modules_digest(data))


def missing(name: str) -> str:
    """What to do about a function that this process does not have."""
    return (
        f"the Python function {name} is not at hand; give it: "
        f"functions={{{name!r}: {name if name.isidentifier() else '…'}}}"
    )


def forget() -> None:
    """Forget all functions."""
    _live.clear()


def _first(wanted: PythonFunction, candidates: Iterable[Any], modules: str | None = None) -> bool:
    """Whether one of the candidates is the function, with these modules; it is then known."""
    tried: set[int] = set()
    for candidate in candidates:
        live = _live_of(candidate, wanted)
        if id(live.function) not in tried:
            tried.add(id(live.function))
            data = _pickled(live)
            if wanted.digest in _digests(data):
                named = modules_digest(data)
                if modules in (None, named):
                    _live[wanted.digest] = live._replace(shown=wanted.digest, modules=named)
                    return True
    return False


def _live_of(candidate: Any, wanted: PythonFunction) -> Live:
    """A callable, or PySpark's object around one, which has the result type."""
    from pyspark.errors import PySparkException
    from pyspark.sql.types import _parse_datatype_json_string

    if _is_wrapped(candidate):
        try:
            return Live(candidate.func, candidate.returnType)
        except PySparkException:
            # Its own result type is malformed: nobody ever called it.
            candidate = candidate.func
    return Live(candidate, _parse_datatype_json_string(wanted.returns))


def _is_wrapped(value: Any) -> bool:
    """Whether a value is PySpark's object around a function; asks no object to make attributes."""
    try:
        attributes: Mapping[str, Any] = vars(value)
    except TypeError:
        return False
    return "func" in attributes and "evalType" in attributes


def _pickled(live: Live) -> bytes:
    return pickled((live.function, live.returns))


def pickled(value: Any) -> bytes:
    """The bytes to which PySpark pickles a value; none for what cannot be pickled."""
    from pyspark import cloudpickle
    from pyspark.serializers import pickle_protocol

    try:
        # As PySpark's serializer does, which prints what does not work.
        return bytes(cloudpickle.dumps(value, pickle_protocol))
    except Exception:
        # Whatever the object's own code raises: it cannot be a function of a pipeline.
        return b""


def _digests(data: bytes) -> Collection[str]:
    """The digests under which plans may know a function: by its bytes, or by those in a
    broadcast."""
    from pyspark.serializers import pickle_protocol

    return (digest(data), digest(pickle.dumps(data, pickle_protocol))) if data else ()


def _in_sight(name: str) -> Iterator[Any]:
    """Candidates for a function of this name, the likeliest first.

    Callables of the name, and PySpark's objects, in the callers' frames and in modules; PySpark's
    objects wherever they are; the user's other functions in these frames, since a function may be
    registered under another name.
    """
    around = list(_variables())
    for variables in around:
        for variable, value in variables.items():
            if _is_wrapped(value) or (callable(value) and name in (variable, _own_name(value))):
                yield value
    for module in list(sys.modules.values()):
        # Asked for an attribute, a module may import others.
        content: dict[str, Any] = getattr(module, "__dict__", {})
        if callable(content.get(name)):
            yield content[name]
    yield from _alive()
    for variables in around:
        for value in variables.values():
            if isinstance(value, FunctionType) and not is_of_library(value.__module__):
                yield value


def _variables() -> Iterator[dict[str, Any]]:
    """The variables of the callers' frames, innermost first, then of the other threads'."""
    own = sys._getframe(1)
    others = sys._current_frames()
    del others[threading.get_ident()]
    seen: set[int] = set()
    for top in (own, *others.values()):
        frame: FrameType | None = top
        while frame is not None:
            yield dict(frame.f_locals)
            if id(frame.f_globals) not in seen:
                seen.add(id(frame.f_globals))
                yield dict(frame.f_globals)
            frame = frame.f_back


def _own_name(value: Any) -> str | None:
    return value.__name__ if isinstance(value, (FunctionType, BuiltinFunctionType)) else None


def _alive() -> Iterator[Any]:
    """PySpark's objects around functions, wherever they are kept."""
    from pyspark.sql.udf import UserDefinedFunction

    return (value for value in gc.get_objects() if type(value) is UserDefinedFunction)
