"""What a job can be found by besides its own columns: how its runs ended, and what its spec says.

A run counts here when its end was a restart or the reason of the job's failure. What the clean-up after a job's end or
deletion does to pods (143, 137) is in neither.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from jobs.domain.causes import final_end, in_place_cause, last_code
from jobs.domain.ending import deciding_pod
from jobs.domain.facts import JobFacts
from jobs.domain.state import Incarnation, InPlace, JobState

VALUES = 200  # of one field of one job; there are jobs that restart on every node of a cluster
LENGTH = 200  # characters of one value

RestartKey = tuple[str, int]  # pod UID, number (0: recreated)


class EndMark(NamedTuple):
    """How one run ended, as far as lists are narrowed by it."""

    code: int | None
    cause_code: str
    reason: str
    node: str


@dataclass(slots=True)
class Marks:
    """The ends of a job that were restarts, kept up to date restart by restart. ``counts``: how often each occurred."""

    ends: dict[RestartKey, EndMark] = field(default_factory=dict)
    counts: dict[EndMark, int] = field(default_factory=dict)


class Failure(NamedTuple):
    """The end that failed a job."""

    pod: Incarnation
    at: float | None
    code: int | None
    cause_code: str
    reason: str


def note_changes(job: JobState, marks: Marks) -> bool:
    """Bring ``marks`` up to date with the restarts that ``job.changes`` names; True if something is different."""
    changed = False
    for pod, _ in job.changes.recreations.values():
        changed |= _put(marks, (pod.uid, 0), _recreation(pod) if pod.counts else None)
    for pod, restart in job.changes.in_place.values():
        changed |= _put(marks, (pod.uid, restart.number), _in_place(pod, restart))
    return changed


def all_marks(job: JobState) -> Marks:
    """The same from scratch."""
    marks = Marks()
    for pod in job.pods.values():
        if pod.counts:
            _put(marks, (pod.uid, 0), _recreation(pod))
        for restart in pod.in_place:
            _put(marks, (pod.uid, restart.number), _in_place(pod, restart))
    return marks


def _put(marks: Marks, key: RestartKey, end: EndMark | None) -> bool:
    before = marks.ends.get(key)
    if before == end:
        return False
    if before is not None:
        marks.counts[before] -= 1
        if not marks.counts[before]:
            del marks.counts[before]
    if end is None:
        del marks.ends[key]
    else:
        marks.ends[key] = end
        marks.counts[end] = marks.counts.get(end, 0) + 1
    return True


def _recreation(pod: Incarnation) -> EndMark:
    return EndMark(last_code(pod), pod.cause_code or "unknown", end_reason(pod), pod.node or "")


def _in_place(pod: Incarnation, restart: InPlace) -> EndMark:
    return EndMark(restart.exit_code, in_place_cause(restart)[0], restart.reason or "", pod.node or "")


def end_reason(pod: Incarnation) -> str:
    """The reason of the main container's last end, else the pod's own."""
    return (pod.ends[-1].reason if pod.ends else None) or pod.status_reason or ""


def failure(job: JobState) -> Failure | None:
    """The end that failed the job; None while it has not failed, and where no single end did (a deadline, say)."""
    pod = deciding_pod(job)
    if pod is None:
        return None
    end = final_end(pod)
    at = pod.ended_at if pod.ended_at is not None else job.finished_at
    return Failure(pod, at, end.exit_code if end else None, pod.cause_code or "unknown", end_reason(pod))


def search_values(job: JobState, marks: Marks, failed: Failure | None) -> dict[str, list[str | int]]:
    """By field, what the job is found by: ``exit cause reason node policy image queue priority owner label``."""
    ends = list(marks.counts)
    if failed is not None:
        ends.append(EndMark(failed.code, failed.cause_code, failed.reason, failed.pod.node or ""))
    codes = sorted({end.code for end in ends if end.code is not None})
    found: dict[str, list[str | int]] = {"exit": list(codes[:VALUES])}
    found["cause"] = _values(end.cause_code for end in ends)
    found["reason"] = _values(end.reason for end in ends)
    found["node"] = _values(end.node for end in ends)
    if job.facts is not None:
        found |= {name: _values(values) for name, values in _spec(job, job.facts)}
    return {name: values for name, values in found.items() if values}


def spec_read(job: JobState) -> tuple[object, ...]:
    """What :func:`search_values` reads of the spec: the rest of a job's facts changes far more often."""
    facts, group = job.facts, job.podgroup
    own = (
        (facts.replicas, facts.labels, facts.queue, facts.priority_class, facts.owner_kind, facts.owner_name)
        if facts is not None
        else ()
    )
    return (*own, group.queue, group.priority_class) if group is not None else own


def _spec(job: JobState, facts: JobFacts) -> Iterator[tuple[str, Iterable[str | None]]]:
    group = job.podgroup
    yield "policy", (spec.restart_policy for spec in facts.replicas)
    yield "image", (spec.image for spec in facts.replicas)
    yield "queue", (facts.queue or (group.queue if group else None),)
    yield "priority", (facts.priority_class or (group.priority_class if group else None),)
    yield "owner", (f"{facts.owner_kind}/{facts.owner_name}" if facts.owner_name else None,)
    yield "label", (f"{name}={value}" for name, value in facts.labels)


def _values(values: Iterable[str | None]) -> list[str | int]:
    return list(sorted({value[:LENGTH] for value in values if value})[:VALUES])
