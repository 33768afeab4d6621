"""The job list: its pages, sums and facets, and what its rows show besides the job's own columns."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import Count, QuerySet, Window
from django.db.models.functions import RowNumber

from jobs.models import Job, Restart
from jobs.store.pages.index import FacetValue, Order, Place, current
from jobs.store.pages.jobfilter import JobFilter, shown_state

__all__ = ["FacetValue", "JobFilter", "Order", "Place", "current", "shown_state"]

PAGE = 50
EXPORTED = 500  # jobs read at a time
TICKS = 300  # restarts of one job that its strip shows: the newest
FACET_VALUES = 12
SORTS = ("recent", "restarts", "kubectl", "hidden", "created")


@dataclass
class Page:
    """One page of the list, and where the next begins (None: there is none)."""

    jobs: list[Job]
    following: Place | None
    matching: int


@dataclass
class Totals:
    """Jobs and their restarts, summed."""

    jobs: int = 0
    true: int = 0
    kubectl: int = 0
    hidden: int = 0


def list_page(chosen: JobFilter, order: Order, after: Place | None, now: float, size: int = PAGE) -> Page:
    """The jobs behind a place (None: from the beginning). ``now``: epoch seconds, for spans such as ``since:2h``."""
    with current() as index:
        found = index.select(chosen, now)
        ids = index.page(found, order, after, size + 1)
        following = index.place(ids[size - 1], order) if len(ids) > size else None
        matching = found.bit_count()
    return Page(_in_order(ids[:size]), following, matching)


def list_all(chosen: JobFilter, order: Order, now: float) -> Iterator[list[Job]]:
    """Everything that is filtered, in parts, as it was at the beginning."""
    with current() as index:
        found = index.select(chosen, now)
        ids = index.page(found, order, None, found.bit_count())
    for start in range(0, len(ids), EXPORTED):
        yield _in_order(ids[start : start + EXPORTED])


def list_totals(chosen: JobFilter, now: float) -> Totals:
    """The sums of the line above the list, over all that is filtered."""
    with current() as index:
        found = index.select(chosen, now)
        sums = [index.numbers[name].total(found) for name in ("restarts", "kubectl", "hidden")]
    return Totals(found.bit_count(), *sums)


def list_facets(chosen: JobFilter, now: float, size: int = FACET_VALUES) -> dict[str, list[FacetValue]]:
    """For each field its most frequent values among the jobs that the other fields let through."""
    with current() as index:
        return index.facets(chosen, now, size)


def known_values(name: str, beginning: str, size: int) -> list[FacetValue]:
    """Values of a field that begin like this (whatever the case), the most frequent ones first."""
    with current() as index:
        return index.beginning(name, beginning, size)


def _in_order(ids: Sequence[int]) -> list[Job]:
    """The rows of these ids, in their order; what is no longer there is left out."""
    rows = {job.id: job for job in list_rows(ids)}
    return [rows[number] for number in ids if number in rows]


def listed(rows: QuerySet[Job]) -> QuerySet[Job]:
    """With what a row of the list shows, and without the record, which it does not."""
    return rows.select_related("cluster").defer("record")


def list_rows(ids: Sequence[int]) -> list[Job]:
    """Jobs by id, for rows that are fetched anew; in no order."""
    return list(listed(Job.objects.filter(id__in=ids)))


class CodeCount(NamedTuple):
    """How often one exit code ended a run. ``code`` None: none was seen."""

    code: int | None
    oom: bool
    times: int


def list_codes(ids: Sequence[int]) -> dict[int, list[CodeCount]]:
    """The ends that count, by job: those that were restarts, and the one that failed the job; most often first."""
    counted = (
        Restart.objects.filter(job_id__in=ids, counts=True)
        .values_list("job_id", "exit_code", "cause_code")
        .annotate(n=Count("id"))
    )
    sums: dict[int, dict[tuple[int | None, bool], int]] = defaultdict(lambda: defaultdict(int))
    for job, code, cause, n in counted:
        sums[job][code, cause == "oom"] += n
    failed = Job.objects.filter(id__in=ids).exclude(fail_cause="")
    for job, code, cause in failed.values_list("id", "fail_code", "fail_cause"):
        sums[job][code, cause == "oom"] += 1
    return {
        job: sorted(
            (CodeCount(code, oom, n) for (code, oom), n in codes.items()), key=lambda c: (-c.times, c.code or 0)
        )
        for job, codes in sums.items()
    }


def list_restart_times(ids: Sequence[int]) -> dict[int, list[float]]:
    """When the newest TICKS restarts of each job were, for the strips; oldest first."""
    newest = (
        Restart.objects.filter(job_id__in=ids, counts=True, at__isnull=False)
        .annotate(rank=Window(RowNumber(), partition_by="job_id", order_by="-at"))
        .filter(rank__lte=TICKS)
        .order_by("job_id", "at")
        .values_list("job_id", "at")
    )
    times: dict[int, list[float]] = defaultdict(list)
    for job, at in newest:
        if at is not None:
            times[job].append(at)
    return times
