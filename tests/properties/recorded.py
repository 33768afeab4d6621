"""Recorded streams as a live watcher's messages, and the watcher that takes them."""

import gzip
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

from jobs.domain.facts import DELETED, EventFacts, PodFacts
from jobs.domain.kinds import EVENTS, PODS
from jobs.ingest.decode import WatchEvent, decode_recorded, understands
from jobs.ingest.messages import Bookmark, Changed, Expired, ListDone, Listed, Message, State, Status
from jobs.ingest.streams import OPERATOR_LABEL, VOLCANO_LABEL, StreamKey
from jobs.store import leases
from jobs.store.ledger import EVENT_KINDS
from jobs.store.reports import ReportFilter, reports
from jobs.watcher import Watcher
from tests.support.truth import RECORDINGS, scenarios

Json = dict[str, Any]


class Line(NamedTuple):
    """A recorded line of the stream that would carry it."""

    at: float
    key: StreamKey
    event: WatchEvent

    def message(self) -> Message:
        return Bookmark(self.event.resource_version) if self.event.meta is None else Changed(self.event, self.at)


@cache
def lines_of(scenario: str) -> tuple[Line, ...]:
    """What the watcher's streams carry of a recording; Events of pods are on none."""
    found = []
    for text in gzip.decompress((RECORDINGS / scenario / "watch.jsonl.gz").read_bytes()).splitlines():
        recorded = decode_recorded(text)
        event = recorded.event
        if event is None or not understands(recorded.resource):
            continue
        key = key_of(recorded.resource, event)
        if key is not None:
            found.append(Line(recorded.received_at, key, event))
    return tuple(found)


def key_of(resource: str, event: WatchEvent) -> StreamKey | None:
    facts = event.facts
    if resource == PODS:
        operator = not isinstance(facts, PodFacts) or facts.operator_name is not None
        return StreamKey(PODS, "", OPERATOR_LABEL if operator else VOLCANO_LABEL)
    if resource == EVENTS:
        kind = facts.involved_kind if isinstance(facts, EventFacts) else None
        return StreamKey(EVENTS, "", f"involvedObject.kind={kind}") if kind in EVENT_KINDS else None
    return StreamKey(resource, "", "")


@cache
def small_scenarios() -> tuple[str, ...]:
    """All that matters in little time: every scenario but the wave of 60 replicas."""
    return tuple(name for name in scenarios() if len(lines_of(name)) < 700)


class Cluster:
    """One cluster's watcher, fed by hand, from its beginning.

    ``there`` is what the API server would list now: it follows the lines, whether or not they are watched.
    """

    def __init__(self, name: str, lines: Iterable[Line], lease: leases.Lease | None = None) -> None:
        self.name = name
        self.keys = list(dict.fromkeys(line.key for line in lines))
        self.now = 0.0
        self.there: dict[StreamKey, dict[str, WatchEvent]] = {key: {} for key in self.keys}
        self.versions = dict.fromkeys(self.keys, 0)
        self.watcher = Watcher(name, self.keys, lease, clock=lambda: self.now)
        self.lease = lease

    def begin(self) -> None:
        """All streams list nothing: watching begins before anything is there."""
        self.watcher.take([(key, ListDone(0, frozenset(), 0.0, 0.0)) for key in self.keys])
        self._connect()

    def _connect(self) -> None:
        self.watcher.take([(key, Status(State.WATCHING, "", self.now)) for key in self.keys])

    def pass_by(self, lines: Iterable[Line]) -> None:
        """The cluster goes on; nobody watches."""
        for line in lines:
            self.now = max(self.now, line.at)
            self.versions[line.key] = max(self.versions[line.key], line.event.resource_version)
            if line.event.meta is None:
                continue
            if line.event.type == DELETED:
                self.there[line.key].pop(line.event.meta.uid, None)
            else:
                self.there[line.key][line.event.meta.uid] = line.event

    def watch(self, lines: Sequence[Line], batch: int = 200) -> None:
        """The watcher takes the lines, so many at a time."""
        for start in range(0, len(lines), batch):
            part = lines[start : start + batch]
            self.pass_by(part)
            self.watcher.take([(line.key, line.message()) for line in part])

    def expire(self, key: StreamKey) -> None:
        """410: the stream lists again what is there now."""
        there = self.there[key]
        items = tuple((event.meta, event.facts) for event in there.values() if event.meta and event.facts)
        messages: list[Message] = [Expired(1, "410"), *([Listed(items, self.now)] if items else [])]
        messages.append(ListDone(self.versions[key], frozenset(there), self.now, self.now))
        self.watcher.take([(key, message) for message in messages])

    def restart(self, lease: leases.Lease | None = None) -> None:
        """A new watcher, that knows only what is stored."""
        self.lease = lease
        self.watcher = Watcher(self.name, self.keys, lease, clock=lambda: self.now)
        self._connect()

    def resume(self, lines: Iterable[Line]) -> list[Line]:
        """The lines that the streams would bring from their stored cursors on."""
        cursors = self.watcher.resume_versions()
        return [line for line in lines if line.event.resource_version > cursors.get(line.key, 0)]

    def report(self) -> list[Json]:
        """By job UID, without the cluster's name."""
        told = sorted(reports(ReportFilter(cluster=self.name)), key=lambda job: job["uid"])
        return [{name: value for name, value in job.items() if name != "cluster"} for job in told]


JOB_FACTS = ("uid", "kind", "state", "present", "created_at", "at_least", "job_restarts")
COUNTS = ("recreations", "in_place_restarts", "true_restarts", "kubectl_restarts", "hidden_restarts")
REPLICA_FACTS = ("type", "index", "at_least", "init_restarts", "sidecar_restarts", "flags", "incarnations", *COUNTS)
POD_FACTS = ("uid", "node", "exit_code", "reason", "message", "cause_code", "cause", "restart_count", "was_restart")


def told(jobs: Iterable[Json]) -> list[Json]:
    """Counts, codes and causes: what must not depend on when something was read."""
    return [
        {
            **{name: job[name] for name in JOB_FACTS},
            "spans": len(job["restarting_condition"]),
            "replicas": [
                {
                    **{name: replica[name] for name in REPLICA_FACTS},
                    "pods": [{name: pod[name] for name in (*POD_FACTS, "ends")} for pod in replica["pods"]],
                }
                for replica in job["replicas"]
            ],
        }
        for job in jobs
    ]
