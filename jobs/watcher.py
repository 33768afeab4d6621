"""Put the parts together for one cluster: messages of its streams in, observations reduced, stored and published.

The same watcher runs inside a Celery task and in the foreground (``manage.py watch``). It owns the ledger: one writer.
"""

import logging
import time
from collections.abc import Callable, Iterable, Sequence

from jobs import models, notify
from jobs.absence import Absences
from jobs.domain.facts import LISTED, VANISHED, Observation
from jobs.domain.kinds import EVENTS, PODS, kind_of
from jobs.domain.state import JobState
from jobs.ingest.messages import (
    Bookmark,
    Changed,
    Expired,
    ListDone,
    Listed,
    Listing,
    Message,
    Skipped,
    State,
    Status,
    cursor_after,
)
from jobs.ingest.streams import VOLCANO_LABEL, StreamKey
from jobs.logs import LogFetcher
from jobs.store import gaps, leases
from jobs.store.append import StoredLog, append
from jobs.store.gaps import Gap
from jobs.store.ledger import Ledger
from jobs.store.leftover import NOT_CONFIGURED, hand_over
from jobs.store.streams import StreamUpdate, cluster_named, stream_for

log = logging.getLogger(__name__)

TICK_SECONDS = 5.0  # an idle watcher renews its lease and says that it lives this often

Batch = Sequence[tuple[StreamKey, Message]]


class Watcher:
    """The consuming side of a cluster's streams.

    ``on_change`` is called for each observation that changed something, once it is stored. Raises ``LeaseLost`` and
    ``django.db.Error`` from :meth:`take`; after either the watcher is dead, a new one goes on from the stored cursors.
    """

    def __init__(
        self,
        cluster: str,
        keys: Iterable[StreamKey],
        lease: leases.Lease | None,
        *,
        clock: Callable[[], float] = time.time,
        on_change: Callable[[Observation], None] | None = None,
        logs: LogFetcher | None = None,
    ) -> None:
        self.cluster = cluster_named(cluster)
        self.ledger = Ledger(self.cluster)
        self._lease = lease
        self._clock = clock
        self._on_change = on_change
        self._logs = logs
        self._streams: dict[StreamKey, models.Stream] = {key: stream_for(self.cluster, key) for key in keys}
        self._updates: dict[StreamKey, StreamUpdate] = {}
        for stream in hand_over(self.cluster, list(self._streams.values())):
            key = StreamKey(stream.resource, stream.namespace, stream.selector)
            self._streams[key] = stream
            if stream.state != NOT_CONFIGURED:
                self._updates[key] = StreamUpdate(state=NOT_CONFIGURED, detail="", state_since=clock())
        self._open_since = {key: stream.alive_at for key, stream in self._streams.items() if stream.gap_open}
        self._absences = Absences(self._streams.items(), self.cluster.observed_until, clock())
        self._expired: dict[StreamKey, str] = {}  # why a stream lists again
        self._last_tick = 0.0
        self._reported: set[tuple[StreamKey, str]] = set()

    def resume_versions(self) -> dict[StreamKey, int]:
        """The stored cursor of each stream that has one."""
        return {
            key: int(stream.resource_version)
            for key, stream in self._streams.items()
            if stream.resource_version.isdecimal()
        }

    def take(self, batch: Batch) -> None:
        """Reduce and store one batch; an empty one only keeps the lease."""
        by_stream: dict[StreamKey, list[Observation | Message]] = {}
        for key, message in batch:
            by_stream.setdefault(key, []).extend(_observed(key, message))
        self.ledger.look_up(item for items in by_stream.values() for item in items if isinstance(item, Observation))
        for key, items in by_stream.items():
            self._take_stream(key, items)
        now = self._clock()
        idle = now - self._last_tick >= TICK_SECONDS
        if batch or idle:
            self._store(now, idle)

    def _store(self, now: float, idle: bool) -> None:
        if idle:
            self._last_tick = now
            if self._lease is not None:
                leases.renew(self._lease, now)
        if self._absences.watching:
            self.ledger.alive(now)
        if idle:
            self._note_returns()
        self._mark_open_gaps(now)
        updates = [(self._streams[key], update) for key, update in self._updates.items()]
        changes = [row.observation for row in self.ledger.rows]
        tails = self._log_tails(now, changes)
        news = bool(changes or self.ledger.touched or updates)
        seq = append(self.ledger, updates, self._lease, tails)
        self._updates.clear()
        if news:
            notify.publish(seq)
        if self._on_change is not None:
            for observation in changes:
                self._on_change(observation)

    def _mark_open_gaps(self, now: float) -> None:
        """Jobs whose pods, or who themselves, are not watched while others are: what happens to them is not seen."""
        for key in self._absences.away(now):
            if key not in self._open_since and gaps.enters_the_count(key.resource):
                self._open_since[key] = self._alive_at(key)
                self._update(key).gap_open = True
                gaps.not_watched(self.ledger, _gap(key, self._open_since[key]), now)
        for key, since in self._open_since.items():
            gaps.still_not_watched(self.ledger, _gap(key, since), now)

    def _note_returns(self) -> None:
        """What was missed by streams that go on from where they were: nothing, but it was read late."""
        for key, back in self._absences.back():
            since = self._open_since.get(key, back.since)
            self._close_gap(key)
            gaps.read_late(self.ledger, _gap(key, since), back.until)

    def _close_gap(self, key: StreamKey) -> None:
        if key in self._open_since:
            gaps.watched_again(self.ledger, _gap(key, self._open_since.pop(key)))
            self._update(key).gap_open = False

    def _alive_at(self, key: StreamKey) -> float | None:
        """The stream's last sign of life."""
        told = self._updates[key].alive_at if key in self._updates else None
        return told or self._streams[key].alive_at

    def _log_tails(self, now: float, changes: list[Observation]) -> list[StoredLog]:
        """Ask for the logs of what has ended now; answers those that have come, their jobs marked as changed."""
        if self._logs is None:
            return []
        self._logs.look(changes)
        tails = []
        for tail in self._logs.ready():
            job = self.ledger.job_of(tail.request.job_uid)
            if job is not None:
                self.ledger.touched[job.uid] = job
                wanted = tail.request
                tails.append(StoredLog(job.uid, wanted.pod_uid, wanted.container_id, tail.text, tail.problem, now))
        return tails

    def _update(self, key: StreamKey) -> StreamUpdate:
        return self._updates.setdefault(key, StreamUpdate())

    def _take_stream(self, key: StreamKey, items: list[Observation | Message]) -> None:
        """One stream's messages in order; observations that follow each other are reduced together."""
        waiting: list[Observation] = []
        for item in items:
            if isinstance(item, Observation):
                waiting.append(item)
                if item.verb != LISTED:  # the version of a list is the list's, never an item's
                    self._update(key).resource_version = str(item.resource_version)
                continue
            self._apply(key, waiting)
            waiting = []
            self._take_other(key, item)
            version = cursor_after(item)
            if version is not None:
                self._update(key).resource_version = str(version)
        self._apply(key, waiting)

    def _apply(self, key: StreamKey, observations: list[Observation]) -> None:
        if not observations:
            return
        update = self._update(key)
        counts = self.ledger.apply(self._streams[key].pk, observations)
        update.events += sum(observation.verb != VANISHED for observation in observations)
        update.changes += counts.changed
        update.unchanged += counts.unchanged
        if observations[-1].verb not in (LISTED, VANISHED):  # a list does not say that somebody watched before it
            update.last_event_at = update.alive_at = observations[-1].observed_at
            self._absences.heard(key, observations[-1].observed_at, change=True)
        for odd, number in counts.homeless.items():
            self._count_skipped(key, odd, number, "an object")

    def _take_other(self, key: StreamKey, message: Message) -> None:
        if isinstance(message, ListDone):
            self._list_done(key, message)
        elif isinstance(message, Bookmark):
            self._update(key).alive_at = self._clock()
            self._absences.heard(key, self._clock(), change=False)
        elif isinstance(message, Skipped):
            self._count_skipped(key, message.reason, 1, message.sample)
        elif isinstance(message, Status):
            self._status(key, message)
        elif isinstance(message, Expired):
            self._expired[key] = message.reason
            log.warning("%s: %s: %s; listing again", self.cluster.name, key, message.reason)
        else:
            assert isinstance(message, Listing)

    def _list_done(self, key: StreamKey, done: ListDone) -> None:
        """A list is complete: what it lacks has vanished, and nobody watched since the stream was last alive."""
        stream, update = self._streams[key], self._update(key)
        gap = _gap(key, self._alive_at(key))
        self._close_gap(key)
        self._absences.listed(key, done.finished_at)
        # An Event stream that lists again has lost nothing that is counted (restart facts, section 6).
        if key.resource != EVENTS:
            reason = self._expired.pop(key, "listed again")
            # Before anything vanishes: a job whose pods are all gone has nothing left to miss.
            gaps.unobserved(self.ledger, gap, done.finished_at)
            if gap.since is not None:
                update.gaps.append((gap.since, done.finished_at, reason))
        if not done.unreadable:
            gone = self.ledger.missing(stream.pk, set(done.seen), done.resource_version, done.finished_at)
            self.ledger.look_up(gone)
            self._apply(key, gone)
        update.listed_at = update.alive_at = done.finished_at

    def _count_skipped(self, key: StreamKey, reason: str, number: int, sample: str) -> None:
        skipped = self._update(key).skipped
        skipped[reason] = skipped.get(reason, 0) + number
        if (key, reason) not in self._reported:
            self._reported.add((key, reason))
            log.warning(
                "%s: %s: skipped %s: %s (further ones are only counted)", self.cluster.name, key, sample, reason
            )

    def _status(self, key: StreamKey, message: Status) -> None:
        if message.state is State.WATCHING:
            self._absences.opened(key, message.at, self._alive_at(key), gap_is_open=key in self._open_since)
        else:
            self._absences.failed(key, message.at, self._alive_at(key))
        stream, update = self._streams[key], self._update(key)
        known = (update.state or stream.state, update.detail if update.detail is not None else stream.detail)
        if known == (message.state.value, message.sentence):
            return
        if message.sentence and message.sentence != known[1]:
            log.warning("%s: %s: %s", self.cluster.name, key, message.sentence)
        update.state, update.detail, update.state_since = message.state.value, message.sentence, message.at


def _gap(key: StreamKey, since: float | None) -> Gap:
    return Gap(key.resource, since, lambda job: _concerns(key, job))


def _concerns(key: StreamKey, job: JobState) -> bool:
    """Whether what a stream missed may be the job's: of its namespace and, for pods, with the label of its kind."""
    if key.namespace and job.namespace != key.namespace:
        return False
    kind = kind_of(job.api_version, job.kind) if key.resource == PODS else None
    return kind is None or (kind.operator is None) == (key.selector == VOLCANO_LABEL)


def _observed(key: StreamKey, message: Message) -> Iterable[Observation | Message]:
    """A message that carries objects as observations, any other as it is."""
    if isinstance(message, Changed):
        return (_changed(key, message),)
    if isinstance(message, Listed):
        return _listed(key, message)
    return (message,)


def _changed(key: StreamKey, message: Changed) -> Observation:
    event = message.event
    assert event.meta is not None
    meta = event.meta
    return Observation(
        event.type,
        key.resource,
        meta.namespace,
        meta.name,
        meta.uid,
        meta.resource_version,
        message.received_at,
        event.facts,
    )


def _listed(key: StreamKey, message: Listed) -> Iterable[Observation]:
    for meta, facts in message.items:
        yield Observation(
            LISTED,
            key.resource,
            meta.namespace,
            meta.name,
            meta.uid,
            meta.resource_version,
            message.received_at,
            facts,
        )
