"""Which streams of a watcher are away, and which have come back: for how long nobody reads them. It only keeps count.

A watch that is opened again goes on from where it was only if it brings a line: one whose version the cluster has
forgotten is opened just as well, and says so then.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from jobs.ingest.messages import State
from jobs.ingest.streams import StreamKey
from jobs.models import Stream

LATE_SECONDS = 20.0  # a stream that nobody reads for so long leaves an interval; most go on before
SILENT_SECONDS = 120.0  # a watch that lives brings a bookmark at least


@dataclass(slots=True)
class Return:
    """A watch that was opened again: nothing was read from ``since`` (None: ever before), ``until`` it caught up."""

    since: float | None
    until: float
    unread_since: float
    heard: bool = False


class Absences:
    """``streams``: as the store knows them, ``read_until``: when the watcher before was last alive. Epoch seconds."""

    def __init__(self, streams: Iterable[tuple[StreamKey, Stream]], read_until: float | None, now: float) -> None:
        self.watching: set[StreamKey] = set()  # by this watcher: the stored state may be that of one that was killed
        self._away_since: dict[StreamKey, float] = {}
        self._unread_since: dict[StreamKey, float] = {}
        self._returns: dict[StreamKey, Return] = {}
        self._looked_at = now
        for key, stream in streams:
            was_away = stream.state not in ("", State.WATCHING, State.LISTING) and stream.state_since is not None
            self._away_since[key] = min(now, stream.state_since or now) if was_away else now
            unread = min(stream.alive_at or now, stream.state_since or now) if was_away else read_until
            if unread is not None:
                self._unread_since[key] = unread

    def opened(self, key: StreamKey, at: float, alive_at: float | None, *, gap_is_open: bool) -> None:
        """A watch was opened; ``alive_at``: the stream's last sign of life."""
        self.watching.add(key)
        self._away_since.pop(key, None)
        unread = self._unread_since.pop(key, at)
        if gap_is_open or at - unread >= LATE_SECONDS:
            self._returns[key] = Return(alive_at, at, unread)

    def failed(self, key: StreamKey, at: float, alive_at: float | None) -> None:
        """The stream is not watched, or not any more. One that was silent for too long was dead all the while."""
        self.watching.discard(key)
        self._away_since.setdefault(key, at)
        before = self._returns.pop(key, None)
        dead = alive_at is not None and at - alive_at >= SILENT_SECONDS
        since = before.unread_since if before else alive_at if dead else at
        self._unread_since.setdefault(key, at if since is None else since)

    def listed(self, key: StreamKey, at: float) -> None:
        """A list tells all that there is."""
        self._returns.pop(key, None)
        for known in (self._away_since, self._unread_since):
            if key in known:
                known[key] = at

    def heard(self, key: StreamKey, at: float, *, change: bool) -> None:
        """A watch brought a line: a change, or a bookmark."""
        back = self._returns.get(key)
        if back is not None:
            back.heard = True
            if change:
                back.until = at

    def away(self, now: float) -> list[StreamKey]:
        """The streams that were away for long while others were watched; time in which none was does not count."""
        if not self.watching:
            missed = max(0.0, now - self._looked_at)
            self._away_since = {key: since + missed for key, since in self._away_since.items()}
        self._looked_at = now
        return [key for key, since in self._away_since.items() if now - since >= LATE_SECONDS]

    def back(self) -> list[tuple[StreamKey, Return]]:
        """The streams that have come back and go on from where they were; each is told once."""
        found = [(key, one) for key, one in self._returns.items() if one.heard]
        for key, _ in found:
            del self._returns[key]
        return found
