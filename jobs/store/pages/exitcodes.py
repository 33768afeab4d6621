"""The exit codes page: which codes ended runs, how often, where, and when.

A run counts when its end was a restart or failed its job (``jobs.domain.marks``).
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db.models import Count, F, Max, Min, Q, QuerySet, Value
from django.db.models.functions import Floor

from jobs.models import Job, Restart
from jobs.store.pages.index import current
from jobs.store.pages.jobfilter import JobFilter, moment

BUCKETS = 24
PLACES = 3  # nodes and images named of each code


class Place(NamedTuple):
    """A node or an image, and how many runs ended there."""

    name: str
    ends: int


@dataclass
class CodeUse:
    """``code`` None: no exit code was seen. ``over_time``: ends by bucket of the window."""

    code: int | None
    restarts: int = 0
    failures: int = 0
    jobs: int = 0
    nodes: list[Place] = field(default_factory=list)
    images: list[Place] = field(default_factory=list)
    over_time: list[int] = field(default_factory=lambda: [0] * BUCKETS)

    @property
    def ends(self) -> int:
        """Runs that ended so: those that were followed by a restart, and those that failed their job."""
        return self.restarts + self.failures


@dataclass
class CodesUsed:
    """All codes, the most frequent first, and the window that ``over_time`` is of (epoch seconds)."""

    codes: list[CodeUse]
    start: float | None
    end: float | None


class _Table(NamedTuple):
    """Where ends are kept: rows, and their columns."""

    rows: QuerySet[Any]
    code: str
    at: str
    node: str
    image: str


def codes_used(since: str, now: float) -> CodesUsed:
    """Ends since ``2h``, ``7d``, … before ``now``; "": ever since."""
    start = moment(since, now) if since else None
    restarts = _Table(Restart.objects.filter(counts=True), "exit_code", "at", "node", "image")
    failures = _Table(Job.objects.filter(fail_at__isnull=False), "fail_code", "fail_at", "fail_node", "fail_image")
    tables = [
        table._replace(rows=table.rows.filter(**{f"{table.at}__gte": start})) if start is not None else table
        for table in (restarts, failures)
    ]
    found: dict[int | None, CodeUse] = {}

    def use(code: int | None) -> CodeUse:
        return found.setdefault(code, CodeUse(code))

    for table, name in zip(tables, ("restarts", "failures"), strict=True):
        for code, ends in table.rows.values_list(table.code).annotate(n=Count("id")):
            setattr(use(code), name, ends)
    _add_places(tables, use)
    window = _window(tables, start, now)
    if window is not None:
        _add_times(tables, use, *window)
    _add_jobs(found, since, now)
    codes = sorted(found.values(), key=lambda one: (-one.ends, one.code if one.code is not None else -1))
    return CodesUsed(codes, *(window or (start, now)))


def _add_places(tables: list[_Table], use: Callable[[int | None], CodeUse]) -> None:
    for what in ("node", "image"):
        sums: dict[int | None, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for table in tables:
            column = getattr(table, what)
            counted = table.rows.exclude(**{column: ""}).values_list(table.code, column).annotate(n=Count("id"))
            for code, name, ends in counted:
                sums[code][name] += ends
        for code, ends_by_name in sums.items():
            places = [Place(name, ends) for name, ends in ends_by_name.items()]
            setattr(use(code), f"{what}s", sorted(places, key=lambda place: (-place.ends, place.name))[:PLACES])


def _window(tables: list[_Table], start: float | None, now: float) -> tuple[float, float] | None:
    """From the first end to now; None where nothing ended at a time that is known."""
    if start is not None:
        return start, now
    ranges = [table.rows.aggregate(first=Min(table.at), last=Max(table.at)) for table in tables]
    firsts = [one["first"] for one in ranges if one["first"] is not None]
    lasts = [one["last"] for one in ranges if one["last"] is not None]
    return (min(firsts), max(lasts)) if firsts else None


def _add_times(tables: list[_Table], use: Callable[[int | None], CodeUse], start: float, end: float) -> None:
    step = max((end - start) / BUCKETS, 0.001)
    for table in tables:
        bucket = Floor((F(table.at) - Value(start)) / Value(step))
        known = table.rows.filter(Q(**{f"{table.at}__isnull": False}))
        for code, number, ends in known.values_list(table.code, bucket).annotate(n=Count("id")):
            use(code).over_time[min(max(int(number), 0), BUCKETS - 1)] += ends


def _add_jobs(found: dict[int | None, CodeUse], since: str, now: float) -> None:
    """As many as the list shows that a code opens."""
    with current() as index:
        for code, used in found.items():
            if code is not None:
                chosen = JobFilter.of({"exit": [str(code)]}, since=since)
                used.jobs = index.select(chosen, now).bit_count()
