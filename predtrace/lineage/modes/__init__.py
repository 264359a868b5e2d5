"""The modes of answering, one object each."""

from predtrace.errors import PredTraceError
from predtrace.lineage.modes.automatic import AutomaticMode
from predtrace.lineage.modes.base import Mode
from predtrace.lineage.modes.indexed import IndexedMode
from predtrace.lineage.modes.naive import NaiveMode
from predtrace.lineage.modes.refined import RefinedMode
from predtrace.lineage.modes.replayed import ReplayedMode
from predtrace.lineage.modes.stored import StoredMode
from predtrace.vocabulary import Mode as Modes
from predtrace.vocabulary import words

_ALL: tuple[Mode, ...] = (
    AutomaticMode(),
    IndexedMode(),
    StoredMode(),
    ReplayedMode(),
    RefinedMode(),
    NaiveMode(),
)
MODES: dict[str, Mode] = {mode.name: mode for mode in _ALL}
"""The mode for each word of `predtrace.vocabulary.Mode`."""


def mode_named(name: str) -> Mode:
    """The mode of this name. Raises PredTraceError for an unknown name."""
    if name not in MODES:
        raise PredTraceError(f"there is no mode {name!r}; use one of {words(Modes)}")
    return MODES[name]
