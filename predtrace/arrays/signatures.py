"""The signature of a call: what its lineage can be inferred from without its values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from predtrace.errors import ArrayLineageError
from predtrace.packed.boxes import Shape


@dataclass(frozen=True)
class CallSignature:
    """An operation's name, the shapes of all its arrays, and its arguments, each as JSON."""

    name: str
    in_shapes: tuple[Shape, ...]
    out_shapes: tuple[Shape, ...]
    args: Mapping[str, str]

    @classmethod
    def of(
        cls,
        name: str,
        in_shapes: tuple[Shape, ...],
        out_shapes: tuple[Shape, ...],
        args: Mapping[str, Any],
    ) -> CallSignature:
        """The signature of a call. Raises ArrayLineageError if an argument is no JSON."""
        written = {key: as_json(value, name) for key, value in args.items()}
        return cls(name, in_shapes, out_shapes, written)


def as_json(value: Any, operation: str) -> str:
    """A value as JSON. Raises ArrayLineageError, naming the operation, if it cannot be."""
    try:
        return msgspec.json.encode(value, enc_hook=_plain, order="sorted").decode()
    except (TypeError, NotImplementedError, msgspec.MsgspecError) as error:
        raise ArrayLineageError(
            f"the arguments of {operation} cannot be stored as JSON ({error}); "
            "give numbers, strings, lists and dicts"
        ) from error


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise NotImplementedError(f"{type(value).__name__} is not JSON")
