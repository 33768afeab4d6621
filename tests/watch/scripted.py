"""A watcher that is fed messages by hand, and the objects that the messages are about."""

from collections.abc import Iterable
from typing import Any

from jobs.domain.facts import Condition, EventFacts, Facts, JobFacts, Observation, PodFacts, PodGroupFacts, ReplicaSpec
from jobs.domain.kinds import VOLCANO_PODGROUPS
from jobs.domain.report import rfc3339
from jobs.ingest.decode import ObjectMeta, WatchEvent
from jobs.ingest.messages import Bookmark, Changed, Expired, ListDone, Listed, Listing, Message, State, Status
from jobs.ingest.streams import OPERATOR_LABEL, VOLCANO_LABEL, StreamKey
from jobs.store import leases
from jobs.watcher import TICK_SECONDS, Watcher
from tests.watch.reading import only_job

CREATED = 1_800_000_000.0  # when the job was created, by the cluster's clock
CLUSTER = "scripted"
JOB = "uid-job"
PODGROUP = "uid-podgroup"

TFJOBS = StreamKey("tfjobs.kubeflow.org", "", "")
PODS = StreamKey("pods", "", OPERATOR_LABEL)
VOLCANO_PODS = StreamKey("pods", "", VOLCANO_LABEL)
PODGROUPS = StreamKey(VOLCANO_PODGROUPS, "", "")
JOB_EVENTS = StreamKey("events", "", "involvedObject.kind=TFJob")
PODGROUP_EVENTS = StreamKey("events", "", "involvedObject.kind=PodGroup")
KEYS = (TFJOBS, PODS, VOLCANO_PODS, PODGROUPS, JOB_EVENTS, PODGROUP_EVENTS)

Item = tuple[ObjectMeta, Facts]


def job(version: int, *conditions: str, uid: str = JOB, name: str = "tftest", namespace: str = "ns") -> Item:
    """A TFJob with one worker; ``conditions``: those that are True."""
    told = tuple(Condition(type_, "True", transition_at=CREATED + 1) for type_ in conditions)
    worker = ReplicaSpec("Worker", 1, "ExitCode", "busybox")
    facts = JobFacts("kubeflow.org/v1", "TFJob", CREATED, generation=1, replicas=(worker,), conditions=told)
    return ObjectMeta(namespace, name, uid, version), facts


def pod(uid: str, version: int, phase: str = "Running", *, job_uid: str = JOB, **facts: Any) -> Item:
    """Worker 0 of the job, one incarnation for each ``uid``."""
    name = facts.pop("job_name", "tftest")
    namespace = facts.pop("namespace", "ns")
    known = {"job_api_version": "kubeflow.org/v1", "job_kind": "TFJob", "created_at": CREATED + version} | facts
    told = PodFacts(job_uid=job_uid, job_name=name, replica_type="worker", replica_index=0, phase=phase, **known)
    return ObjectMeta(namespace, f"{name}-worker-0", uid, version), told


def podgroup(version: int, phase: str = "Running", **facts: Any) -> Item:
    told = PodGroupFacts(job_uid=JOB, job_kind="TFJob", job_name="tftest", phase=phase, min_member=1, **facts)
    return ObjectMeta("ns", "tftest", PODGROUP, version), told


def event(uid: str, version: int, about: str = JOB, kind: str = "TFJob", **facts: Any) -> Item:
    told = EventFacts(involved_kind=kind, involved_uid=about, reason="SuccessfulCreatePod", **facts)
    return ObjectMeta("ns", f"tftest.{uid}", uid, version), told


class Rig:
    """A watcher and the time at which it hears things."""

    def __init__(
        self, *, lease: leases.Lease | None = None, keys: Iterable[StreamKey] = KEYS, now: float = CREATED + 10
    ) -> None:
        self.now = now
        self.changes: list[Observation] = []
        self._watched: set[StreamKey] = set()
        self.watcher = Watcher(CLUSTER, keys, lease, clock=lambda: self.now, on_change=self.changes.append)

    def changed(self, item: Item, type_: str = "MODIFIED") -> Changed:
        meta, facts = item
        return Changed(WatchEvent(type_, meta.resource_version, meta, facts), self.now)

    def list_of(self, version: int, *items: Item, unreadable: int = 0) -> list[Message]:
        """A whole list at this moment."""
        seen = frozenset(meta.uid for meta, _ in items)
        head: list[Message] = [Listing(self.now), *([Listed(items, self.now)] if items else [])]
        return [*head, ListDone(version, seen, self.now, self.now, unreadable)]

    def take(self, key: StreamKey, *messages: Message) -> None:
        """One batch."""
        self.watcher.take([(key, message) for message in messages])

    def see(self, key: StreamKey, *items: Item, type_: str = "MODIFIED") -> None:
        """One batch of watched changes, and before the first of a stream that it is watched."""
        if key not in self._watched:
            self.watching(key)
        self.take(key, *(self.changed(item, type_) for item in items))

    def watching(self, *keys: StreamKey) -> None:
        for key in keys:
            self._watched.add(key)
            self.take(key, Status(State.WATCHING, "", self.now))

    def expire(self, key: StreamKey, since: int = 1) -> None:
        self.take(key, Expired(since, "410"))


def watched_from_the_start() -> Rig:
    """A rig that saw the job's beginning, so that its count is exact: worker 0 runs as ``uid-a``."""
    rig = Rig()
    for key in (TFJOBS, PODS):
        rig.take(key, *rig.list_of(1))
    rig.watching(TFJOBS, PODS)
    rig.see(TFJOBS, job(2), type_="ADDED")
    rig.see(TFJOBS, job(3, "Created", "Running"))
    rig.see(PODS, pod("uid-a", 4), type_="ADDED")
    assert only_job()["at_least"] is False
    return rig


def goes_on(rig: Rig, *keys: StreamKey) -> None:
    """The watches are opened again from where they were, bring that nothing has changed, and time goes on."""
    for key in keys:
        rig.watching(key)
        rig.take(key, Bookmark(100))
    rig.now += TICK_SECONDS
    rig.take(keys[0])


def still_open(since: float) -> list[dict[str, str | None]]:
    return [{"start": rfc3339(since), "end": None}]
