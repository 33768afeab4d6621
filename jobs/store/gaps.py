"""What nobody watches, or watched: marked in the jobs of a ledger that it concerns.

Only pods and the jobs themselves enter the count; what is said of Events and PodGroups here changes nothing.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from django.db.models import Q

from jobs import models
from jobs.domain import reducer
from jobs.domain.kinds import BY_RESOURCE, PODS, kind_of
from jobs.domain.state import JobState
from jobs.store.ledger import Ledger


class Gap(NamedTuple):
    """Nobody watched ``resource`` from ``since`` on (None: ever before), for the jobs that it ``concerns``."""

    resource: str
    since: float | None
    concerns: Callable[[JobState], bool]


def enters_the_count(resource: str) -> bool:
    """Whether the numbers of a job rest on this resource."""
    return resource == PODS or resource in BY_RESOURCE


def unobserved(ledger: Ledger, gap: Gap, end: float) -> None:
    """Nobody watched until ``end``."""
    _load(ledger, gap, Q(present=True))
    for job in _concerned(gap, ledger.jobs.values()):
        began = _began(job, end)
        if began >= end or _untouched(job, gap):
            continue
        reducer.unobserved(job, began if gap.since is None else max(gap.since, began), end, _told_as(gap))
        _touch(ledger, job)


def not_watched(ledger: Ledger, gap: Gap, now: float) -> None:
    """Nobody watches, still."""
    _load(ledger, gap, _not_over(gap))
    _not_watched(ledger, ledger.jobs.values(), gap, now)


def still_not_watched(ledger: Ledger, gap: Gap, now: float) -> None:
    """The same for what has come since: the jobs that wait for the next append."""
    _not_watched(ledger, list(ledger.touched.values()), gap, now)


def watched_again(ledger: Ledger, gap: Gap) -> None:
    """It is watched again. What was missed, if the watch does not go on from where it ended, is another question."""
    left = Q(present=True) | Q(deleted_at__gte=gap.since or 0.0) | Q(last_observed_at__gte=gap.since or 0.0)
    _load(ledger, gap, left & Q(at_least=True))
    for job in _concerned(gap, ledger.jobs.values()):
        if reducer.watched_again(job, _told_as(gap)):
            _touch(ledger, job)


def read_late(ledger: Ledger, gap: Gap, now: float) -> None:
    """A watch goes on from where it was, and brings at ``now`` what happened since."""
    if gap.since is None:
        return
    _load(ledger, gap, _not_over(gap))
    for job in _unfinished(gap, ledger.jobs.values()):
        reducer.read_late(job, max(gap.since, _began(job, now)), now)
        _touch(ledger, job)


def _not_watched(ledger: Ledger, jobs: Iterable[JobState], gap: Gap, now: float) -> None:
    for job in _unfinished(gap, jobs):
        reducer.not_watched(job, max(gap.since or 0.0, _began(job, now)), _told_as(gap))
        _touch(ledger, job)


def _not_over(gap: Gap) -> Q:
    """A job that had finished before restarts no more, and most that are kept have."""
    return Q(present=True) & (Q(finished_at=None) | Q(finished_at__gte=gap.since or 0.0))


def _unfinished(gap: Gap, jobs: Iterable[JobState]) -> Iterator[JobState]:
    """The same of those in memory, as far as the gap concerns them."""
    for job in _concerned(gap, jobs):
        if job.finished_at is None or job.finished_at >= (gap.since or 0.0):
            yield job


def _load(ledger: Ledger, gap: Gap, wanted: Q) -> None:
    """Have the ``wanted`` jobs in memory, as far as their numbers rest on what was not watched."""
    if not enters_the_count(gap.resource):
        return
    if gap.resource != PODS:  # most clusters lack some kinds: nothing is read for them
        wanted &= Q(kind=BY_RESOURCE[gap.resource].kind)
    uids = models.Job.objects.filter(wanted, cluster=ledger.cluster).values_list("uid", flat=True)
    ledger.load_jobs([uid for uid in uids if uid not in ledger.jobs])


def _touch(ledger: Ledger, job: JobState) -> None:
    if job.changes.job:
        ledger.touched[job.uid] = job


def _concerned(gap: Gap, jobs: Iterable[JobState]) -> Iterator[JobState]:
    """The jobs whose numbers rest on what was not watched."""
    if not enters_the_count(gap.resource):
        return
    wanted = "" if gap.resource == PODS else BY_RESOURCE[gap.resource].kind
    for job in jobs:
        if wanted and (job.kind != wanted or not _is_of(job, gap.resource)):
            continue
        if gap.concerns(job):
            yield job


def _is_of(job: JobState, resource: str) -> bool:
    kind = kind_of(job.api_version, job.kind)
    return kind is not None and kind.resource == resource


def _told_as(gap: Gap) -> str:
    return "pods" if gap.resource == PODS else "jobs"


def _began(job: JobState, default: float) -> float:
    """Two clocks: a cluster's that is ahead of ours must not make a job begin after we saw it."""
    return min((at for at in (job.created_at, job.first_observed_at) if at is not None), default=default)


def _untouched(job: JobState, gap: Gap) -> bool:
    """Whether no controller had looked at the job when watching began, or began again: then nothing was missed.

    Begins again: only the job's own list says how it is now; what was known before the gap may be long over.
    """
    if job.facts is None or job.facts.conditions or job.facts.phase is not None:
        return False
    if job.pods or job.creations or job.refusals:  # a controller that cannot write the status creates pods all the same
        return False
    return gap.since is None or (gap.resource != PODS and job.seen_at is not None and job.seen_at > gap.since)
