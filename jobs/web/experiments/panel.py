"""The checklist of a run: what should happen, what was seen, when, and what it comes to."""

import hashlib
import time
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from jobs.experiments.acts import Record
from jobs.experiments.catalogue import experiments
from jobs.experiments.clusters import is_watched
from jobs.experiments.experiment import Experiment
from jobs.experiments.models import ExperimentObject, ExperimentRun
from jobs.experiments.observe import created_objects, observed, records_of, rows_of
from jobs.experiments.words import overall_words, said, state_words, trouble_words
from jobs.models import Job
from jobs.store.pages.jobs import shown_state
from jobs.web.accounts import may_launch
from jobs.web.rows import job_url

LATE = 20.0  # seconds without a look after which no worker seems to run


@dataclass
class StepRow:
    """``state``: waiting, met, differs, unknown; ``words`` says it in the reader's language."""

    text: str
    state: str
    words: str
    seen: str
    at: float | None
    after: float | None  # seconds since the launch


@dataclass
class ActRow:
    text: str
    target: str
    at: float | None
    error: str
    done: bool


@dataclass
class JobRow:
    created: ExperimentObject
    job: Job | None
    state: str  # as the list shows it
    url: str


@dataclass
class Panel:
    run: ExperimentRun
    title: str
    state: str
    overall: str
    overall_words: str
    differences: list[str]
    steps: list[StepRow]
    acts: list[ActRow]
    jobs: list[JobRow]
    trouble: str
    live: bool  # it changes by itself
    idle: bool  # nobody carries it on
    unwatched: bool
    may: bool
    url: str
    poll: str
    on_job: bool
    version: str = ""  # another one when anything else is shown
    columns: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)


def panel(request: HttpRequest, run: ExperimentRun, *, on_job: bool = False, follow: bool = False) -> Panel:
    """The panel as it stands: the verdict is the one that was kept when the run was last carried on.

    ``on_job``: it is shown on its job's own page. ``follow``: the page leads on to that one once there is a job.
    """
    now = time.time()
    experiment = experiments().get(run.experiment)
    objects = created_objects(run)
    jobs = rows_of(run.cluster, objects)
    verdict = run.verdict or {}
    live = run.is_open or (run.clean_up_asked and run.cleaned_at is None)
    shown = Panel(
        run=run,
        title=said(experiment.title) if experiment else run.experiment or _("A manifest of your own"),
        state=state_words(run.state),
        overall=verdict.get("overall", ""),
        overall_words=overall_words(verdict.get("overall", "")),
        differences=[said(text) for text in verdict.get("differences", ())],
        steps=_steps(run, experiment),
        acts=_acts(run, experiment),
        jobs=[_job_row(one, jobs.get(one.uid)) for one in objects],
        trouble=trouble_words(run),
        live=live,
        idle=live and now - (run.looked_at or run.created_at) > LATE,
        unwatched=run.is_open and not is_watched(run.cluster),
        may=may_launch(request),
        url=reverse("jobs:run", args=[run.id]),
        poll=reverse("jobs:run-panel", args=[run.id]) + ("?on_job=1" if on_job else "?follow=1" if follow else "?"),
        on_job=on_job,
    )
    shown.version = _version(shown)
    if experiment is not None and experiment.table is not None and run.launched_at is not None:
        table = experiment.table(run.values, observed(run, objects))
        shown.columns = [said(text) for text in table.columns]
        shown.rows = [[said(text) for text in row] for row in table.rows]
    return shown


def _version(shown: Panel) -> str:
    """Of everything from which the panel is made, so that what somebody is reading stays while nothing changes."""
    run = shown.run
    jobs = [(row.created.uid, row.job.seq if row.job is not None else 0) for row in shown.jobs]
    made = (run.state, run.trouble, run.detail, run.verdict, run.acts, run.clean_up_asked, run.cleaned_at, jobs)
    parts = (made, shown.live, shown.idle, shown.unwatched, shown.may)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def run_of_job(cluster: str, uid: str) -> ExperimentRun | None:
    """The run that created a job."""
    found = ExperimentObject.objects.filter(uid=uid, run__cluster=cluster).select_related("run").first()
    return found.run if found is not None else None


def _job_row(created: ExperimentObject, job: Job | None) -> JobRow:
    return JobRow(created, job, shown_state(job) if job is not None else "", _job_url(job))


def _job_url(job: Job | None) -> str:
    return job_url(job) if job is not None else ""


def _steps(run: ExperimentRun, experiment: Experiment | None) -> list[StepRow]:
    """What was kept; before the first look, what is expected."""
    words = {"met": _("met"), "waiting": _("waiting"), "differs": _("differs"), "unknown": _("cannot tell")}
    if run.verdict is None:
        expected = experiment.steps(run.values) if experiment is not None else ()
        return [StepRow(said(step.text), "waiting", words["waiting"], "", None, None) for step in expected]
    began = run.launched_at or run.created_at
    return [_step(step, words, began) for step in run.verdict["steps"]]


def _step(step: dict[str, Any], words: dict[str, str], began: float) -> StepRow:
    at = step["at"]
    after = at - began if at is not None else None
    state = step["state"]
    return StepRow(said(step["text"]), state, words.get(state, state), said(step["seen"]), at, after)


def _acts(run: ExperimentRun, experiment: Experiment | None) -> list[ActRow]:
    done: dict[str, Record] = {record.key: record for record in records_of(run)}
    found = []
    for act in experiment.acts(run.values) if experiment is not None else ():
        record = done.get(act.key)
        done_at, target = (record.done_at, record.target) if record is not None else (None, "")
        error = record.error if record is not None else ""
        at = record.at if record is not None and done_at is not None else None
        found.append(ActRow(said(act.text), target, at, error, done_at is not None))
    return found
