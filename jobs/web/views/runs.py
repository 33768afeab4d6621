"""Runs: the checklist, stopping, cleaning up, and the audit list."""

import time
import uuid
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from jobs.experiments import runs
from jobs.experiments.catalogue import experiments
from jobs.experiments.clusters import is_watched
from jobs.experiments.manifest_text import written
from jobs.experiments.models import ExperimentAction, ExperimentRun
from jobs.experiments.observe import created_objects, rows_of
from jobs.experiments.words import said
from jobs.web.context import frame
from jobs.web.errors import error_page
from jobs.web.experiments.panel import panel
from jobs.web.experiments.rights import refused_person

SEEN_WITHIN = 3.0  # seconds that a launch waits for the watcher to see the job, so that it can lead to its page
LOOK_EVERY = 0.1  # seconds
ACTIONS_SHOWN = 100
FOLLOW = "follow"  # a page that leads on to the job's page as soon as that is known


def where_to(run: ExperimentRun) -> HttpResponse:
    """After a launch: the live page of its job, the run's own where there are several jobs or none is seen yet."""
    until = time.monotonic() + SEEN_WITHIN
    url = _job_page(run)
    may_come = run.is_open and run.created.count() == 1 and is_watched(run.cluster)
    while url is None and may_come and time.monotonic() < until:
        time.sleep(LOOK_EVERY)
        url = _job_page(run)
    return redirect(url or f"{reverse('jobs:run', args=[run.id])}?{FOLLOW}=1")


def _job_page(run: ExperimentRun) -> str | None:
    """The page of the run's only job, once it has been seen."""
    objects = created_objects(run)
    if len(objects) != 1 or run.created.count() != 1:
        return None
    job = rows_of(run.cluster, objects).get(objects[0].uid)
    if job is None:
        return None
    return f"{reverse('jobs:job', args=[job.uid])}?{urlencode({'cluster': run.cluster})}"


@require_safe
def run_page(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    run = ExperimentRun.objects.filter(id=run_id).first()
    if run is None:
        return _unknown(request)
    if request.GET.get(FOLLOW) and (url := _job_page(run)):
        return HttpResponseRedirect(url)
    experiment = experiments().get(run.experiment)
    context = frame(request, "experiments") | {
        "panel": panel(request, run, follow=bool(request.GET.get(FOLLOW))),
        "run": run,
        "experiment": experiment,
        "happens": said(experiment.happens.filled(run.values)) if experiment else "",
        "explanation": said(experiment.explanation.filled(run.values)).split("\n\n") if experiment else [],
        "manifest": written(one.manifest for one in run.created.order_by("id")),
        "actions": run.actions.order_by("-at", "-id")[:ACTIONS_SHOWN],
        "tab": request.GET.get("tab", ""),
    }
    return render(request, "experiments/run.html", context)


@require_safe
def run_panel(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """The checklist, as a fragment; 204 where it is still as it was ``seen``."""
    run = ExperimentRun.objects.filter(id=run_id).first()
    if run is None:
        return _unknown(request)
    if request.GET.get(FOLLOW) and (url := _job_page(run)):
        return HttpResponse(status=204, headers={"HX-Redirect": url})
    shown = panel(request, run, on_job=bool(request.GET.get("on_job")), follow=bool(request.GET.get(FOLLOW)))
    if request.GET.get("seen") == shown.version:
        return HttpResponse(status=204)
    return render(request, "experiments/_panel.html", {"panel": shown})


@require_POST
def stop(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    return _asked(request, run_id, runs.stop)


@require_POST
def clean_up(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    return _asked(request, run_id, runs.ask_for_clean_up)


def _asked(request: HttpRequest, run_id: uuid.UUID, what: Callable[[ExperimentRun, str], None]) -> HttpResponse:
    denied = refused_person(request)
    if denied is not None:
        return denied
    run = ExperimentRun.objects.filter(id=run_id).first()
    if run is None:
        return _unknown(request)
    what(run, request.user.get_username())
    runs.carry_on(run.id)  # at once, if no worker is at it
    return redirect("jobs:run", run_id=run.id)


@require_safe
def audit(request: HttpRequest) -> HttpResponse:
    """Everything that was done to clusters, newest first."""
    before = request.GET.get("before", "")
    rows = ExperimentAction.objects.select_related("run").order_by("-id")
    if before.isascii() and before.isdigit() and len(before) < 19:
        rows = rows.filter(id__lt=int(before))
    found = list(rows[: ACTIONS_SHOWN + 1])
    context = frame(request, "experiments") | {
        "actions": found[:ACTIONS_SHOWN],
        "older": found[ACTIONS_SHOWN - 1].id if len(found) > ACTIONS_SHOWN else None,
        "before": before,
    }
    return render(request, "experiments/audit.html", context)


def _unknown(request: HttpRequest) -> HttpResponse:
    return error_page(request, 404, _("Unknown run"), _("No run of this number is kept."))
