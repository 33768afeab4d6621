"""What a number, a phase or a finding of a job rests on: the objects and the moments at which they were seen.

A thing that can be asked about is named by a text: ``count``, ``replica:worker:0`` (``replica:worker:0:1`` with a job
index), ``restart:<pod UID>:<number>`` (number 0: recreated; n: its n-th restart in place), ``phase:<lane>:<number>``
(lanes ``state``, ``restarting``, ``podgroup``), ``ended``, ``finding:<code>``.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from jobs.domain.count import position_of
from jobs.domain.creations import replica_of
from jobs.domain.ending import ended
from jobs.domain.findings import findings
from jobs.domain.gang import first_cause
from jobs.domain.kinds import EVENTS, PLUGINS_PODGROUPS, PODS, VOLCANO_PODGROUPS
from jobs.domain.said import Said
from jobs.domain.state import PODGROUP_LANE, RESTARTING_LANE, STATE_LANE, Incarnation, JobState, Replica, ReplicaKey
from jobs.domain.stuck import job_resource
from jobs.domain.totals import job_numbers, proven_creations, replica_numbers

LANES = (STATE_LANE, RESTARTING_LANE, PODGROUP_LANE)


class UnknownEvidenceError(Exception):
    """Nothing of that name is known of the job; the text is a sentence for whoever asked."""


class Sight(NamedTuple):
    """An object and a moment: what shows it is the first observation of it from then on. ``at`` None: all of them.

    Events are known by their names, everything else by UID; without either, any of the job's objects of that resource
    (a job that is resumed gets a new PodGroup).
    """

    resource: str
    uid: str
    at: float | None
    name: str = ""


class Part(NamedTuple):
    """Something smaller that may be asked about in turn, and its value."""

    what: str
    value: int | str


@dataclass
class Rests:
    """``value``: what is shown: a count, a phase, a sentence."""

    value: int | str
    sights: list[Sight] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)


def rests_on(job: JobState, what: str, now: float) -> Rests:
    """Raises UnknownEvidenceError. ``now``: the last moment of which something is known of the job."""
    kind, _, rest = what.partition(":")
    readers: dict[str, Callable[[JobState, str, float], Rests]] = {
        "count": _count,
        "replica": _replica,
        "restart": _restart,
        "phase": _phase,
        "ended": _ended,
        "finding": _finding,
    }
    if kind not in readers:
        raise UnknownEvidenceError(f"`what` begins with one of {', '.join(readers)}.")
    return readers[kind](job, rest, now)


def replica_what(key: ReplicaKey) -> str:
    """The address's word for a replica: ``replica:worker:0``, and the job index behind it where there is one."""
    kind, index, job_index = key
    return f"replica:{kind}:{index}:{job_index}" if job_index else f"replica:{kind}:{index}"


def _count(job: JobState, _rest: str, _now: float) -> Rests:
    proven = proven_creations(job)
    parts: list[Part] = []
    sights: list[Sight] = []
    for key in sorted({**job.replicas, **dict.fromkeys(proven)}):
        replica = job.replicas.get(key) or Replica(key)
        true = replica_numbers(job, replica, proven.get(key, 0)).true
        if true:
            parts.append(Part(replica_what(key), true))
            sights.extend(_sights_of_replica(job, replica))
    return Rests(job_numbers(job).true, sights, parts)


def _replica(job: JobState, rest: str, _now: float) -> Rests:
    key = _replica_key(rest)
    proven = proven_creations(job)
    if key not in job.replicas and key not in proven:
        raise UnknownEvidenceError(f"The job has no replica {rest}.")
    replica = job.replicas.get(key) or Replica(key)
    parts = [Part(f"restart:{pod.uid}:{number}", _cause(pod, number)) for pod, number in _restarts_of(replica)]
    true = replica_numbers(job, replica, proven.get(key, 0)).true
    return Rests(true, list(_sights_of_replica(job, replica)), parts)


def _replica_key(rest: str) -> ReplicaKey:
    words = rest.rsplit(":", 2)
    if len(words) == 3 and words[1].isdecimal() and words[2].isdecimal():
        return words[0], int(words[1]), int(words[2])
    kind, _, index = rest.rpartition(":")
    if not kind or not index.isdecimal():
        raise UnknownEvidenceError("A replica is named as replica:<type>:<index>.")
    return kind, int(index), 0


def _restarts_of(replica: Replica) -> Iterator[tuple[Incarnation, int]]:
    for pod in replica.incarnations:
        for restart in pod.in_place:
            yield pod, restart.number
        if pod.counts:
            yield pod, 0


def _cause(pod: Incarnation, number: int) -> str:
    if number:
        code = next(restart.exit_code for restart in pod.in_place if restart.number == number)
        return "no exit code seen" if code is None else f"exit {code}"
    return pod.cause or ""


def _sights_of_replica(job: JobState, replica: Replica) -> Iterator[Sight]:
    for pod, number in _restarts_of(replica):
        yield from _sights_of_restart(job, replica, pod, number)
    for name, creations in job.creations.items():
        if replica_of(job, creations.pod) == replica.key:
            yield Sight(EVENTS, "", None, name)


def _restart(job: JobState, rest: str, _now: float) -> Rests:
    uid, _, number = rest.rpartition(":")
    pod = job.pods.get(uid)
    known = {0} if pod is not None and pod.followed else set()
    if pod is not None:
        known |= {restart.number for restart in pod.in_place}
    if pod is None or not number.isdecimal() or int(number) not in known:
        raise UnknownEvidenceError("The job has no such restart; it is named as restart:<pod UID>:<number>.")
    replica = job.replicas[pod.type, pod.index, pod.job_index]
    return Rests(_cause(pod, int(number)), list(_sights_of_restart(job, replica, pod, int(number))))


def _sights_of_restart(job: JobState, replica: Replica, pod: Incarnation, number: int) -> Iterator[Sight]:
    if number:
        restart = next(restart for restart in pod.in_place if restart.number == number)
        moments = [at for at in (restart.ended_at, restart.running_at) if at is not None]
        yield from _sights(pod, moments or [None])
        return
    gone = pod.vanished[1] if pod.vanished else None
    yield from _sights(pod, (pod.first_seen_at, pod.ended_at, pod.deleting_at, pod.deleted_at, gone))
    position = position_of(replica, pod)
    successor = replica.incarnations[position + 1]
    yield from _sights(successor, (successor.first_seen_at, successor.running_at))
    first = first_cause(job, pod)
    if first is not pod:
        yield from _sights(first, (first.ended_at, first.deleting_at))


def _sights(pod: Incarnation, moments: Iterable[float | None]) -> Iterator[Sight]:
    moments = list(moments)
    for at in moments if moments == [None] else [at for at in moments if at is not None]:
        yield Sight(PODS, pod.uid, at)


def _phase(job: JobState, rest: str, _now: float) -> Rests:
    lane, _, number = rest.partition(":")
    spans = job.spans.get(lane, ()) if lane in LANES else ()
    span = next((span for span in spans if str(span.number) == number), None)
    if span is None:
        raise UnknownEvidenceError(f"There is no such phase; a lane is one of {', '.join(LANES)}.")
    # Which kind of PodGroup a job had is not said any more once it is gone.
    groups = ((VOLCANO_PODGROUPS, ""), (PLUGINS_PODGROUPS, ""))
    objects = groups if lane == PODGROUP_LANE else ((job_resource(job), job.uid),)
    moments = [at for at in (span.start, span.end) if at is not None]
    return Rests(span.value, [Sight(*one, at) for one in objects for at in moments])


def _ended(job: JobState, _rest: str, _now: float) -> Rests:
    said = ended(job)
    if said is None:
        raise UnknownEvidenceError("The job is not over.")
    return _said([said])


def _finding(job: JobState, code: str, now: float) -> Rests:
    found = [one for one in findings(job, now) if one.code == code]
    if not found:
        raise UnknownEvidenceError("The job has no such finding.")
    return _said(found)


def _said(told: Iterable[Said]) -> Rests:
    told = list(told)
    sights = [Sight(one.resource, one.uid, one.at) for said in told for one in said.evidence]
    return Rests(" ".join(said.sentence for said in told), sights)
