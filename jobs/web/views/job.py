"""The page of one job, its tabs and its header as fragments."""

import re
import time
from datetime import UTC, datetime
from typing import Any

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from jobs.domain.report import known_until
from jobs.domain.state import JobState
from jobs.models import Job
from jobs.store.load import load_state
from jobs.store.pages.changes import last_sequence, restart_sums
from jobs.store.pages.job import (
    first_restart,
    job_by_uid,
    job_events,
    job_logs,
    job_object,
    job_observations,
    job_restarts,
    jobs_of_name,
    neighbouring_writes,
    pods_of,
    restart_count,
)
from jobs.store.pages.timeline import job_alone
from jobs.web.context import frame
from jobs.web.errors import error_page
from jobs.web.experiments.panel import panel, run_of_job
from jobs.web.formats import utc
from jobs.web.jobpage import kubectl, tabs
from jobs.web.jobpage.header import header, light_header
from jobs.web.rows import job_url
from jobs.web.timeline import ORDERS, end_of, start_of

TABS = ("restarts", "replicas", "phases", "podgroup", "events", "kubectl", "logs", "facts")


MOMENT = 0.000_01  # seconds
SCREEN = 1200  # pixels that a timeline has, roughly
# Fetched together, not one after the other as they import each other.
MODULES = tuple(
    f"js/{name}.js"
    for name in (
        "format",
        "live",
        "messages",
        "times",
        *(
            f"timeline/{name}"
            for name in (
                "timeline",
                "card",
                "derived",
                "draw",
                "drawlanes",
                "drawreplicas",
                "heat",
                "hit",
                "input",
                "keys",
                "lanes",
                "layout",
                "lengths",
                "minimap",
                "model",
                "palette",
                "raf",
                "range",
                "rowloader",
                "scale",
                "segments",
                "shapes",
                "ticks",
            )
        ),
    )
)
LARGE = 3000  # pods from which the parts of a page that need them all are fetched after it


@require_safe
def job_page(request: HttpRequest, uid: str) -> HttpResponse:
    """The permanent address of a job."""
    seq = last_sequence()
    row = job_by_uid(uid, request.GET.get("cluster", ""))
    return _unknown(request) if row is None else _page(request, row, seq)


@require_safe
def named_job(request: HttpRequest, cluster: str, namespace: str, kind: str, name: str) -> HttpResponse:
    """The newest job of a name."""
    seq = last_sequence()
    found = jobs_of_name(cluster, namespace, kind, name)
    return _page(request, found[0], seq) if found else _unknown(request)


@require_safe
def job_tab(request: HttpRequest, uid: str, tab: str) -> HttpResponse:
    """The tabs with one of them open, as a fragment."""
    row = job_by_uid(uid, request.GET.get("cluster", ""))
    if row is None or tab not in TABS:
        return _unknown(request)
    return render(request, "jobs/_tabs.html", _Parts(row).tab(request, tab))


@require_safe
def job_header(request: HttpRequest, uid: str) -> HttpResponse:
    """The header, as a fragment."""
    row = job_by_uid(uid, request.GET.get("cluster", ""))
    return _unknown(request) if row is None else render(request, "jobs/_header.html", _Parts(row).header())


@require_safe
def job_kubectl(request: HttpRequest, uid: str) -> HttpResponse | StreamingHttpResponse:
    """The kubectl tables up to ``until``, as a text file."""
    row = job_by_uid(uid, request.GET.get("cluster", ""))
    if row is None:
        return _unknown(request)
    name = re.sub(r"[^A-Za-z0-9.-]", "_", row.name)[:100]
    return StreamingHttpResponse(
        kubectl.as_file(row, _moment(request, "until")),
        content_type="text/plain; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}-kubectl.txt"'},
    )


def _moment(request: HttpRequest, name: str) -> float | None:
    """A moment in the query, in epoch seconds or as a UTC time; None where there is none that can be read."""
    text = request.GET.get(name, "").strip()[:40]
    try:
        found = float(text)
    except ValueError:
        try:
            moment = datetime.fromisoformat(text.removesuffix(" UTC"))
        except ValueError:
            return None
        found = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return found if utc(found) is not None else None


def _unknown(request: HttpRequest) -> HttpResponse:
    message = _("No such job is known. It may have been before this dashboard watched, or its history has expired.")
    return error_page(request, 404, _("Unknown job"), message)


def _page(request: HttpRequest, row: Job, seq: int) -> HttpResponse:
    """The whole page. Of a large job only its frame, with what its columns say, so that the timeline is asked for at
    once: the parts that need all restarts or pods are fetched by the page itself, or by ``?whole=1``."""
    tab = request.GET.get("tab", "restarts")
    tab = tab if tab in TABS else "restarts"
    same_name = jobs_of_name(row.cluster.name, row.namespace, row.kind, row.name)
    later = "whole" not in request.GET and pods_of(row.id, LARGE + 1) > LARGE
    context = (
        frame(request, "jobs")
        | (_frame_of_large(row, request, tab) if later else _whole(row, request, tab))
        | {
            "seq": seq,
            "modules": MODULES,
            "panel": panel(request, run, on_job=True)
            if (run := run_of_job(row.cluster.name, row.uid)) is not None
            else None,
            "earlier": [(job, job_url(job)) for job in same_name if (job.created_at or 0) < (row.created_at or 0)],
            "newer": [(job, job_url(job)) for job in same_name if (job.created_at or 0) > (row.created_at or 0)],
        }
    )
    context["first_url"] = _first_url(request, context)
    return render(request, "jobs/job.html", context)


def _first_url(request: HttpRequest, context: dict[str, Any]) -> str:
    """Where the timeline's first answer is: the page names it at its top, so that it is fetched with the scripts."""
    order = request.GET.get("order", "")
    first = context["first_at"]
    last = max(context["last_at"], first + 1)  # a cluster's clock may be ahead of ours
    query: dict[str, str | int] = {
        "order": order if order in ORDERS else ORDERS[0],
        "from": f"{first:.3f}",
        "to": f"{last:.3f}",
        "width": SCREEN,
    }
    return f"{context['timeline_url']}&{urlencode(query)}"


def _whole(row: Job, request: HttpRequest, tab: str) -> dict[str, Any]:
    parts = _Parts(row)
    pods, more_pods = tabs.pod_rows(parts.job)
    return (
        parts.header()
        | parts.tab(request, tab)
        | {
            "lanes": len(parts.job.replicas),
            "first_at": start_of(parts.job) or 0.0,
            "last_at": parts.until,
            "pods": pods,
            "more_pods": more_pods,
        }
    )


def _frame_of_large(row: Job, request: HttpRequest, tab: str) -> dict[str, Any]:
    now = time.time()
    job = job_alone(row.id)
    end = end_of(row, job, now)
    query = request.GET.copy()
    query["cluster"] = row.cluster.name
    return _base(row) | {
        "later": True,
        "tab": tab,
        "tab_url": reverse("jobs:job-tab", args=[row.uid, tab]) + "?" + query.urlencode(),
        "header": light_header(row, job),
        "live": end is None,
        "lanes": row.replicas,
        "first_at": start_of(job) or 0.0,
        "last_at": end if end is not None else now,
    }


def _base(row: Job) -> dict[str, Any]:
    """The job and the addresses of its parts."""
    cluster = urlencode({"cluster": row.cluster.name})
    addresses = {
        "self_url": reverse("jobs:job", args=[row.uid]),
        "header_url": reverse("jobs:job-header", args=[row.uid]),
        "events_url": reverse("jobs:job-events", args=[row.uid]),
        "timeline_url": reverse("jobs:api-timeline", args=[row.uid]),
        "kubectl_url": reverse("jobs:job-kubectl", args=[row.uid]),
        "report_url": reverse("jobs:api-job", args=[row.uid]),
    }
    return {"job": row} | {name: f"{address}?{cluster}" for name, address in addresses.items()}


class _Parts:
    """The parts of the page that come from one loading of the job."""

    def __init__(self, row: Job) -> None:
        self.row = row
        self.job: JobState = load_state(row.id)
        self.job.cluster = row.cluster.name
        self.restart_count = restart_count(row.id)
        self.now = time.time()
        self.end = end_of(row, self.job, self.now)
        self.until: float = self.end if self.end is not None else self.now

    def base(self) -> dict[str, Any]:
        return _base(self.row) | {"live": self.end is None}

    def header(self) -> dict[str, Any]:
        known = known_until(self.job, self.row.cluster.observed_until)
        known = known if known is not None else self.now
        sums = restart_sums(self.row.id)
        shown = header(self.row, self.job, first_restart(self.row.id), sums, known=known, end=self.end)
        return self.base() | {"header": shown}

    def tab(self, request: HttpRequest, tab: str) -> dict[str, Any]:
        """Only the open tab's rows are worked out; the others' numbers come along."""
        context = self.base() | {"tab": tab, "tabs": self._tab_links(), "template": f"jobs/tabs/{tab}.html"}
        if tab == "restarts":
            newest = job_restarts(self.row.id, tabs.RESTARTS_SHOWN)
            context["rows"] = tabs.restart_rows(self.job, newest, self.restart_count, self.until)
            context["older"] = self.restart_count - len(newest)
        elif tab == "replicas":
            context["rows"], context["more"] = tabs.replica_rows(self.job, self.until)
        elif tab == "phases":
            context["rows"] = tabs.phase_rows(self.job, self.until)
        elif tab == "podgroup":
            context |= {"rows": tabs.podgroup_rows(self.job, self.until), "podgroup": self.job.podgroup}
        elif tab == "events":
            context["rows"] = tabs.event_rows(job_events(self.row.id))
        elif tab == "kubectl":
            context |= self._kubectl(request)
        elif tab == "logs":
            context["rows"] = tabs.log_rows(self.job, job_logs(self.row.id))
        else:
            context |= self._facts(request)
        return context

    def _kubectl(self, request: HttpRequest) -> dict[str, Any]:
        first, last = start_of(self.job) or 0.0, self.row.last_observed_at or self.now
        until = _moment(request, "until")
        shown = last if until is None else min(max(until, first), last)
        before, after = neighbouring_writes(self.row.id, shown)
        return {
            "tables_shown": kubectl.tables(self.row, None if until is None else shown),
            "until": shown,
            "chosen": until is not None,
            "first": first,
            "last": last,
            "before": before,
            "after": after if until is not None else None,
        }

    def _facts(self, request: HttpRequest) -> dict[str, Any]:
        uid = request.GET.get("object", "")[:64]
        before = request.GET.get("before", "")
        start = int(before) if before.isascii() and before.isdigit() and len(before) < 19 else None
        at = _moment(request, "at")
        # The clock has more digits than an address: the observation that is meant must not fall behind it.
        rows, older = job_observations(self.row.id, uid, start, None if at is None else at + MOMENT)
        return {
            "rows": tabs.fact_rows(rows),
            "object": job_object(self.row.id, uid) if uid else None,
            "object_uid": uid,
            "at": at,
            "older": older,
        }

    def _tab_links(self) -> list[tuple[str, str, int | None, str]]:
        counts: dict[str, tuple[str, int | None]] = {
            "restarts": (_("Restarts"), self.restart_count),
            "replicas": (_("Replicas"), len(self.job.replicas)),
            "phases": (_("Phases"), len(tabs.phase_rows(self.job, self.now))),
            "podgroup": ("PodGroup", len(self.job.spans.get("podgroup", ()))),
            "events": (_("Events"), None),
            "kubectl": ("kubectl", None),
            "logs": (_("Logs"), None),
            "facts": (_("Facts"), None),
        }
        cluster = self.row.cluster.name
        return [
            (
                name,
                title,
                count,
                reverse("jobs:job-tab", args=[self.row.uid, name]) + "?" + urlencode({"cluster": cluster}),
            )
            for name, (title, count) in counts.items()
        ]
