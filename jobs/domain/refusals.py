"""Pods that could not be created, as the controllers' Events tell it, in the API server's own words.

An Event says that a creation failed up to a moment; a pod of that name that was created since shows that it has worked
meanwhile. Both are dated by the cluster, so no order of reading changes what stands. One Event counts on for as long as
the job lives, so what it said first is no measure of how long a pod has been missing.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from jobs.domain.conditions import FINISHED
from jobs.domain.creations import APART, created, replica_of
from jobs.domain.facts import DELETED, EventFacts, Observation
from jobs.domain.scaling import asked_again_at
from jobs.domain.state import STATE_LANE, Incarnation, JobState, Refusal, ReplicaKey

SAID = (  # reason, and how the message begins; the rest of it is the API server's
    ("FailedCreatePod", "Error creating: "),
    ("MPIJobFailed", "worker pod created failed: "),
    ("MPIJobFailed", "launcher pod created failed: "),
    ("FailedCreate", "Error creating pods: "),  # Volcano, in Go's own notation
)
FOLDED = "(combined from similar events): "
# Not refused: a pod of the name, of before or of another job, is not gone yet, or the controller's cache is old.
STILL_THERE = "already exists"
GO_MESSAGE = re.compile(r'Message:"((?:[^"\\]|\\.)*)')  # of the first of several errors; its end may be cut off
POD = re.compile(r'pods "([^"]{1,253})"')
KEPT = 32  # Events of one job: a real recorder lets 25 of an object through, and then 12 an hour


class Refused(NamedTuple):
    """A pod that does not exist because it was refused. ``replica`` None: which pod it is was not said."""

    replica: ReplicaKey | None
    words: str
    since: float  # since when it has been missing for that, on this site's clock
    event: str  # UID


def note_refusal(job: JobState, observation: Observation, facts: EventFacts) -> bool:
    """Keep what an Event says of a failed creation; whether it says anything new."""
    words = _words(facts)
    if words is None or observation.verb == DELETED:
        return False
    known = job.refusals.get(observation.name)
    named = POD.search(words)
    pod = named[1] if named else ""
    seen_at = known.seen_at if known is not None and known.pod == pod else observation.observed_at
    refusal = Refusal(pod, words, facts.last_at, seen_at, observation.uid)
    if refusal == known:
        return False
    job.refusals[observation.name] = refusal
    if len(job.refusals) > KEPT:
        del job.refusals[min(job.refusals, key=lambda name: job.refusals[name].last_at or 0.0)]
    return True


def _words(facts: EventFacts) -> str | None:
    message = (facts.message or "").removeprefix(FOLDED)
    for reason, prefix in SAID:
        if facts.reason == reason and message.startswith(prefix):
            words = message.removeprefix(prefix)
            shown = GO_MESSAGE.search(words) if reason == "FailedCreate" else None
            words = shown[1].replace('\\"', '"').replace("\\\\", "\\") if shown else words
            return None if words.endswith(STILL_THERE) or not words else words
    return None


def refused(job: JobState) -> list[Refused]:
    """The pods that are missing now because they were refused, the longest missing first. Nothing is known of that
    while nobody watches the job's pods."""
    if not job.refusals or not job.present or job.state in (*FINISHED, "Suspended") or "pods" in job.unwatched:
        return []
    by_pod: dict[str, list[Refusal]] = {}
    for refusal in job.refusals.values():
        by_pod.setdefault(refusal.pod, []).append(refusal)
    found = [one for pod, refusals in by_pod.items() if (one := _missing(job, pod, refusals)) is not None]
    return sorted(found, key=lambda one: (one.since, one.words))


def _missing(job: JobState, pod: str, refusals: Iterable[Refusal]) -> Refused | None:
    key = replica_of(job, pod)
    pods = _pods(job, key)
    standing = [one for one in refusals if _stands(one, pods)]
    if not standing or not _is_wanted(job, key) or any(not one.gone for one in pods if key is not None):
        return None
    worked = max((max(one.first_seen_at, _gone_at(one)) for one in pods), default=0.0)
    last = max(standing, key=lambda one: one.last_at or 0.0)
    since = max(worked, _asked_at(job, key), min(one.seen_at for one in standing))
    return Refused(key, last.words, since, last.uid)


def _stands(refusal: Refusal, pods: list[Incarnation]) -> bool:
    """Whether it came after the newest pod's creation. A refusal from before it may be dated some seconds later; so
    soon it is of a later pod only where this one was told to go before."""
    if refusal.last_at is None or not pods:
        return True
    newest = max(pods, key=created)
    if refusal.last_at > created(newest) + APART:
        return True
    return newest.deletion_at is not None and created(newest) < refusal.last_at >= newest.deletion_at


def _asked_at(job: JobState, key: ReplicaKey | None) -> float:
    """When the pod was last asked for anew, by a resume or by a larger number; 0.0 if it was from the beginning."""
    lane = job.spans.get(STATE_LANE, ())
    watched = max((span.end for span in lane if span.value == "Suspended" and span.end is not None), default=0.0)
    unwatched = min(max(job.resumed, default=0.0), job.seen_at or 0.0)
    raised = job.raised_at if key is None else asked_again_at(job, key)
    return max(watched, unwatched, raised or 0.0)


def _pods(job: JobState, key: ReplicaKey | None) -> list[Incarnation]:
    """The pods of a replica; those of all where it is not known which one is meant."""
    if key is None:
        return list(job.pods.values())
    replica = job.replicas.get(key)
    return replica.incarnations if replica is not None else []


def _is_wanted(job: JobState, key: ReplicaKey | None) -> bool:
    """Whether the spec asks for the replica still; where none is named, whether any is missing."""
    if job.facts is None:
        return True
    specs = {spec.type.lower(): spec.replicas for spec in job.facts.replicas}
    if key is not None:
        number = specs.get(key[0].lower())
        return number is None or key[1] < number
    there = {(pod.type, pod.index) for pod in job.pods.values() if not pod.gone}
    return len(there) < sum(number if number is not None else 1 for number in specs.values())


def _gone_at(pod: Incarnation) -> float:
    return pod.deleted_at or (pod.vanished[1] if pod.vanished else 0.0)
