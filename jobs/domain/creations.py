"""Creations that Events prove: a lower bound where nobody watched (restart facts, sections 6 and 7).

An Event counts the creations of one pod name up to a moment; the pods that were seen count those after it. The two
together are a bound that no order of reading changes, because both are dated by the cluster.
"""

from bisect import bisect_left

from jobs.domain.facts import DELETED, EventFacts, JobFacts, Observation
from jobs.domain.state import Creations, Incarnation, JobState, Replica, ReplicaKey

SAID = (  # reason, and how the message begins; the rest of it is the pod's name
    ("SuccessfulCreatePod", "Created pod: "),
    ("SuccessfulCreatePod", "Created worker pod: "),  # MPIJob
    ("MPIJobRunning", "launcher pod created success: "),
)
# Both clocks tell whole seconds and may differ: a pod was surely created after an Event that is so many seconds older.
APART = 5.0
NAMES_KEPT = 256  # Events kept of one job: a real recorder lets 25 of an object through, and then 12 an hour
STEPS_KEPT = 8  # what one Event said, at different times
INDEX_DIGITS = 9


def note_creations(job: JobState, observation: Observation, facts: EventFacts) -> ReplicaKey | None:
    """Keep what an Event says of creations; answers the replica whose bound may have risen.

    The Event's name is the key: it is created anew under another UID when it has expired, and counts on. An Event of
    another name counts creations of its own. Dropping any of this lowers the bound and never raises it.
    """
    pod = _created_pod(facts)
    if pod is None or observation.verb == DELETED:
        return None
    known = job.creations.get(observation.name)
    if known is None:
        if len(job.creations) >= NAMES_KEPT:
            return None
        job.creations[observation.name] = Creations(pod, facts.count, facts.last_at)
    elif known.pod != pod or facts.count <= known.count:
        return None
    else:
        known.earlier.append((known.count, known.last_at))
        if len(known.earlier) > STEPS_KEPT:
            del known.earlier[1]  # the first one is what a list held: before it, nobody watched
        known.count, known.last_at = facts.count, facts.last_at
    return replica_of(job, pod)


def _created_pod(facts: EventFacts) -> str | None:
    message = facts.message or ""
    for reason, prefix in SAID:
        if facts.reason == reason and message.startswith(prefix):
            return message.removeprefix(prefix)
    return None


def replica_of(job: JobState, pod: str) -> ReplicaKey | None:
    """``tftest-worker-0`` of job ``tftest``: worker 0. The launcher of an MPIJob has no index."""
    rest = pod.removeprefix(job.name + "-")
    kind, _, index = rest.rpartition("-")
    if rest == pod:
        return None
    if kind and index.isascii() and index.isdecimal() and len(index) <= INDEX_DIGITS:
        return kind, int(index), 0
    return (rest, 0, 0) if rest == "launcher" else None


def proven_creations(job: JobState, only: ReplicaKey | None = None) -> dict[ReplicaKey, int]:
    """Creations by replica that Events prove, together with the pods seen after them; of one replica or of all.

    Empty where suspension or scaling may explain some: only a job whose spec was never changed is looked at, and none
    whose last spec nobody saw.
    """
    if job.vanished or job.facts is None or job.facts.generation is None or spec_changes(job.facts) != 0:
        return {}
    said: dict[ReplicaKey, list[Creations]] = {}
    for creation in job.creations.values():
        key = replica_of(job, creation.pod)
        if key is not None and only in (None, key):
            said.setdefault(key, []).append(creation)
    nothing = Replica(("", 0, 0))
    return {key: _at_least(those, job.replicas.get(key, nothing).incarnations) for key, those in said.items()}


def spec_changes(facts: JobFacts) -> int:
    """How often the spec was changed. Marking a job for deletion raises its generation too, by one."""
    return (facts.generation or 1) - 1 - (facts.deletion_at is not None)


def _at_least(said: list[Creations], pods: list[Incarnation]) -> int:
    """The best bound: for some moment, what Events count before it and the pods created after it."""
    steps = [
        (float("inf") if at is None else at, number, count)
        for number, one in enumerate(said)
        for count, at in (*one.earlier, (one.count, one.last_at))
    ]
    best = before = 0
    counted = [0] * len(said)
    for at, number, count in sorted(steps):
        if count > counted[number]:
            before += count - counted[number]
            counted[number] = count
        after = len(pods) - bisect_left(pods, at + APART, key=created)
        best = max(best, before + after)
    return best


def created(pod: Incarnation) -> float:
    """When a pod was created, in the cluster's whole seconds; when it was first seen where it does not say."""
    return pod.created_at if pod.created_at is not None else pod.first_seen_at
