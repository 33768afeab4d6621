"""Fold the job object's observations: state, phases, Restarting spans, suspensions, scale-downs."""

from typing import NamedTuple

from jobs.domain.clock import occurred_at
from jobs.domain.count import add_break, breaks_at
from jobs.domain.creations import spec_changes
from jobs.domain.facts import DELETED, LISTED, VANISHED, Condition, JobFacts, Observation
from jobs.domain.scaling import note_raised
from jobs.domain.state import RESTARTING_LANE, STATE_LANE, Break, JobState, Unobserved

VOLCANO_PHASES = {
    "Pending": "Created",
    "Running": "Running",
    "Completing": "Running",
    "Restarting": "Restarting",
    "Aborting": "Suspended",
    "Aborted": "Suspended",
    "Completed": "Succeeded",
    "Terminating": "Failed",
    "Terminated": "Failed",
    "Failed": "Failed",
}
FINISHED = ("Succeeded", "Failed")
SET_ANEW = ("Restarting", "Running")  # each removes the other, so that its date is that of the change
ANY_NUMBER = 1_000_000_000  # of recreations


def condition(facts: JobFacts, kind: str) -> Condition | None:
    """The condition of that type with status True; the list's order means nothing."""
    return next((c for c in facts.conditions if c.type == kind and c.status == "True"), None)


def job_state(facts: JobFacts) -> str:
    """The one word for a job (restart facts, section 5)."""
    if facts.phase is not None:
        return VOLCANO_PHASES.get(facts.phase, "Unknown")
    for kind in ("Failed", "Succeeded", "Suspended", "Restarting", "Running"):
        if condition(facts, kind):
            return kind
    known = {c.type for c in facts.conditions}
    return "Created" if known & {"Created", "Running"} else "Unknown"


def fold_job(job: JobState, observation: Observation) -> None:
    """Bring ``job`` up to date with an observation of the job object, newer than the last."""
    at = observation.observed_at
    job.changes.job = True
    job.version = observation.resource_version
    if observation.verb == VANISHED:
        job.vanished = (job.seen_at or job.last_observed_at or at, at)
        job.present = False
        _close(job, None)
        _fold_unseen_end(job, at)
        return
    facts = observation.facts
    assert isinstance(facts, JobFacts)
    first = job.facts is None
    if first and observation.verb == LISTED and (facts.conditions or facts.phase):
        job.unobserved.append(Unobserved(facts.created_at, at, "jobs"))
    since = job.seen_at if observation.verb == LISTED and not first else None
    if first and observation.verb == LISTED:
        _fold_first_spec(job, facts, at)
    _fold_spec(job, facts, at, since)
    before, job.facts = job.facts, facts
    job.api_version = facts.api_version or job.api_version
    job.kind = facts.kind or job.kind
    job.created_at = facts.created_at
    job.present, job.vanished = True, None
    job.seen_at = at
    job.last_observed_at = max(at, job.last_observed_at or at)
    _fold_suspension(job, facts, before)
    moments = _Moments(at, observation.verb == LISTED, since)
    changed = _fold_state(job, facts, moments)
    _fold_restarting(job, facts, moments, changed)
    if observation.verb == DELETED:
        job.present = False
        job.deleted_at = at
        _close(job, at)


class _Moments(NamedTuple):
    """When things happened that are seen at ``at``: in a list they are older, and the object may say how much."""

    at: float
    listed: bool
    since: float | None  # when the object was seen before the list; None: never

    def of(self, said: float | None) -> float:
        """The object's word where it lies in the time that was not watched."""
        if not self.listed or said is None or (self.since is not None and said < self.since):
            return self.at
        return min(said, self.at)


class _Change(NamedTuple):
    """When the state changed: as we saw it, and as the cluster says."""

    at: float
    said: float | None


def _close(job: JobState, at: float | None) -> None:
    """The job is gone: its state ends with it. A Restarting span stays open (report format): nobody wrote its end."""
    if at is not None:
        job.end_span(STATE_LANE, at)


def _fold_first_spec(job: JobState, facts: JobFacts, at: float) -> None:
    """A spec that was changed before anyone watched: pods beyond its numbers are left from before a scale-down."""
    if spec_changes(facts) <= 0:
        return
    for spec in facts.replicas:
        if spec.replicas is not None:
            add_break(job, Break(at, "scaled", spec.type.lower(), spec.replicas, since=facts.created_at))


def _fold_spec(job: JobState, facts: JobFacts, at: float, unwatched_since: float | None) -> None:
    """Note what explains recreations: a scale-down, when replicas come back, and changes that nobody watched.

    A generation that rose by more than one between two looks hides changes: a suspension and its end, or a scale-down
    and its undoing. Each may explain one recreation of a replica, from that time on.
    """
    if job.facts is None:
        return
    before = {spec.type: spec.replicas for spec in job.facts.replicas}
    for spec in facts.replicas:
        had = before.get(spec.type)
        if had is not None and spec.replicas is not None and spec.replicas < had:
            since = occurred_at(job.facts)
            add_break(job, Break(at, "scaled", spec.type.lower(), spec.replicas, since=since, to_index=had))
        elif had is not None and spec.replicas is not None and spec.replicas > had:
            note_raised(job, spec.type.lower(), spec.replicas, at)
    changes = spec_changes(facts) - spec_changes(job.facts)
    if unwatched_since is not None and changes > 1:
        add_break(job, Break(at, "unwatched", since=unwatched_since, times=changes // 2))


def _fold_unseen_end(job: JobState, at: float) -> None:
    """Nobody can say any more what was done to a job that went in a gap: it may explain every recreation in there."""
    gap = next((gap for gap in reversed(job.unobserved) if gap.resource == "jobs" and gap.end >= at), None)
    since = job.seen_at if gap is None or gap.start is None else gap.start
    add_break(job, Break(at, "unwatched", since=since, times=ANY_NUMBER))


def _fold_suspension(job: JobState, facts: JobFacts, before: JobFacts | None) -> None:
    for cond in facts.conditions:
        if cond.type == "Suspended" and cond.transition_at is not None:
            _note_suspension(job, cond.transition_at, suspended=cond.status == "True")
    if facts.phase is not None and facts.phase_at is not None:
        suspended = VOLCANO_PHASES.get(facts.phase) == "Suspended"
        was = before is not None and VOLCANO_PHASES.get(before.phase or "") == "Suspended"
        if suspended != was:
            _note_suspension(job, facts.phase_at, suspended=suspended)
    if job.facts is None or not job.spans:
        job.started_suspended = bool(facts.suspend)


def _note_suspension(job: JobState, at: float, *, suspended: bool) -> None:
    """A resume whose suspension nobody watched explains the same recreations."""
    if suspended:
        if not any(b.why == "suspended" for b in breaks_at(job, at)):
            add_break(job, Break(at, "suspended"))
    elif at not in job.resumed:
        last = max(job.resumed, default=float("-inf"))
        if not any(b.why == "suspended" and last <= b.at <= at for b in job.breaks):
            add_break(job, Break(at, "resumed"))
        job.resumed.append(at)


def _fold_state(job: JobState, facts: JobFacts, moments: _Moments) -> _Change:
    """Answers when the state changed, as far as that is known."""
    state = job_state(facts)
    deciding = condition(facts, state)
    said = deciding.transition_at if deciding else facts.phase_at
    start = moments.of(said)
    job.finished_at = (said or facts.completed_at or moments.at) if state in FINISHED else None
    job.state = state
    current = job.open_span(STATE_LANE)
    if current is None or current.value != state:
        job.end_span(STATE_LANE, start, said)
        dated = {"said_start": said} if state in SET_ANEW and said is not None else {}
        job.start_span(STATE_LANE, state, start, reason=deciding.reason if deciding else facts.phase, **dated)
    return _Change(start, said)


def _fold_restarting(job: JobState, facts: JobFacts, moments: _Moments, changed: _Change) -> None:
    restarting = condition(facts, "Restarting")
    phase = facts.phase == "Restarting"
    current = job.open_span(RESTARTING_LANE)
    if (restarting or phase) and current is None:
        said = restarting.transition_at if restarting else facts.phase_at
        message = restarting.message if restarting else None
        dated = {} if said is None else {"said_start": said}
        job.start_span(RESTARTING_LANE, "Restarting", moments.of(said), message=message, **dated)
    elif not restarting and not phase and current is not None:
        job.end_span(RESTARTING_LANE, changed.at, changed.said)
