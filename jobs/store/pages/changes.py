"""What was written since a sequence number, for the event streams."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db.models import BooleanField, Case, Count, Value, When

from jobs.domain.count import put_incarnations
from jobs.domain.creations import proven_creations, replica_of
from jobs.domain.state import JobState, ReplicaKey
from jobs.domain.totals import incomplete
from jobs.models import Incarnation, Job, Restart, Sequence, Span
from jobs.store.codec import incarnation_from, job_from
from jobs.store.pages.jobs import listed
from jobs.store.pages.timeline import any_of


def last_sequence() -> int:
    """The number of the last append; 0 before the first."""
    return Sequence.objects.filter(id=1).values_list("value", flat=True).first() or 0


@dataclass
class JobChanges:
    """What was written of one job since a sequence number."""

    job: Job
    incarnations: list[Incarnation] = field(default_factory=list)
    restarts: list[Restart] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)


class TooMuchError(Exception):
    """More rows changed than a stream should tell; the page had better be loaded anew."""


def changed_jobs(since: int, limit: int) -> list[Job]:
    """Jobs written after ``since``, without their records. Raises TooMuchError beyond ``limit``."""
    rows = list(listed(Job.objects.filter(seq__gt=since)).order_by("seq", "id")[: limit + 1])
    if len(rows) > limit:
        raise TooMuchError
    return rows


def job_changes(job_id: int, since: int, limit: int) -> JobChanges | None:
    """Everything of one job written after ``since``; None if the job is gone. Raises TooMuchError beyond ``limit``."""
    job = Job.objects.filter(id=job_id).select_related("cluster").first()
    if job is None:
        return None
    changes = JobChanges(job)
    if job.seq <= since:
        return changes
    rows: Any
    for model, rows in ((Incarnation, changes.incarnations), (Restart, changes.restarts), (Span, changes.spans)):
        rows.extend(model.objects.filter(job_id=job_id, seq__gt=since).order_by("id")[: limit + 1])
        if len(rows) > limit:
            raise TooMuchError
    return changes


class RestartSum(NamedTuple):
    """So many restarts of one replica that ended alike."""

    key: ReplicaKey
    in_place: bool
    exit_code: int | None
    cause_code: str
    cause: str
    times: int


def restart_sums(job_id: int, keys: Iterable[ReplicaKey] | None = None) -> list[RestartSum]:
    """The restarts that count of some replicas, or of all (None), summed by replica and end, in the replicas' order."""
    in_place = Case(When(number__gt=0, then=Value(True)), default=Value(False), output_field=BooleanField())
    chosen = Restart.objects.filter(job_id=job_id, counts=True)
    if keys is not None:
        chosen = chosen.filter(any_of(keys))
    rows = (
        chosen.annotate(in_place=in_place)
        .values_list("replica_type", "replica_index", "job_index", "in_place", "exit_code", "cause_code", "cause")
        .annotate(times=Count("id"))
        .order_by("replica_type", "replica_index", "job_index")
    )
    return [RestartSum((kind, index, job_index), *rest) for kind, index, job_index, *rest in rows]


def proven(job_id: int, job: JobState) -> dict[ReplicaKey, int]:
    """Creations that Events prove, where they matter: something was missed. Loads the replicas that they speak of."""
    if not incomplete(job) or not job.creations:
        return {}
    state = job_from(Job.objects.values_list("record", flat=True).get(id=job_id))
    keys = {key for one in job.creations.values() if (key := replica_of(job, one.pod)) is not None}
    rows = Incarnation.objects.filter(any_of(keys), job_id=job_id).order_by("id")
    put_incarnations(state, map(incarnation_from, rows.values_list("record", flat=True)))
    return proven_creations(state)
