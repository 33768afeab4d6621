"""The reducer's memory of one cluster: routes observations to jobs, drops what is known, collects what to store.

One writer per cluster owns a ledger. It loads jobs and objects from the store when an observation first names them, and
forgets jobs that are gone. After an error in an append it must be thrown away: memory would be ahead of the database.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.db.models import Max

from jobs import models
from jobs.domain.clock import occurred_at
from jobs.domain.facts import DELETED, VANISHED, EventFacts, Facts, JobFacts, Observation, PodFacts, PodGroupFacts
from jobs.domain.kinds import KINDS, PODGROUP_RESOURCES, kind_of
from jobs.domain.reducer import new_job, reduce
from jobs.domain.state import JobState
from jobs.store.codec import facts_text
from jobs.store.load import load_states
from jobs.store.sql import chunks, rows_in

GONE_JOBS_KEPT = 200  # jobs that are over and gone, kept in memory for late lines of theirs
WAITING_LIMIT = 10_000  # jobs and PodGroups that Events and PodGroups wait for
WAITING_EACH = 100  # how many wait for one of them

KIND_NAMES = frozenset(kind.kind for kind in KINDS)
UID_LIMIT = models.Job._meta.get_field("uid").max_length or 0
EVENT_KINDS = KIND_NAMES | {"PodGroup"}
ObjectKey = tuple[str, str]  # resource, uid

# Asked at every batch that holds something new, which is why they are written out.
JOB_TABLE, OBJECT_TABLE = models.Job._meta.db_table, models.KubeObject._meta.db_table
KNOWN_JOBS = f'SELECT "id", "uid" FROM "{JOB_TABLE}" WHERE "cluster_id" = %s AND "uid" IN '  # noqa: S608 - our names
KNOWN_OBJECTS = (
    f'SELECT o."id", o."uid", j."uid" FROM "{OBJECT_TABLE}" o JOIN "{JOB_TABLE}" j ON j."id" = o."job_id" '  # noqa: S608
    'WHERE o."cluster_id" = %s AND o."resource" = %s AND o."uid" IN '
)


@dataclass(slots=True)
class Known:
    """An object that was seen. ``facts`` is JSON text where it was read back from the store."""

    object_id: int
    version: int
    facts: Facts | str | None
    job: JobState


@dataclass(slots=True)
class NewRow:
    """An observation to be stored."""

    known: Known
    observation: Observation
    occurred_at: float | None


@dataclass(slots=True)
class NewObject:
    """An object to be stored, the anchor of its observations."""

    known: Known
    observation: Observation
    stream_id: int


@dataclass(slots=True)
class Counts:
    """What became of a batch's observations."""

    changed: int = 0
    unchanged: int = 0
    duplicate: int = 0
    homeless: dict[str, int] = field(default_factory=dict)  # reason -> pods and PodGroups that name no job


class Ledger:
    """See the module. ``cluster``: the row it writes for."""

    def __init__(self, cluster: models.Cluster) -> None:
        self.cluster = cluster
        self.jobs: dict[str, JobState] = {}
        self.job_ids: dict[str, int] = {}
        self.known: dict[ObjectKey, Known] = {}
        self.rows: list[NewRow] = []
        self.new_objects: list[NewObject] = []
        self.gone_objects: list[Known] = []
        self.touched: dict[str, JobState] = {}
        self.observed_until: float | None = cluster.observed_until
        self._keys_of: dict[str, list[ObjectKey]] = {}  # by job UID, what is known of its objects
        self._podgroup_jobs: dict[str, str] = {}
        self._waiting: OrderedDict[str, dict[ObjectKey, tuple[int, Observation]]] = OrderedDict()  # by the awaited UID
        self._gone_jobs: OrderedDict[str, None] = OrderedDict()

    def apply(self, stream_id: int, observations: Sequence[Observation]) -> Counts:
        """Reduce observations of one stream; what changed waits for :func:`jobs.store.append.append`.

        Call :meth:`look_up` first, with everything that is to be applied before the next append.
        """
        counts = Counts()
        for observation in observations:
            self._apply_one(stream_id, observation, counts)
        return counts

    def alive(self, at: float) -> None:
        """A stream was alive at ``at``."""
        if self.observed_until is None or at > self.observed_until:
            self.observed_until = at

    def observed(self, job_uids: Iterable[str], at: float) -> None:
        """A recording stops at ``at``: jobs that are still there were observed until then."""
        for uid in job_uids:
            job = self.job_of(uid)
            if job is not None and (job.present or job.pods_left):
                job.last_observed_at = max(at, job.last_observed_at or at)
                self.touched[uid] = job

    def job_of(self, job_uid: str) -> JobState | None:
        """The job of that UID, from memory or the store."""
        if job_uid not in self.jobs:
            self.load_jobs([job_uid])
        return self.jobs.get(job_uid)

    def missing(self, stream_id: int, seen: set[str], version: int, at: float) -> list[Observation]:
        """VANISHED observations for what a relist of the stream at ``at`` (list version ``version``) did not name."""
        rows = models.KubeObject.objects.filter(stream_id=stream_id, present=True)
        there = {row[0]: row for row in rows.values_list("uid", "resource", "namespace", "name")}
        for new in self.new_objects:  # what was read before the list, and is not stored yet
            if new.stream_id == stream_id:
                o = new.observation
                there[o.uid] = (o.uid, o.resource, o.namespace, o.name)
        for row in self.rows:
            if row.observation.verb in (DELETED, VANISHED):
                there.pop(row.observation.uid, None)
        return [
            Observation(VANISHED, resource, namespace, name, uid, version, at, None)
            for uid, resource, namespace, name in there.values()
            if uid not in seen
        ]

    def settle(self) -> None:
        """After a successful append: nothing waits any more, and jobs that are over may be forgotten."""
        self.rows.clear()
        self.new_objects.clear()
        self.gone_objects.clear()
        for uid, job in self.touched.items():
            if not job.present and not job.pods_left:
                self._gone_jobs[uid] = None
                self._gone_jobs.move_to_end(uid)
            else:
                self._gone_jobs.pop(uid, None)
        self.touched.clear()
        while len(self._gone_jobs) > GONE_JOBS_KEPT:
            self._forget(self._gone_jobs.popitem(last=False)[0])

    def _forget(self, job_uid: str) -> None:
        job = self.jobs.pop(job_uid, None)
        self.job_ids.pop(job_uid, None)
        if job is not None:
            self._podgroup_jobs.pop(job.podgroup_uid, None)
            for key in self._keys_of.pop(job_uid, ()):
                self.known.pop(key, None)

    def _apply_one(self, stream_id: int, observation: Observation, counts: Counts) -> None:
        key = (observation.resource, observation.uid)
        known = self.known.get(key)
        if known is not None:
            if observation.verb == VANISHED:  # a cluster that was set up anew counts its versions anew
                newer = max(observation.resource_version, known.version + 1)
                observation = observation._replace(resource_version=newer)
            if observation.resource_version <= known.version:
                counts.duplicate += 1
                return
            if _same(known, observation):
                known.version = observation.resource_version
                counts.unchanged += 1
                return
        job = known.job if known is not None else self._route(stream_id, observation, counts)
        if job is None:
            return
        if known is None:
            known = Known(0, observation.resource_version, observation.facts, job)
            self._know(key, known)
            self.new_objects.append(NewObject(known, observation, stream_id))
        gone = observation.verb in (DELETED, VANISHED)
        known.version, known.facts = observation.resource_version, None if gone else observation.facts
        self.rows.append(NewRow(known, observation, occurred_at(observation.facts)))
        counts.changed += 1
        if gone:
            self.gone_objects.append(known)
        self.touched[job.uid] = job
        reduce(job, observation)
        if isinstance(observation.facts, PodGroupFacts):
            self._podgroup_jobs[observation.uid] = job.uid
        self._release(observation.uid, counts)

    def _know(self, key: ObjectKey, known: Known) -> None:
        self.known[key] = known
        self._keys_of.setdefault(known.job.uid, []).append(key)

    def _route(self, stream_id: int, observation: Observation, counts: Counts) -> JobState | None:
        """The job that an observation belongs to; pods and jobs make one, Events and PodGroups wait for theirs."""
        uid, odd = _home(observation)
        if uid is None:
            counts.homeless[odd] = counts.homeless.get(odd, 0) + 1
            return None
        job = self.jobs.get(self._podgroup_jobs.get(uid, uid))
        if job is None and isinstance(observation.facts, PodFacts | JobFacts):
            job = self.jobs[uid] = new_job(self.cluster.name, uid, observation)
            self._release(uid, counts)
        elif job is None:
            self._wait(uid, stream_id, observation)
        return job

    def _wait(self, uid: str, stream_id: int, observation: Observation) -> None:
        """Keep the newest of each object: what is awaited may be no job of ours and never come."""
        waiting = self._waiting.setdefault(uid, {})
        waiting[observation.resource, observation.uid] = (stream_id, observation)
        if len(waiting) > WAITING_EACH:
            del waiting[next(iter(waiting))]
        if len(self._waiting) > WAITING_LIMIT:
            self._waiting.popitem(last=False)

    def _release(self, uid: str, counts: Counts) -> None:
        """Events and PodGroups that were read before what they are about."""
        for stream_id, observation in self._waiting.pop(uid, {}).values():
            self._apply_one(stream_id, observation, counts)

    def look_up(self, observations: Iterable[Observation]) -> None:
        """Read from the store what memory does not know, in one question for a whole batch of all streams."""
        jobs: set[str] = set()
        objects: dict[str, set[str]] = {}  # by resource
        for observation in observations:
            if (observation.resource, observation.uid) in self.known:
                continue
            home, _ = _home(observation)
            if home is not None or observation.facts is None:
                objects.setdefault(observation.resource, set()).add(observation.uid)
            if home is not None and home not in self.jobs and home not in self._podgroup_jobs:
                jobs.add(home)
                if isinstance(observation.facts, EventFacts) and observation.facts.involved_kind == "PodGroup":
                    for resource in PODGROUP_RESOURCES:  # its job is loaded with it
                        objects.setdefault(resource, set()).add(home)
        self.load_jobs(jobs)
        for resource, uids in objects.items():
            self._load_objects(resource, list(uids))

    def _load_objects(self, resource: str, uids: list[str]) -> None:
        for part in chunks(uids):
            found = {
                object_id: (uid, job_uid)
                for object_id, uid, job_uid in rows_in(KNOWN_OBJECTS, part, self.cluster.pk, resource)
            }
            if not found:
                continue
            self.load_jobs({job_uid for _, job_uid in found.values() if job_uid not in self.jobs})
            newest = models.Observation.objects.filter(object_id__in=found).values("object_id").annotate(last=Max("id"))
            last = models.Observation.objects.filter(id__in=[row["last"] for row in newest])
            for object_id, version, facts in last.values_list("object_id", "resource_version", "facts"):
                uid, job_uid = found[object_id]
                self._know((resource, uid), Known(object_id, version, facts, self.jobs[job_uid]))

    def load_jobs(self, uids: Iterable[str]) -> None:
        """Have these jobs in memory, as far as the store knows them."""
        for part in chunks(list(uids)):
            ids = dict(rows_in(KNOWN_JOBS, part, self.cluster.pk))
            for job_id, job in load_states(ids).items():
                job.cluster = self.cluster.name
                self.jobs[job.uid] = job
                self.job_ids[job.uid] = job_id
                if job.podgroup_uid:
                    self._podgroup_jobs[job.podgroup_uid] = job.uid


def _home(observation: Observation) -> tuple[str | None, str]:
    """The UID that an observation is about; or None and what is odd about it."""
    facts = observation.facts
    if isinstance(facts, EventFacts):
        about = facts.involved_uid if facts.involved_kind in EVENT_KINDS else None
        return about, "Event of another kind of object"
    if isinstance(facts, JobFacts):
        return observation.uid, ""
    if isinstance(facts, PodFacts | PodGroupFacts):
        api_version = facts.job_api_version if isinstance(facts, PodFacts) else None
        known = kind_of(api_version, facts.job_kind) if api_version else facts.job_kind in KIND_NAMES
        what = "pod" if isinstance(facts, PodFacts) else "PodGroup"
        if known and len(facts.job_uid or "") > UID_LIMIT:
            return None, f"{what} of an owner with too long a UID"
        return (facts.job_uid if known else None), f"{what} of another kind of owner"
    return None, "vanished before it was known"


def _same(known: Known, observation: Observation) -> bool:
    if observation.verb in (DELETED, VANISHED):
        return False
    if isinstance(known.facts, str):
        return known.facts == facts_text(observation.facts)
    return known.facts == observation.facts
