"""Carrying runs on: look, act, judge, end, clean up. Each call does what is due and returns at once.

Whoever carries a run on claims its row for a while; when a worker dies the claim runs out, and the next one goes on
from what was written down.
"""

import logging
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db.models import F, Q

from jobs.domain.state import JobState
from jobs.domain.thresholds import REFUSED
from jobs.experiments import acts, clusters
from jobs.experiments.acts import NotYet, Record
from jobs.experiments.audit import note
from jobs.experiments.catalogue import experiments
from jobs.experiments.clean import clean
from jobs.experiments.experiment import Act, ActKind, Experiment, StepState, Text
from jobs.experiments.labels import uid_of
from jobs.experiments.models import OPEN_STATES, ExperimentObject, ExperimentRun, RunState, Trouble
from jobs.experiments.observe import created_objects, observed, records_of
from jobs.experiments.refusals import refusals
from jobs.experiments.verdict import Verdict, judge
from jobs.experiments.writes import Away, Refused, Writer, cluster_writer

log = logging.getLogger(__name__)

CLAIM_SECONDS = 60.0  # longer than the requests of one call take, with their timeouts
LAUNCH_SECONDS = 180.0  # a launch that takes longer has died
CLEAN_RETRY_SECONDS = 24 * 3600.0  # a cluster that was away for longer keeps what it has; the page says so
BY_ITSELF = "experiment"  # who, in the audit list, where nobody pressed a button


def due(now: float) -> list[uuid.UUID]:
    """The runs that are to be carried on and that nobody has claimed, the longest waiting first."""
    to_clean = Q(clean_up_asked=True, cleaned_at=None, created_at__gt=now - CLEAN_RETRY_SECONDS)
    rows = ExperimentRun.objects.filter(Q(state__in=OPEN_STATES) | to_clean, claimed_until__lt=now)
    return list(rows.order_by(F("looked_at").asc(nulls_first=True)).values_list("id", flat=True))


def carry_all_on() -> int:
    """Carry on whatever is due; how many runs that were. A cluster that does not answer is asked once."""
    away: set[str] = set()
    ids = due(time.time())
    for run_id in ids:
        carry_on(run_id, away)
    return len(ids)


def carry_on(run_id: uuid.UUID, away: set[str] | None = None) -> None:
    """Do what is due for a run, unless somebody else is at it. ``away``: clusters not to be asked; added to."""
    with _claimed(run_id) as run:
        if run is None:
            return
        try:
            _step(run, away if away is not None else set())
        except Exception:
            # One run whose experiment or data is broken must not keep the others from going on.
            log.exception("run %s cannot be carried on", run.id)
            if time.time() > run.deadline:
                _end(run, RunState.FAILED, Trouble.OVER_TIME)


@contextmanager
def _claimed(run_id: uuid.UUID) -> Iterator[ExperimentRun | None]:
    now, claim = time.time(), str(uuid.uuid4())
    mine = ExperimentRun.objects.filter(id=run_id, claimed_until__lt=now)
    if not mine.update(claimed_until=now + CLAIM_SECONDS, claim=claim):
        yield None
        return
    try:
        yield ExperimentRun.objects.get(id=run_id)
    finally:
        ExperimentRun.objects.filter(id=run_id, claim=claim).update(claimed_until=0, looked_at=time.time())


def _step(run: ExperimentRun, away: set[str]) -> None:
    if run.state == RunState.LAUNCHING:
        if time.time() > run.created_at + LAUNCH_SECONDS:
            run.clean_up = True
            _end(run, RunState.FAILED, Trouble.LAUNCH_DIED)
    elif run.state in (RunState.RUNNING, RunState.STOPPING):
        _go_on(run, away)
    if run.clean_up_asked and run.cleaned_at is None and not run.is_open and run.cluster not in away:
        _clean(run, away)


def _go_on(run: ExperimentRun, away: set[str]) -> None:
    if not run.experiment:
        _follow(run)
        return
    experiment = experiments().get(run.experiment)
    if experiment is None:
        _end(run, RunState.FAILED, Trouble.UNKNOWN_EXPERIMENT)
        return
    verdict = look(run, experiment)
    if run.state == RunState.RUNNING and run.cluster not in away and _act(run, experiment, verdict, away):
        verdict = look(run, experiment)
    _keep(run, verdict)
    if run.state == RunState.STOPPING:
        _end(run, RunState.STOPPED, "")
    elif verdict.final and _acts_are_over(run, experiment, verdict):
        _end(run, RunState.FINISHED, "")
    elif time.time() > run.deadline:
        _end(run, RunState.FINISHED, run.trouble or Trouble.OVER_TIME)


def look(run: ExperimentRun, experiment: Experiment) -> Verdict:
    """The verdict as of now."""
    return judge(experiment, run.values, observed(run, created_objects(run)))


def _follow(run: ExperimentRun) -> None:
    """A manifest of somebody's own has no expectation: it ends with its jobs."""
    seen = observed(run, created_objects(run))
    if run.state == RunState.STOPPING:
        _end(run, RunState.STOPPED, "")
    elif all(job is not None and _is_over(job) for job in seen.jobs):
        _end(run, RunState.FINISHED, "")
    elif time.time() > run.deadline:
        _end(run, RunState.FINISHED, run.trouble or Trouble.OVER_TIME)
    else:
        refused = refusals(seen, REFUSED)
        _trouble(run, *((Trouble.PODS_REFUSED, refused[0][1].words) if refused else ("", "")))


def _is_over(job: JobState) -> bool:
    return job.finished_at is not None or (job.facts is not None and not job.present)


# --- acts


def _acts_are_over(run: ExperimentRun, experiment: Experiment, verdict: Verdict) -> bool:
    """Whether every act is done, or waits for a step that will not be met any more."""
    records = records_of(run)
    done = {record.key for record in records if record.done_at is not None}
    waiting = [act for act in experiment.acts(run.values) if act.key not in done]
    begun = {record.key for record in records}
    missed = {step.key for step, outcome in verdict.steps if outcome.state in (StepState.DIFFERS, StepState.UNKNOWN)}
    return all(act.key not in begun and act.since in missed for act in waiting)


def _act(run: ExperimentRun, experiment: Experiment, verdict: Verdict, away: set[str]) -> bool:
    """Do the acts that are due; whether any was."""
    waiting = [act for act in experiment.acts(run.values) if _is_due(act, run, verdict)]
    source = clusters.cluster_named(run.cluster)
    if not waiting or source is None:
        return False
    try:
        with cluster_writer(source) as writer:
            done = [_one_act(act, run, writer) for act in waiting]
    except Away as error:
        away.add(run.cluster)
        _trouble(run, Trouble.AWAY, str(error))
        return False
    _trouble(run, "")
    return any(done)


def _is_due(act: Act, run: ExperimentRun, verdict: Verdict) -> bool:
    known = {record.key: record for record in records_of(run)}
    if act.key in known:
        return known[act.key].done_at is None
    for step, outcome in verdict.steps:
        if step.key == act.since:
            return outcome.state is StepState.MET and time.time() >= (outcome.at or 0.0) + act.after
    return not act.since and time.time() >= (run.launched_at or run.created_at) + act.after


def _one_act(act: Act, run: ExperimentRun, writer: Writer) -> bool:
    """Write down, do, write down. Whether it was done, or refused. Raises ``Away``."""
    objects = created_objects(run)
    records = records_of(run)
    known = next((record for record in records if record.key == act.key), None)
    try:
        record = known or acts.begun(act, objects, observed(run, objects), records, time.time())
        if known is None:
            _save(run, [*records, record])
        if act.kind is ActKind.CREATE_AGAIN:
            _add_object(run, acts.newest(objects, act.job), act, "")
        record.at = time.time()  # what comes of it comes later, however late the answer is
        made = acts.do(act, record, objects, run.namespace, writer, again=known is not None)
    except NotYet:
        if known is None:
            _save(run, records)
        return False
    except Refused as refusal:
        record.error = refusal.message
        made = None
    if made is not None:
        _add_object(run, acts.newest(objects, act.job), act, uid_of(made))
    record.done_at = time.time()
    _save(run, [*(one for one in records if one.key != act.key), record])
    note(run, BY_ITSELF, act.kind, f"{run.namespace}/{record.target} {record.uid}".strip(), record.error or "done")
    return True


def _save(run: ExperimentRun, records: list[Record]) -> None:
    """Writes acts down, and holds on to the run: an act may wait for the cluster."""
    run.acts = [record.as_dict() for record in records]
    run.claimed_until = time.time() + CLAIM_SECONDS
    run.save(update_fields=["acts", "claimed_until"])


def _add_object(run: ExperimentRun, old: ExperimentObject, act: Act, uid: str) -> None:
    """Before it is sent, without its UID, and again once the cluster has it."""
    values = {
        "api_version": old.api_version,
        "kind": old.kind,
        "name": old.name,
        "uid": uid,
        "manifest": old.manifest,
        "created_at": time.time() if uid else None,
    }
    ExperimentObject.objects.update_or_create(run=run, position=old.position, act=act.key, defaults=values)


# --- what comes of it


def _trouble(run: ExperimentRun, trouble: str, detail: str = "") -> None:
    if (run.trouble, run.detail) != (trouble, detail):
        run.trouble, run.detail = trouble, detail
        run.save(update_fields=["trouble", "detail"])


def _keep(run: ExperimentRun, verdict: Verdict) -> None:
    run.verdict = told(verdict)
    run.save(update_fields=["verdict"])


def _end(run: ExperimentRun, state: RunState, trouble: str) -> None:
    run.state, run.trouble, run.ended_at = state, trouble, time.time()
    changed = ["state", "trouble", "ended_at"]
    if run.clean_up:  # else somebody may have asked for it meanwhile
        run.clean_up_asked = True
        changed.append("clean_up_asked")
    run.save(update_fields=changed)
    overall = (run.verdict or {}).get("overall", "")
    note(run, BY_ITSELF, "end", f"{run.namespace}/{run.name}", f"{state}: {overall}" if overall else str(state))


def _clean(run: ExperimentRun, away: set[str]) -> None:
    source = clusters.cluster_named(run.cluster)
    if source is None:
        _trouble(run, Trouble.NO_CLUSTER)
        return
    try:
        with cluster_writer(source) as writer:
            clean(run, writer, BY_ITSELF)
    except Away as error:
        away.add(run.cluster)
        _trouble(run, Trouble.CLEAN_AWAY, str(error))
    except Refused as refusal:
        _trouble(run, Trouble.CLEAN_REFUSED, refusal.message)
    else:
        if run.trouble in (Trouble.CLEAN_AWAY, Trouble.CLEAN_REFUSED, Trouble.NO_CLUSTER):
            _trouble(run, "")


def stop(run: ExperimentRun, who: str) -> None:
    """Ask for a run's end; it is judged as far as it has come."""
    if ExperimentRun.objects.filter(id=run.id, state=RunState.RUNNING).update(state=RunState.STOPPING):
        note(run, who, "stop", f"{run.namespace}/{run.name}")


def ask_for_clean_up(run: ExperimentRun, who: str) -> None:
    """Ask for what a run created to be removed; one that is under way is stopped for it."""
    stop(run, who)
    if ExperimentRun.objects.filter(id=run.id, clean_up_asked=False).update(clean_up_asked=True):
        note(run, who, "clean up", f"{run.namespace}/{run.name}")


# --- verdicts as they are kept


def told(verdict: Verdict) -> dict[str, Any]:
    """A verdict as JSON: texts in both languages, times in epoch seconds."""
    return {
        "overall": verdict.overall.value,
        "final": verdict.final,
        "differences": [_texts(text) for text in verdict.differences],
        "steps": [
            {
                "key": step.key,
                "text": _texts(step.text),
                "by": step.by,
                "state": outcome.state.value,
                "at": outcome.at,
                "seen": _texts(outcome.seen),
                "uids": list(outcome.uids),
            }
            for step, outcome in verdict.steps
        ],
    }


def _texts(text: Text | None) -> dict[str, str]:
    return {"en": text.en, "zh": text.zh} if text is not None else {}
