"""Whole-gang restarts: which pod failed first, and which were only taken along (restart facts, section 9).

Some controllers answer the failure of one replica by deleting and recreating all. The pods are one stream, so their
order is the server's: the first that shows a failure, or a deletion, is the first cause until a successor appears.
"""

from jobs.domain.causes import deleted_between_runs, final_end, settle_cause
from jobs.domain.state import Incarnation, JobState
from jobs.domain.thresholds import TAKEN_ALONG

HARMLESS = ("completed", "deleted", "gang")  # ends that are no failure of the pod itself


def note_new_pod(job: JobState, pod: Incarnation) -> None:
    """A successor shows that the restart under way has taken along what it takes along."""
    if len(job.replicas[pod.type, pod.index, pod.job_index].incarnations) > 1:
        job.failing = ""


def note_end(job: JobState, pod: Incarnation) -> Incarnation | None:
    """Note the part of an ending pod, whose own cause is settled. Answers another pod whose cause changed by it."""
    if not pod.with_gang or pod.taken_by:
        return None
    code = pod.cause_code
    if code is None:
        return None
    first = job.pods.get(job.failing)
    if first is None:
        if code != "completed" and not pod.followed:
            job.failing = pod.uid
    elif first is not pod and (code in HARMLESS or deleted_between_runs(pod)):
        if pod.deleting_at is not None and _asked(pod, pod.deleting_at) - _noticed(first) <= TAKEN_ALONG:
            pod.taken_by = first.uid
            settle_cause(pod)
    elif first is not pod and _failed_before_deletion(pod, first):
        job.failing, first.taken_by = pod.uid, pod.uid
        settle_cause(first)
        return first
    return None


def _asked(pod: Incarnation, seen: float) -> float:
    """When a pod was told to go: in a list it is ``seen`` later, and what failed first may be dated before that."""
    return seen if pod.deletion_at is None else min(seen, pod.deletion_at)


def _noticed(first: Incarnation) -> float:
    """When the first pod's failure or deletion was seen."""
    signs = [at for at in (first.ended_at, first.deleting_at, first.deleted_at) if at is not None]
    return min(signs, default=first.last_seen_at)


def _failed_before_deletion(pod: Incarnation, first: Incarnation) -> bool:
    """Whether ``pod`` had failed before ``first`` was deleted, which was seen in the other order (in a list)."""
    end = final_end(pod)
    if not first.deleted_first or first.deletion_at is None or end is None or end.at is None:
        return False
    return end.at < first.deletion_at


def first_cause(job: JobState, pod: Incarnation) -> Incarnation:
    """The pod whose failure took ``pod`` along; ``pod`` itself where none did."""
    seen = {pod.uid}
    while pod.taken_by and pod.taken_by in job.pods and pod.taken_by not in seen:
        pod = job.pods[pod.taken_by]
        seen.add(pod.uid)
    return pod
