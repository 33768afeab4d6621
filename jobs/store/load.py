"""Bring jobs back from their rows."""

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter

from django.db import connection

from jobs import models
from jobs.domain.count import put_incarnations
from jobs.domain.state import Incarnation, JobState, Span
from jobs.store.codec import incarnation_from, job_from
from jobs.store.sql import chunks

FETCHED = 2000  # rows at a time


def load_state(job_id: int) -> JobState:
    """The whole state of one job. Raises ``models.Job.DoesNotExist``."""
    found = load_states([job_id])
    if job_id not in found:
        raise models.Job.DoesNotExist(f"no job {job_id}")
    return found[job_id]


def load_states(job_ids: Iterable[int]) -> dict[int, JobState]:
    """The states of jobs by id; ids without a row are left out."""
    found: dict[int, JobState] = {}
    with _collector_paused():
        for ids in chunks(list(job_ids)):
            for job_id, record in models.Job.objects.filter(id__in=ids).values_list("id", "record"):
                found[job_id] = job_from(record)
            _load_incarnations(found, ids)
            _load_spans(found, ids)
    return found


@contextmanager
def _collector_paused() -> Iterator[None]:
    """What is loaded is all kept: walking over it again and again while it grows doubles the time.

    Freezing and unfreezing makes it old, so that not even one walk follows at once.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.freeze()
            gc.unfreeze()
            gc.enable()


def _load_incarnations(found: dict[int, JobState], ids: Sequence[int]) -> None:
    pods: dict[int, list[Incarnation]] = {job_id: [] for job_id in ids}
    table = models.Incarnation._meta.db_table
    marks = ", ".join(["%s"] * len(ids))
    with connection.cursor() as cursor:  # a job may have 100,000: what the ORM adds to each row is left out
        query = f'SELECT "job_id", "record" FROM "{table}" WHERE "job_id" IN ({marks})'  # noqa: S608
        cursor.execute(query, ids)
        while rows := cursor.fetchmany(FETCHED):
            for job_id, record in rows:
                pods[job_id].append(incarnation_from(record))
    for job_id, those in pods.items():
        those.sort(key=attrgetter("first_version"))  # as they were seen; the database would sort their records, too
        if those:
            put_incarnations(found[job_id], those)


def _load_spans(found: dict[int, JobState], ids: Sequence[int]) -> None:
    rows = models.Span.objects.filter(job_id__in=ids).order_by("job_id", "lane", "number")
    columns = ("job_id", "lane", "number", "value", "start", "end", "detail")
    for job_id, lane, number, value, start, end, detail in rows.values_list(*columns).iterator(chunk_size=2000):
        span = Span(lane, number, value, start, end, detail)
        found[job_id].spans.setdefault(lane, []).append(span)
