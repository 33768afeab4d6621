"""The job list: filters, orders, pages, facets, and what its rows show besides the job's own columns."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import NamedTuple

from django.db.models import Case, Count, F, Q, QuerySet, Sum, Value, When, Window
from django.db.models.functions import RowNumber

from jobs.models import Job, Restart

PAGE = 50
TICKS = 300  # restarts of one job that its strip shows: the newest
FACET_VALUES = 12
FINISHED = ("Succeeded", "Failed")
DELETED, RESTARTING = "Deleted", "Restarting"
# What a list shows as state: a job that is gone is not restarting, and one whose replica waits between two runs is,
# whatever its condition says.
SHOWN_STATE = Case(
    When(Q(present=False) & ~Q(state__in=FINISHED), then=Value(DELETED)),
    When(Q(restarting_since__isnull=False), then=Value(RESTARTING)),
    default=F("state"),
)


def shown_state(job: Job) -> str:
    """The same for one row as SHOWN_STATE in a query."""
    if not job.present and job.state not in FINISHED:
        return DELETED
    return RESTARTING if job.restarting_since is not None else job.state


@dataclass(frozen=True)
class JobFilter:
    """What a list is narrowed to; values of one field are alternatives."""

    state: tuple[str, ...] = ()
    kind: tuple[str, ...] = ()
    namespace: tuple[str, ...] = ()
    cluster: tuple[str, ...] = ()
    exit: tuple[int, ...] = ()
    q: str = ""

    def rows(self, *, without: str = "") -> QuerySet[Job]:
        """The jobs that match; ``without`` leaves one field out, as that field's own facet counts."""
        found: QuerySet[Job] = Job.objects.all()
        if self.state and without != "state":
            found = found.alias(shown=SHOWN_STATE).filter(shown__in=self.state)
        for name, column in (("kind", "kind"), ("namespace", "namespace"), ("cluster", "cluster__name")):
            values = getattr(self, name)
            if values and without != name:
                found = found.filter(**{f"{column}__in": values})
        if self.exit and without != "exit":
            codes = Restart.objects.filter(counts=True, exit_code__in=self.exit)
            found = found.filter(id__in=codes.values("job_id"))
        if self.q:
            found = found.filter(Q(name__icontains=self.q) | Q(namespace__icontains=self.q) | Q(uid=self.q))
        return found

    def matches(self, job: Job, codes: Iterable[int | None]) -> bool:
        """Whether one job belongs into the list: the same answer as ``rows``. ``codes``: those of its restarts."""
        text = self.q.lower()
        return (
            (not self.state or shown_state(job) in self.state)
            and (not self.kind or job.kind in self.kind)
            and (not self.namespace or job.namespace in self.namespace)
            and (not self.cluster or job.cluster.name in self.cluster)
            and (not self.exit or bool(set(self.exit) & set(codes)))
            and (not text or text in job.name.lower() or text in job.namespace.lower() or self.q == job.uid)
        )


@dataclass(frozen=True)
class Sort:
    """An order of the list, the largest first; rows without a value come last, each part by id."""

    column: str
    nullable: bool


SORTS = {
    "recent": Sort("last_restart_at", nullable=True),
    "restarts": Sort("true_restarts", nullable=False),
    "hidden": Sort("hidden_restarts", nullable=False),
    "created": Sort("created_at", nullable=True),
}


class Cursor(NamedTuple):
    """The last row of a page: the next one begins behind it."""

    value: float | None
    id: int

    def __str__(self) -> str:
        return f"{'' if self.value is None else repr(self.value)}~{self.id}"


def cursor_from(text: str) -> Cursor:
    """Raises ValueError for anything that ``str(cursor)`` does not write."""
    value, tilde, row = text.partition("~")
    if not tilde:
        raise ValueError(f"not a cursor: {text[:80]!r}")
    number = float(value) if value else None
    if number is not None and not isfinite(number):
        raise ValueError(f"not a cursor: {text[:80]!r}")
    identity = int(row)
    if abs(identity) >= 2**63:
        raise ValueError(f"not a cursor: {text[:80]!r}")
    return Cursor(number, identity)


def list_page(
    chosen: JobFilter, sort: str = "recent", after: Cursor | None = None, size: int = PAGE
) -> tuple[list[Job], Cursor | None]:
    """One page of jobs and where the next begins (None: there is none).

    Rows with a value and rows without are two queries, each of which walks an index: databases disagree on where
    nulls stand.
    """
    order = SORTS[sort]
    jobs: list[Job] = []
    if after is None or after.value is not None:
        jobs = _valued(chosen, order, after, size + 1)
    if order.nullable and len(jobs) <= size:
        behind = after.id if after is not None and after.value is None else None
        jobs += _valueless(chosen, order, behind, size + 1 - len(jobs))
    if len(jobs) <= size:
        return jobs, None
    last = jobs[size - 1]
    return jobs[:size], Cursor(getattr(last, order.column), last.id)


def listed(rows: QuerySet[Job]) -> QuerySet[Job]:
    return rows.select_related("cluster").defer("record")


def _valued(chosen: JobFilter, order: Sort, after: Cursor | None, limit: int) -> list[Job]:
    column = order.column
    rows = listed(chosen.rows())
    if order.nullable:
        rows = rows.filter(**{f"{column}__isnull": False})
    if after is not None:
        rows = rows.filter(Q(**{f"{column}__lt": after.value}) | Q(**{column: after.value}, id__lt=after.id))
    return list(rows.order_by(f"-{column}", "-id")[:limit])


def _valueless(chosen: JobFilter, order: Sort, behind: int | None, limit: int) -> list[Job]:
    rows = listed(chosen.rows()).filter(**{f"{order.column}__isnull": True})
    if behind is not None:
        rows = rows.filter(id__lt=behind)
    return list(rows.order_by("-id")[:limit])


def list_rows(ids: Sequence[int]) -> list[Job]:
    """Jobs by id, for rows that are fetched anew; in no order."""
    return list(listed(Job.objects.filter(id__in=ids)))


@dataclass
class Totals:
    jobs: int = 0
    true: int = 0
    kubectl: int = 0
    hidden: int = 0


def list_totals(chosen: JobFilter) -> Totals:
    """The sums of the line above the list, over all that is filtered."""
    sums = chosen.rows().aggregate(
        jobs=Count("id"), true=Sum("true_restarts"), kubectl=Sum("kubectl_restarts"), hidden=Sum("hidden_restarts")
    )
    return Totals(**{name: value or 0 for name, value in sums.items()})


class FacetValue(NamedTuple):
    value: str
    jobs: int


def list_facets(chosen: JobFilter) -> dict[str, list[FacetValue]]:
    """For each field its most frequent values among the jobs that the other fields let through."""
    facets: dict[str, list[FacetValue]] = {}
    facets["state"] = _facet(chosen.rows(without="state").annotate(shown=SHOWN_STATE), "shown")
    for name, column in (("kind", "kind"), ("namespace", "namespace"), ("cluster", "cluster__name")):
        facets[name] = _facet(chosen.rows(without=name), column)
    codes = Restart.objects.filter(counts=True, exit_code__isnull=False)
    if any((chosen.state, chosen.kind, chosen.namespace, chosen.cluster, chosen.q)):
        codes = codes.filter(job_id__in=chosen.rows(without="exit").values("id"))
    counted = codes.values_list("exit_code").annotate(n=Count("job_id", distinct=True)).order_by("-n", "exit_code")
    facets["exit"] = [FacetValue(str(code), n) for code, n in counted[:FACET_VALUES]]
    return facets


def _facet(rows: QuerySet[Job], column: str) -> list[FacetValue]:
    counted = rows.values_list(column).annotate(n=Count("id")).order_by("-n", column)
    return [FacetValue(value, n) for value, n in counted[:FACET_VALUES]]


class CodeCount(NamedTuple):
    code: int | None
    oom: bool
    times: int


def list_codes(ids: Sequence[int]) -> dict[int, list[CodeCount]]:
    """The ends that were restarts, by job: code, whether the kernel killed for memory, how often; most often first."""
    counted = (
        Restart.objects.filter(job_id__in=ids, counts=True)
        .values_list("job_id", "exit_code", "cause_code")
        .annotate(n=Count("id"))
    )
    sums: dict[int, dict[tuple[int | None, bool], int]] = defaultdict(lambda: defaultdict(int))
    for job, code, cause, n in counted:
        sums[job][code, cause == "oom"] += n
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
