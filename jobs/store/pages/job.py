"""The page of one job."""

from typing import NamedTuple

import msgspec
from django.db.models import F, Q, Window
from django.db.models.functions import RowNumber

from jobs.domain import facts
from jobs.domain.kinds import PODGROUP_RESOURCES, PODS
from jobs.models import Incarnation, Job, KubeObject, LogTail, Observation, Restart
from jobs.store.codec import facts_from
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


def job_restarts(job_id: int, limit: int) -> list[Restart]:
    """The newest restarts that count; those of which only the count is known come last."""
    rows = Restart.objects.filter(job_id=job_id, counts=True).order_by(F("at").desc(nulls_last=True), "-id")
    return list(rows[:limit])


def first_restart(job_id: int) -> Restart | None:
    """The oldest restart that counts and whose time is known."""
    rows = Restart.objects.filter(job_id=job_id, counts=True, at__isnull=False)
    return rows.order_by("at", "id").first()


def restart_count(job_id: int) -> int:
    """The rows of restarts that count: those whose end was seen, and those of which only the number is known."""
    return Restart.objects.filter(job_id=job_id, counts=True).count()


def pods_of(job_id: int, limit: int) -> int:
    """How many pods the job has had; ``limit`` where there are more."""
    return Incarnation.objects.filter(job_id=job_id)[:limit].count()


class EventRow(NamedTuple):
    """What is kept of a cluster's Event."""

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
    job_id: int, object_uid: str = "", before: int | None = None, until: float | None = None, limit: int = 100
) -> tuple[list[Observation], int | None]:
    """Observations of the job's objects, newest first, and the id where older ones begin (None: there are none)."""
    rows = Observation.objects.filter(object__job_id=job_id).select_related("object")
    if object_uid:
        rows = rows.filter(object__uid=object_uid)
    if before is not None:
        rows = rows.filter(id__lt=before)
    if until is not None:
        rows = rows.filter(observed_at__lte=until)
    found = list(rows.order_by("-id")[: limit + 1])
    return found[:limit], found[limit - 1].id if len(found) > limit else None


def job_object(job_id: int, uid: str) -> KubeObject | None:
    """The object with this UID, if it is one of the job's."""
    return KubeObject.objects.filter(job_id=job_id, uid=uid).first()


def job_logs(job_id: int, limit: int = 100) -> list[LogTail]:
    """The kept ends of logs, newest first."""
    return list(LogTail.objects.filter(job_id=job_id).order_by("-id")[:limit])


def written_resources(job_id: int) -> list[str]:
    """The resources of which objects of this job are kept, Events apart."""
    rows = KubeObject.objects.filter(job_id=job_id).exclude(resource="events")
    return sorted(rows.values_list("resource", flat=True).distinct())


def job_writes(job_id: int, resource: str, until: float | None, limit: int) -> tuple[list[facts.Observation], bool]:
    """The newest writes of one resource that were seen until then, oldest first, and whether there were older ones."""
    rows = Observation.objects.filter(object__job_id=job_id, object__resource=resource).select_related("object")
    if until is not None:
        rows = rows.filter(observed_at__lte=until)
    found = list(rows.order_by("-id")[: limit + 1])
    kind = _facts_of(resource)
    return [_write(row, resource, kind) for row in reversed(found[:limit])], len(found) > limit


def neighbouring_writes(job_id: int, at: float) -> tuple[float | None, float | None]:
    """When the last write before a moment and the first one after it were seen, Events apart."""
    rows = Observation.objects.filter(object__job_id=job_id).exclude(Q(object__resource="events"))
    before = rows.filter(observed_at__lt=at).order_by("-observed_at").values_list("observed_at", flat=True).first()
    after = rows.filter(observed_at__gt=at).order_by("observed_at").values_list("observed_at", flat=True).first()
    return before, after


def _facts_of(resource: str) -> type:
    if resource == PODS:
        return facts.PodFacts
    return facts.PodGroupFacts if resource in PODGROUP_RESOURCES else facts.JobFacts


def _write(row: Observation, resource: str, kind: type) -> facts.Observation:
    values = None if row.verb == facts.VANISHED else facts_from(kind, msgspec.json.decode(row.facts))
    seen = row.object
    return facts.Observation(
        row.verb, resource, seen.namespace, seen.name, seen.uid, row.resource_version, row.observed_at, values
    )
