"""Expected against observed: every step's outcome, and what they come to."""

from dataclasses import dataclass
from enum import StrEnum

from jobs.domain.intervals import unobserved
from jobs.experiments import refusals
from jobs.experiments.experiment import Experiment, Observed, Outcome, Step, StepState, Text, Values
from jobs.experiments.parameters import defaults

SETTLED = (StepState.MET, StepState.DIFFERS, StepState.UNKNOWN)


class Overall(StrEnum):
    AS_EXPECTED = "as expected"
    DIFFERENT = "different"
    WAITING = "waiting"
    CANNOT_TELL = "cannot tell"  # what matters fell into time in which nobody watched


@dataclass(frozen=True)
class Verdict:
    """``final``: nothing that may still happen can change it. ``differences``: a sentence each, empty if none."""

    overall: Overall
    steps: tuple[tuple[Step, Outcome], ...]
    final: bool
    differences: tuple[Text, ...]


NEVER_SEEN = Text("It was not seen within {seconds} s.", "{seconds} 秒内没有发生。")
GONE = Text("The job was gone before it happened.", "在此之前，作业已经不存在。")
UNWATCHED = Text("It may have happened while nobody watched the cluster.", "可能发生在无人监视集群的时段内。")
NOT_YET_READ = Text("Nothing has been heard of the cluster for some time.", "已有一段时间没有收到集群的任何消息。")
DIFFERENCE = Text("Expected: {step} Seen: {seen}", "预期：{step} 实际：{seen}")
REFUSED = Text("The step “{act}” was refused: {error}", "操作“{act}”被拒绝：{error}")
LEFT = 60.0  # seconds after a job is gone in which its pods and Events may still tell something
PATIENCE = 120.0  # seconds that a step which is due may wait for streams that are silent


def judge(experiment: Experiment, values: Values, observed: Observed) -> Verdict:
    """The verdict on a run as far as it is known; pure, and the same for the same observations.

    A run of some time ago may lack parameters that the experiment has got since: they take their defaults.
    """
    values = {**defaults(experiment), **values}
    steps = _judged(experiment, values, observed)
    refusals = _refusals(experiment, values, observed)
    differences = tuple(_difference(step, outcome) for step, outcome in steps if outcome.state is StepState.DIFFERS)
    states = {outcome.state for _, outcome in steps}
    if differences or refusals:
        overall = Overall.DIFFERENT
    elif StepState.WAITING in states:
        overall = Overall.WAITING
    elif StepState.UNKNOWN in states:
        overall = Overall.CANNOT_TELL
    else:
        overall = Overall.AS_EXPECTED
    return Verdict(overall, steps, states <= set(SETTLED), (*differences, *refusals))


def _judged(experiment: Experiment, values: Values, observed: Observed) -> tuple[tuple[Step, Outcome], ...]:
    """Every step's outcome, with one more in front where pods are refused: then the others' time is up as well."""
    steps = [(step, _outcome(step, observed)) for step in experiment.steps(values)]
    refusal = refusals.step_of(values, observed)
    if refusal is None:
        return tuple(steps)
    return (refusal, *((step, _in_vain(step, outcome, observed)) for step, outcome in steps))


def _in_vain(step: Step, outcome: Outcome, observed: Observed) -> Outcome:
    """The outcome, or that it cannot come any more: of a job that lacks pods, or is created after the step of one."""
    over = refusals.deciding(observed)
    hopeless = step.job in over or (over and step.job >= len(observed.jobs))
    if hopeless and outcome.state is StepState.WAITING:
        return Outcome(StepState.UNKNOWN, seen=refusals.NOT_REACHED)
    return outcome


def latest(experiment: Experiment, values: Values) -> float:
    """Seconds after the launch by which the verdict is final, with the patience for silent streams."""
    return max(step.by for step in experiment.steps(values)) + PATIENCE


def _outcome(step: Step, observed: Observed) -> Outcome:
    """What the check says; what it waits for in vain differs, or cannot be told if nobody watched."""
    outcome = step.check(observed)
    if outcome.state is not StepState.WAITING:
        return outcome
    due, gone = observed.launched_at + step.by, _gone_at(step, observed)
    over, never = due, NEVER_SEEN.filled({"seconds": round(step.by)})
    if gone is not None and gone + LEFT < due:
        over, never = gone + LEFT, GONE
    if observed.known_until >= over:
        if _was_unwatched(step, observed):
            return Outcome(StepState.UNKNOWN, over, UNWATCHED, outcome.uids)
        return Outcome(StepState.DIFFERS, over, outcome.seen or never, outcome.uids)
    if observed.now >= due + PATIENCE:
        return Outcome(StepState.UNKNOWN, due, NOT_YET_READ, outcome.uids)
    return outcome


def _gone_at(step: Step, observed: Observed) -> float | None:
    """When the step's job was seen to be gone; None while it is there, or was never read."""
    job = observed.jobs[step.job] if step.job < len(observed.jobs) else None
    if job is None or job.present or job.facts is None:
        return None
    return job.deleted_at if job.deleted_at is not None else job.vanished[1] if job.vanished else None


def _was_unwatched(step: Step, observed: Observed) -> bool:
    """Whether there was time, from the launch on, in which nobody watched the job; a job that was never read is one
    that nobody watched."""
    job = observed.jobs[step.job] if step.job < len(observed.jobs) else None
    if job is None:
        return step.job < len(observed.jobs)
    return any(end is None or end > observed.launched_at for _, end in unobserved(job))


def _refusals(experiment: Experiment, values: Values, observed: Observed) -> tuple[Text, ...]:
    texts = {act.key: act.text for act in experiment.acts(values)}
    return tuple(_refusal(texts[done.key], done.error) for done in observed.acts if done.error and done.key in texts)


def _refusal(act: Text, error: str) -> Text:
    return Text(
        REFUSED.en.format(act=act.en, error=error),
        REFUSED.zh.format(act=act.zh, error=error),
    )


def _difference(step: Step, outcome: Outcome) -> Text:
    seen = outcome.seen or Text("", "")
    return Text(
        DIFFERENCE.en.format(step=step.text.en, seen=seen.en),
        DIFFERENCE.zh.format(step=step.text.zh, seen=seen.zh),
    )
