"""The Event recorder that every controller carries, with client-go's three ways of keeping Events few.

A repeated message raises `count` of the Event it made first. After ten similar ones in ten minutes further messages
are folded into one Event. And of one source about one object only the first 25 get through, then one in 5 minutes;
what is dropped has been counted all the same, so a later survivor shows a count that jumps.
"""

import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any, TypeVar

from simcluster.clock import Clock, rfc3339, rfc3339_micro
from simcluster.controllers.delays import EVENT_WRITE
from simcluster.errors import ApiError
from simcluster.resources import EVENTS
from simcluster.store import Store

Obj = dict[str, Any]

FOLDED_PREFIX = "(combined from similar events): "
MAX_SIMILAR = 10
SIMILAR_WINDOW_SECONDS = 600.0
DEFAULT_BURST = 25
REFILL_SECONDS = 300.0
TTL_SECONDS = 3600.0
MAX_REMEMBERED = 4096

_T = TypeVar("_T")


@dataclass
class _Bucket:
    tokens: float
    at: float


@dataclass
class _Similar:
    at: float
    messages: dict[str, None] = field(default_factory=dict)  # an ordered set


@dataclass
class _Observed:
    name: str
    first: str
    count: int


class EventRecorder:
    """Events of one source. `by_reason`: the limit goes by source, object and reason, as in Volcano's components."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        rng: random.Random,
        component: str,
        *,
        host: str = "",
        by_reason: bool = False,
    ) -> None:
        self._store = store
        self._clock = clock
        self._rng = rng
        self._source = {"component": component, "host": host} if host else {"component": component}
        self._host = host
        self._by_reason = by_reason
        self._buckets: dict[tuple[str, ...], _Bucket] = {}
        self._similar: dict[tuple[str, ...], _Similar] = {}
        self._observed: dict[tuple[str, ...], _Observed] = {}
        self._queue: deque[Obj] = deque()
        self._last_stamp = 0
        self.dropped = 0

    def event(self, about: Obj, kind: str, reason: str, message: str, field_path: str = "") -> None:
        """Notes that something happened to the object `about`; it is written some milliseconds later, in order.

        `kind` is Normal or Warning, `field_path` names a container (spec.containers{tensorflow}).
        """
        self._queue.append(self._made(about, kind, reason, message, field_path))
        if len(self._queue) == 1:
            self._clock.call_later(EVENT_WRITE.draw(self._rng), self._write_next)

    def _made(self, about: Obj, kind: str, reason: str, message: str, field_path: str) -> Obj:
        metadata = about["metadata"]
        involved = {
            "kind": about["kind"],
            "namespace": metadata.get("namespace", ""),
            "name": metadata["name"],
            "uid": metadata["uid"],
            "apiVersion": about["apiVersion"],
            "resourceVersion": metadata["resourceVersion"],
        }
        if field_path:
            involved["fieldPath"] = field_path
        now = rfc3339(self._clock.now())
        name, namespace = self._name(metadata["name"]), metadata.get("namespace") or "default"
        return {
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": {key: value for key, value in involved.items() if value},
            "reason": reason,
            "message": message,
            "source": self._source,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "type": kind,
            "eventTime": None,
            "reportingComponent": self._source["component"],
            "reportingInstance": self._host,
        }

    def _name(self, involved: str) -> str:
        """<object>.<nanoseconds in hex>; strictly rising, as two Events of one moment need two names."""
        stamp = int(self._clock.now() * 1e9) + self._rng.randrange(1000)
        self._last_stamp = max(stamp, self._last_stamp + 1)
        return f"{involved}.{self._last_stamp:x}"

    def _write_next(self) -> None:
        self._record(self._queue.popleft())
        if self._queue:
            self._clock.call_later(EVENT_WRITE.draw(self._rng), self._write_next)

    def _record(self, event: Obj) -> None:
        event, key = self._folded(event)
        event, repeated = self._counted(event, key)
        if not self._let_through(event):
            self.dropped += 1
            return
        try:
            self._write(event, repeated)
        except ApiError:  # the namespace is gone: client-go gives up as well
            self.dropped += 1

    def _folded(self, event: Obj) -> tuple[Obj, tuple[str, ...]]:
        """The event, or the one that stands for many similar ones, with the key its count goes by."""
        group = (*_about(event), event["involvedObject"].get("fieldPath", ""), event["type"], event["reason"])
        now = self._clock.now()
        similar = self._similar.pop(group, None)
        if similar is None or now - similar.at > SIMILAR_WINDOW_SECONDS:
            similar = _Similar(now)
        similar.at = now
        _remember(self._similar, group, similar)
        similar.messages[event["message"]] = None
        if len(similar.messages) < MAX_SIMILAR:
            return event, (*group, event["message"])
        similar.messages.pop(next(iter(similar.messages)))
        return {**event, "message": FOLDED_PREFIX + event["message"]}, group

    def _counted(self, event: Obj, key: tuple[str, ...]) -> tuple[Obj, bool]:
        """The event under the name and with the count of the one it repeats; whether it repeats one."""
        before = self._observed.pop(key, None)
        if before is None:
            _remember(self._observed, key, _Observed(event["metadata"]["name"], event["firstTimestamp"], 1))
            return event, False
        before.count += 1
        _remember(self._observed, key, before)
        metadata = {**event["metadata"], "name": before.name}
        return {**event, "metadata": metadata, "firstTimestamp": before.first, "count": before.count}, True

    def _let_through(self, event: Obj) -> bool:
        now = self._clock.now()
        key = (*_about(event), event["reason"]) if self._by_reason else _about(event)
        bucket = self._buckets.pop(key, None) or _Bucket(DEFAULT_BURST, now)
        _remember(self._buckets, key, bucket)
        bucket.tokens = min(DEFAULT_BURST, bucket.tokens + (now - bucket.at) / REFILL_SECONDS)
        bucket.at = now
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True

    def _write(self, event: Obj, repeated: bool) -> None:
        name, namespace = event["metadata"]["name"], event["metadata"]["namespace"]
        old = self._store.find(EVENTS, namespace, name) if repeated else None
        if old is None:
            self._store.create(EVENTS, event)
            self._clock.call_later(TTL_SECONDS, self._expire, namespace, name)
            return
        changed = {key: event[key] for key in ("count", "lastTimestamp", "message")}
        self._store.update(EVENTS, {**old, **changed})

    def _expire(self, namespace: str, name: str) -> None:
        """Events live for an hour after their last write."""
        event = self._store.find(EVENTS, namespace, name)
        if event is None:
            return
        if event["lastTimestamp"] > rfc3339(self._clock.now() - TTL_SECONDS):
            self._clock.call_later(TTL_SECONDS / 60, self._expire, namespace, name)
        else:
            self._store.delete(EVENTS, namespace, name)


class SeriesRecorder:
    """Events of the newer kind: no count and no timestamps but `eventTime`; a repetition begins a series."""

    WINDOW_SECONDS = 360.0

    def __init__(self, store: Store, clock: Clock, rng: random.Random, component: str, instance: str = "") -> None:
        self._store, self._clock, self._rng = store, clock, rng
        self._component, self._instance = component, instance or f"{component}-vm"
        self._known: dict[tuple[str, ...], tuple[str, float]] = {}
        self._last_stamp = 0

    def event(self, about: Obj, kind: str, reason: str, message: str, action: str) -> None:
        """Notes that something happened; it is written some milliseconds later."""
        self._clock.call_later(EVENT_WRITE.draw(self._rng), self._write, about, kind, reason, message, action)

    def _write(self, about: Obj, kind: str, reason: str, message: str, action: str) -> None:
        metadata, now = about["metadata"], self._clock.now()
        key = (metadata["uid"], kind, reason, message, action)
        name, seen = self._known.pop(key, ("", 0.0))
        old = self._store.find(EVENTS, metadata["namespace"], name) if now - seen < self.WINDOW_SECONDS else None
        if old is None:
            self._last_stamp = max(int(now * 1e9) + self._rng.randrange(1000), self._last_stamp + 1)
            name = f"{metadata['name']}.{self._last_stamp:x}"
        _remember(self._known, key, (name, now))
        try:
            if old is not None:
                count = (old.get("series") or {}).get("count", 1) + 1
                series = {"count": count, "lastObservedTime": rfc3339_micro(now)}
                self._store.update(EVENTS, {**old, "series": series})
            else:
                self._store.create(EVENTS, self._made(about, name, kind, reason, message=message, action=action))
                self._clock.call_later(TTL_SECONDS, self._expire, metadata["namespace"], name)
        except ApiError:  # the namespace is gone
            return

    def _made(self, about: Obj, name: str, kind: str, reason: str, *, message: str, action: str) -> Obj:
        metadata = about["metadata"]
        return {
            "metadata": {"name": name, "namespace": metadata["namespace"]},
            "involvedObject": {
                "kind": about["kind"],
                "namespace": metadata["namespace"],
                "name": metadata["name"],
                "uid": metadata["uid"],
                "apiVersion": about["apiVersion"],
                "resourceVersion": metadata["resourceVersion"],
            },
            "reason": reason,
            "message": message,
            "source": {},
            "firstTimestamp": None,
            "lastTimestamp": None,
            "type": kind,
            "eventTime": rfc3339_micro(self._clock.now()),
            "action": action,
            "reportingComponent": self._component,
            "reportingInstance": self._instance,
        }

    def _expire(self, namespace: str, name: str) -> None:
        if self._store.find(EVENTS, namespace, name) is not None:
            self._store.delete(EVENTS, namespace, name)


def _remember(cache: dict[tuple[str, ...], _T], key: tuple[str, ...], value: _T) -> None:
    """Keeps the value as the newest; the oldest is forgotten when there are too many, as client-go does."""
    cache[key] = value
    if len(cache) > MAX_REMEMBERED:
        del cache[next(iter(cache))]


def _about(event: Obj) -> tuple[str, ...]:
    """Source and object: what the limit of 25 goes by."""
    involved, source = event["involvedObject"], event["source"]
    names = ("kind", "namespace", "name", "uid", "apiVersion")
    return (source["component"], source.get("host", ""), *(involved.get(name, "") for name in names))
