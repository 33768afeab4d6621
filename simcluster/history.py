"""What has been written: the changes a watch replays, and the state at an earlier resourceVersion."""

import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from simcluster.actors import SYSTEM, Actor
from simcluster.resources import Resource

_VERSION = attrgetter("version")


@dataclass(slots=True, eq=False)
class Change:
    """One write. `object` is the state after it (for DELETED the last state, with the deletion's own version),
    `old` the state before (None for ADDED)."""

    version: int
    type: str
    resource: Resource
    key: str
    object: dict[str, Any]
    old: dict[str, Any] | None
    at: float
    actor: Actor = SYSTEM
    verb: str = ""  # create, update or delete: what was asked for


class History:
    """The changes of one resource in order of version, bounded from below by compaction and from above by `limit`."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._changes: list[Change] = []
        self.compacted = 0  # changes up to this version are gone

    def append(self, change: Change) -> None:
        self._changes.append(change)
        if len(self._changes) > self._limit * 5 // 4:  # in steps: cutting the front of a list moves the rest
            self._cut(len(self._changes) - self._limit)

    def after(self, version: int) -> list[Change]:
        """Changes newer than `version`, which must not be below `compacted`."""
        return self._changes[bisect.bisect_right(self._changes, version, key=_VERSION) :]

    def undone(self, version: int) -> dict[str, dict[str, Any] | None]:
        """Per key changed since `version`, its object as of then; None where there was none."""
        states: dict[str, dict[str, Any] | None] = {}
        for change in self.after(version):
            states.setdefault(change.key, change.old)
        return states

    def compact(self, version: int) -> None:
        self._cut(bisect.bisect_right(self._changes, version, key=_VERSION))
        self.compacted = max(self.compacted, version)

    def newest_before(self, at: float) -> int:
        """The version of the newest change made before the time `at`; 0 if there is none."""
        index = bisect.bisect_left(self._changes, at, key=attrgetter("at"))
        return self._changes[index - 1].version if index else 0

    def __iter__(self) -> Iterator[Change]:
        return iter(self._changes)

    def __len__(self) -> int:
        return len(self._changes)

    def _cut(self, count: int) -> None:
        if count > 0:
            self.compacted = max(self.compacted, self._changes[count - 1].version)
            del self._changes[:count]
