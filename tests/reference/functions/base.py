"""What function builders share."""

from __future__ import annotations

import datetime as dt
import zoneinfo
from collections.abc import Callable
from typing import Any, NamedTuple

from symbolic.expr import Call


class Settings(NamedTuple):
    """Session settings that change what expressions mean."""

    time_zone: str = "UTC"

    def local(self, instant: dt.datetime) -> dt.datetime:
        """The wall-clock time of a timestamp (naive ones are wall-clock time already)."""
        if instant.tzinfo is None:
            return instant
        return instant.astimezone(zoneinfo.ZoneInfo(self.time_zone)).replace(tzinfo=None)

    def instant(self, wall: dt.datetime, zoned: bool) -> dt.datetime:
        """The timestamp of a wall-clock time, zoned or not."""
        if not zoned:
            return wall
        zone = zoneinfo.ZoneInfo(self.time_zone)
        return wall.replace(tzinfo=zone).astimezone(dt.UTC)


Builder = Callable[[Call, Settings], Callable[..., Any]]


def plain(function: Callable[..., Any]) -> Builder:
    """A builder for a function that needs neither types nor settings."""
    return lambda expr, settings: function
