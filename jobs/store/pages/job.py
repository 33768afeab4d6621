"""The page of one job."""

from typing import NamedTuple

from django.db.models import F, Window
from django.db.models.functions import RowNumber

from jobs.models import Job, KubeObject, LogTail, Observation, Restart, Span
from jobs.store.pages.jobs import listed


def job_by_uid(uid: str, cluster: str = "") -> Job | None:
    """The job with this UID; the newest where several clusters (replays, say) have it."""
    rows = Job.objects.filter(uid=uid).select_related("cluster").defer("record")
    if cluster:
        rows = rows.filter(cluster__name=cluster)
    return rows.order_by("-id").first()


def jobs_of_name(cluster: str, namespace: str, kind: str, name: str, limit: int = 50) -> list[Job]:
    """All jobs that had this name, newest first."""
    rows = Job.objects.filter(cluster__name=cluster, namespace=namespace, kind=kind, name=name)
    return list(listed(rows).order_by(F("created_at").desc(nulls_last=True), "-id")[:limit])


def job_restarts(job_id: int, limit: int | None = None) -> list[Restart]:
    """The job's restarts, newest first; those of which only the count is known come last."""
    rows = Restart.objects.filter(job_id=job_id).order_by(F("at").desc(nulls_last=True), "-id")
    return list(rows[:limit] if limit else rows)


def job_spans(job_id: int) -> list[Span]:
    return list(Span.objects.filter(job_id=job_id).order_by("lane", "number"))


class EventRow(NamedTuple):
    facts: str  # JSON
    observed_at: float


def job_events(job_id: int, limit: int = 500) -> list[EventRow]:
    """The newest observation of each Event about the job or its PodGroup, newest first."""
    newest = (
        Observation.objects.filter(object__job_id=job_id, object__resource="events")
        .exclude(verb__in=("DELETED", "VANISHED"))
        .annotate(rank=Window(RowNumber(), partition_by="object_id", order_by="-resource_version"))
        .filter(rank=1)
        .order_by("-observed_at")
        .values_list("facts", "observed_at")
    )
    return [EventRow(*row) for row in newest[:limit]]


def job_observations(
    job_id: int, object_uid: str = "", before: int | None = None, limit: int = 100
) -> tuple[list[Observation], int | None]:
    """Observations of the job's objects, newest first, and the id where older ones begin (None: there are none)."""
    rows = Observation.objects.filter(object__job_id=job_id).select_related("object")
    if object_uid:
        rows = rows.filter(object__uid=object_uid)
    if before is not None:
        rows = rows.filter(id__lt=before)
    found = list(rows.order_by("-id")[: limit + 1])
    return found[:limit], found[limit - 1].id if len(found) > limit else None


def job_object(job_id: int, uid: str) -> KubeObject | None:
    return KubeObject.objects.filter(job_id=job_id, uid=uid).first()


def job_logs(job_id: int, limit: int = 100) -> list[LogTail]:
    """The kept ends of logs, newest first."""
    return list(LogTail.objects.filter(job_id=job_id).order_by("-id")[:limit])
