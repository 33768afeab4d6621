"""Bring jobs back from their rows."""

from collections.abc import Iterable, Sequence

from jobs import models
from jobs.domain.count import add_incarnation
from jobs.domain.state import JobState, Span
from jobs.store.codec import incarnation_from, job_from
from jobs.store.sql import chunks


def load_state(job_id: int) -> JobState:
    """The whole state of one job. Raises ``models.Job.DoesNotExist``."""
    found = load_states([job_id])
    if job_id not in found:
        raise models.Job.DoesNotExist(f"no job {job_id}")
    return found[job_id]


def load_states(job_ids: Iterable[int]) -> dict[int, JobState]:
    """The states of jobs by id; ids without a row are left out."""
    found: dict[int, JobState] = {}
    for ids in chunks(list(job_ids)):
        for job_id, record in models.Job.objects.filter(id__in=ids).values_list("id", "record"):
            found[job_id] = job_from(record)
        _load_incarnations(found, ids)
        _load_spans(found, ids)
    return found


def _load_incarnations(found: dict[int, JobState], ids: Sequence[int]) -> None:
    rows = models.Incarnation.objects.filter(job_id__in=ids).order_by("id").values_list("job_id", "record")
    for job_id, record in rows.iterator(chunk_size=2000):
        pod = incarnation_from(record)
        job = found[job_id]
        job.pods_left += not pod.gone
        replica = add_incarnation(job, pod)
        replica.recreations += pod.counts
        replica.in_place += pod.restarts
        replica.init_restarts += pod.init_restarts
        replica.sidecar_restarts += pod.sidecar_restarts


def _load_spans(found: dict[int, JobState], ids: Sequence[int]) -> None:
    rows = models.Span.objects.filter(job_id__in=ids).order_by("job_id", "lane", "number")
    columns = ("job_id", "lane", "number", "value", "start", "end", "detail")
    for job_id, lane, number, value, start, end, detail in rows.values_list(*columns).iterator(chunk_size=2000):
        span = Span(lane, number, value, start, end, detail)
        found[job_id].spans.setdefault(lane, []).append(span)
