"""The catalogue of experiments, the launch form, and launching."""

import re
import uuid
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from jobs.experiments import launch as launching
from jobs.experiments.catalogue import experiments
from jobs.experiments.experiment import Experiment
from jobs.experiments.launch import Launch, NotLaunched
from jobs.experiments.manifest_text import written
from jobs.experiments.models import ExperimentRun
from jobs.experiments.parameters import Cost, cost, defaults
from jobs.experiments.words import overall_words, said, state_words
from jobs.experiments.writes import Away, cluster_writer
from jobs.web.context import frame
from jobs.web.errors import error_page
from jobs.web.experiments.forms import Form, quick_launch, read_form
from jobs.web.experiments.places import ask, cluster_names, kinds_of
from jobs.web.experiments.rights import refused_person, rights
from jobs.web.experiments.without_root import FOUND
from jobs.web.views.runs import where_to

RUNS_SHOWN = 20


@dataclass
class Card:
    experiment: Experiment
    title: str
    shows: str
    happens: str
    cost: Cost
    impossible: str
    token: str


@dataclass
class RunRow:
    run: ExperimentRun
    title: str
    state: str
    overall: str
    overall_words: str


@never_cache  # whoever comes back to it and presses again means another run, under another token
@require_safe
def catalogue(request: HttpRequest) -> HttpResponse:
    cluster = request.GET.get("cluster", "") or next(iter(cluster_names()), "")
    before = request.GET.get("before", "")
    rows = ExperimentRun.objects.order_by("-created_at")
    if re.fullmatch(r"\d{1,12}(\.\d{1,9})?", before, re.ASCII):
        rows = rows.filter(created_at__lt=float(before))
    runs = list(rows[: RUNS_SHOWN + 1])
    context = frame(request, "experiments") | {
        "cards": [_card(one, cluster) for one in experiments().values()],
        "clusters": cluster_names(),
        "cluster": cluster,
        "runs": [_run_row(run) for run in runs[:RUNS_SHOWN]],
        "older": f"{runs[RUNS_SHOWN - 1].created_at:.6f}" if len(runs) > RUNS_SHOWN else "",
        "before": before,
    }
    return render(request, "experiments/list.html", context | rights(request))


def _card(experiment: Experiment, cluster: str) -> Card:
    usual = defaults(experiment)
    impossible = ""
    if experiment.simulated_only is not None and not ask(cluster, kinds_of(experiment)).simulated:
        impossible = said(experiment.simulated_only)
    return Card(
        experiment,
        said(experiment.title),
        said(experiment.shows),
        said(experiment.happens.filled(usual)),
        cost(experiment, usual),
        impossible,
        str(uuid.uuid4()),
    )


def _run_row(run: ExperimentRun) -> RunRow:
    experiment = experiments().get(run.experiment)
    overall = (run.verdict or {}).get("overall", "") if not run.is_open else ""
    title = said(experiment.title) if experiment else run.experiment or _("A manifest of your own")
    return RunRow(run, title, state_words(run.state), overall, overall_words(overall))


@never_cache
def experiment_form(request: HttpRequest, name: str) -> HttpResponse:
    """GET: the form. POST: shows the manifest, tries it (``do=try``), or launches it (``do=launch``)."""
    experiment = experiments().get(name)
    if experiment is None:
        return unknown(request)
    if request.method != "POST":
        return _form_page(request, experiment, read_form(request, experiment))
    form = read_form(request, experiment)
    doing = request.POST.get("do", "show")
    if doing not in ("try", "launch") or form.launch is None:
        return _form_page(request, experiment, form, status=200 if form.launch else 400)
    return refused_person(request) or _done(request, experiment, form, form.launch, doing)


def _done(request: HttpRequest, experiment: Experiment, form: Form, wanted: Launch, doing: str) -> HttpResponse:
    """What came of trying or launching."""
    try:
        if doing == "launch":
            return where_to(launching.launch(wanted))
        tried(wanted)
    except NotLaunched as refusal:
        return _form_page(request, experiment, read_form(request, experiment, refusal), status=400)
    return _form_page(request, experiment, form, good=True)


@require_POST
def quick(request: HttpRequest, name: str) -> HttpResponse:
    """One click: the defaults."""
    experiment = experiments().get(name)
    if experiment is None:
        return unknown(request)
    denied = refused_person(request)
    if denied is not None:
        return denied
    try:
        return where_to(launching.launch(quick_launch(request, experiment)))
    except NotLaunched as refusal:
        return _form_page(request, experiment, read_form(request, experiment, refusal), status=400)


@require_POST
def manifest(request: HttpRequest, name: str) -> HttpResponse:
    """The manifest as it would be sent, as a fragment of the page; with it fields that follow to another namespace."""
    experiment = experiments().get(name)
    if experiment is None:
        return unknown(request)
    form = read_form(request, experiment)
    fields = [one for _title, fields in form.sections for one in fields]
    moved = [one for one in fields if one.found and one.finding != request.POST.get(FOUND, one.finding)]
    return render(request, "experiments/_manifest.html", _manifest(form) | {"moved": moved})


@require_POST
def manifest_file(request: HttpRequest, name: str) -> HttpResponse:
    """The manifest as a file for ``kubectl apply``."""
    experiment = experiments().get(name)
    if experiment is None:
        return unknown(request)
    form = read_form(request, experiment)
    if form.launch is None:
        return _form_page(request, experiment, form, status=400)
    return yaml_file(form.launch)


def yaml_file(wanted: Launch) -> HttpResponse:
    name = re.sub(r"[^a-z0-9-]", "_", wanted.name)[:60] or "job"
    return HttpResponse(
        written(wanted.rendered()),
        content_type="application/yaml; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}.yaml"'},
    )


def tried(wanted: Launch) -> None:
    """A dry run of everything. Raises ``NotLaunched``."""
    launching.check(wanted)
    source = launching.clusters.cluster_named(wanted.cluster)
    assert source is not None
    try:
        with cluster_writer(source) as writer:
            launching.dry_run(wanted, writer)
    except Away as away:
        problem = _("The cluster does not answer: %(why)s") % {"why": away}
        raise NotLaunched({launching.GENERAL: [problem]}) from away


def unknown(request: HttpRequest) -> HttpResponse:
    return error_page(request, 404, _("Unknown experiment"), _("The catalogue has no experiment of this name."))


def _form_page(
    request: HttpRequest, experiment: Experiment, form: Form, *, status: int = 200, good: bool = False
) -> HttpResponse:
    values = form.launch.values if form.launch is not None else defaults(experiment)
    context = (
        frame(request, "experiments")
        | rights(request)
        | _manifest(form)
        | {
            "experiment": experiment,
            "title": said(experiment.title),
            "shows": said(experiment.shows),
            "happens": said(experiment.happens.filled(values)),
            "explanation": said(experiment.explanation.filled(values)).split("\n\n"),
            "steps": [said(step.text) for step in experiment.steps(values)],
            "acts": [said(act.text) for act in experiment.acts(values)],
            "form": form,
            "cost": form.cost,
            "good": good,
            "tab": "why" if request.GET.get("tab") == "why" else "form",
            "impossible": said(experiment.simulated_only) if not form.answer.simulated else "",
        }
    )
    return render(request, "experiments/form.html", context, status=status)


def _manifest(form: Form) -> dict[str, Any]:
    text = written(form.launch.objects()) if form.launch is not None else ""
    return {"manifest": text, "cost": form.cost, "wrong": [] if text else _all_problems(form)}


def _all_problems(form: Form) -> list[str]:
    fields = [one for _title, fields in form.sections for one in fields]
    return [*form.general, *(f"{one.label}: {text}" for one in fields for text in one.problems)]
