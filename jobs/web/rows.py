"""The rows of the job list: what one row shows, worked out once."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple
from urllib.parse import quote

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs.models import Job
from jobs.numbers import number
from jobs.store.pages.jobs import CodeCount, list_codes, list_restart_times, shown_state
from jobs.web.formats import chip_text, whole_seconds
from jobs.web.timeline import cluster_is_live

STRIP_WIDTH = 130.0  # units of the strip's own coordinates, drawn one to one
TICK = 2.0
CHIPS = 2


class Chip(NamedTuple):
    text: str
    times: int
    code: int | None


class Tick(NamedTuple):
    x: float
    width: float


@dataclass
class Strip:
    """The job's life from its creation on as one bar. ``ending``: succeeded, failed, or "" while it goes on."""

    started: bool = False
    ending: str = ""
    ticks: list[Tick] = field(default_factory=list)
    restarts: int = 0

    @property
    def label(self) -> str:
        text = ngettext("%(n)s restart over its life", "%(n)s restarts over its life", self.restarts)
        return text % {"n": number(self.restarts)}


@dataclass
class Row:
    job: Job
    shown: str
    live: bool
    chips: list[Chip]
    more_chips: int
    strip: Strip
    ended_at: float | None
    duration: float | None
    """Seconds; None while it grows with the clock, or where no beginning is known."""

    @property
    def gone(self) -> bool:
        return not self.job.present

    @property
    def url(self) -> str:
        return job_url(self.job)

    @property
    def signature(self) -> str:
        """What tells that a row has restarted since it was shown: epoch seconds."""
        return f"{self.job.last_restart_at or 0.0:.6f}"

    @property
    def was(self) -> str:
        """What is said below the state: that it is gone, or what its condition says instead."""
        if self.gone:
            return _("was %(state)s") % {"state": self.job.state} if self.shown == "Deleted" else _("deleted")
        return _("says %(state)s") % {"state": self.job.state} if self.shown != self.job.state else ""

    @property
    def true_text(self) -> str:
        return f"{'≥ ' if self.job.at_least else ''}{number(self.job.true_restarts)}"

    @property
    def lasted(self) -> str:
        return _("lasted %(time)s") % {"time": whole_seconds(self.duration)} if self.duration is not None else ""

    @property
    def more_title(self) -> str:
        return _("Other codes")


def job_url(job: Job) -> str:
    """The permanent address; its cluster is named because two replays can hold one UID."""
    return f"{_job_pages()}{quote(job.uid, safe='')}/?cluster={quote(job.cluster.name)}"


@cache
def _job_pages() -> str:
    """The address before a job's UID: to look it up takes as long as the rest of a row."""
    return reverse("jobs:job", args=["-"]).removesuffix("-/")


def rows(jobs: Sequence[Job], now: float) -> list[Row]:
    """Two more questions to the database, however many rows."""
    ids = [job.id for job in jobs]
    codes, times = list_codes(ids), list_restart_times(ids)
    return [row(job, codes.get(job.id, []), times.get(job.id, []), now) for job in jobs]


def row(job: Job, codes: Sequence[CodeCount], times: Sequence[float], now: float) -> Row:
    ended = job.finished_at or job.deleted_at
    live = ended is None and job.present and cluster_is_live(job.cluster.observed_until, now)
    until = now if live else (ended or job.last_observed_at or job.cluster.observed_until)
    chips = [Chip(chip_text(code.code, code.oom), code.times, code.code) for code in codes]
    return Row(
        job=job,
        shown=shown_state(job),
        live=live,
        chips=chips[:CHIPS],
        more_chips=sum(chip.times for chip in chips[CHIPS:]),
        strip=strip(job, times, until),
        ended_at=ended,
        duration=None if live or job.created_at is None or until is None else max(0.0, until - job.created_at),
    )


def strip(job: Job, times: Sequence[float], until: float | None) -> Strip:
    """One tick per restart, at least TICK wide; what would overlap is one tick."""
    ending = {"Succeeded": "succeeded", "Failed": "failed"}.get(job.state, "")
    result = Strip(started=job.state not in ("Created", "Unknown"), ending=ending, restarts=len(times))
    if job.created_at is None or until is None or until <= job.created_at:
        return result
    scale = STRIP_WIDTH / (until - job.created_at)
    for at in times:
        x = min(max((at - job.created_at) * scale, 0.0), STRIP_WIDTH - TICK)
        last = result.ticks[-1] if result.ticks else None
        if last is not None and x <= last.x + last.width:
            result.ticks[-1] = Tick(last.x, max(last.width, x + TICK - last.x))
        else:
            result.ticks.append(Tick(x, TICK))
    return result
