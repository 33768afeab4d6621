"""A verdict that could not be "different" would be worth nothing: each step can fail, and other behaviour is named."""

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from jobs.domain.reducer import unobserved
from jobs.domain.state import JobState
from jobs.experiments.catalogue import experiments
from jobs.experiments.experiment import DoneAct, Observed, StepState
from jobs.experiments.parameters import SOMEWHERE, defaults
from jobs.experiments.verdict import LEFT, PATIENCE, Overall, Verdict, judge, latest
from tests.experiments.observing import replayed
from tests.experiments.recorded_runs import FOREVER, RECORDED_RUNS, RecordedRun, at_the_end, verdict_on
from tests.support.truth import scenarios

NAMES = sorted(experiments())
# The same behaviour on another kind of job.
ALIKE = {"onfailure-one-worker": {"pt-onfailure-one-worker"}}


@cache
def recorded_jobs(recording: str) -> tuple[tuple[JobState, ...], float, float]:
    """The jobs of a recording, when the first was created, and the last moment."""
    watched = replayed(recording)
    jobs = tuple(job for job in watched.jobs.values() if job.facts is not None)
    return jobs, min(job.created_at or 0.0 for job in jobs), watched.last_at


def verdict_over(name: str, values: dict[str, Any], recording: str) -> Verdict:
    """The verdict of an experiment if this had happened to each of its jobs."""
    experiment = experiments()[name]
    jobs, launched, end = recorded_jobs(recording)
    number = len(experiment.objects(values, SOMEWHERE))
    observed = jobs if number == 1 else (jobs * number)[:number]
    return judge(experiment, values, Observed(observed, launched, end + FOREVER))


@pytest.mark.parametrize("name", NAMES)
def test_each_step_fails_on_some_other_recording(name: str) -> None:
    values = defaults(experiments()[name])
    failed = {
        step.key
        for recording in scenarios()
        for step, outcome in verdict_over(name, values, recording).steps
        if outcome.state is StepState.DIFFERS
    }
    assert failed == {step.key for step in experiments()[name].steps(values)}


@pytest.mark.parametrize("name", NAMES)
def test_what_else_happened_is_different_and_named(name: str) -> None:
    """Over every recording that is none of the experiment's own."""
    experiment = experiments()[name]
    alike = []
    for recording in scenarios():
        verdict = verdict_over(name, defaults(experiment), recording)
        assert verdict.final
        if verdict.overall is Overall.AS_EXPECTED:
            alike.append(recording)
            continue
        assert verdict.overall is Overall.DIFFERENT, recording
        assert verdict.differences
        assert all(text.en and text.zh for text in verdict.differences)
    assert set(alike) <= set(experiment.recordings) | ALIKE.get(name, set())


# --- what cannot be told, and what is not yet over

SEED = next(run for run in RECORDED_RUNS if run.experiment == "seed")
EXPERIMENT, VALUES = SEED.of, SEED.all_values


def states(observed: Observed) -> set[StepState]:
    return {outcome.state for _, outcome in verdict_on(SEED, observed).steps}


def test_before_anything_happened_everything_waits() -> None:
    verdict = verdict_on(SEED, Observed((None,), 1000.0, 1001.0))
    assert (verdict.overall, verdict.final) == (Overall.WAITING, False)
    assert states(Observed((), 1000.0, 1001.0)) == {StepState.WAITING}


def test_what_does_not_happen_in_time_differs() -> None:
    (job,), launched, _ = recorded_jobs("pt-normal")
    due = launched + max(step.by for step in EXPERIMENT.steps(VALUES))
    assert verdict_on(SEED, Observed((job,), launched, launched + 60)).final is False
    verdict = verdict_on(SEED, Observed((job,), launched, due))
    assert (verdict.overall, verdict.final) == (Overall.DIFFERENT, True)


def test_a_job_that_nobody_read_cannot_be_told() -> None:
    verdict = verdict_on(SEED, Observed((None,), 1000.0, 1000.0 + FOREVER))
    assert (verdict.overall, verdict.final) == (Overall.CANNOT_TELL, True)


def test_an_object_that_was_never_created_differs() -> None:
    assert states(Observed((), 1000.0, 1000.0 + FOREVER)) == {StepState.DIFFERS}


def test_silent_streams_get_patience_and_then_cannot_tell() -> None:
    """Nothing is called different that may only not have been read yet."""
    (job,), launched, _ = recorded_jobs("gang-waits")
    due = launched + max(step.by for step in EXPERIMENT.steps(VALUES))
    silent_since = launched + 5
    waiting = verdict_on(SEED, Observed((job,), launched, due + PATIENCE - 1, watched_until=silent_since))
    assert (waiting.overall, waiting.final) == (Overall.WAITING, False)
    verdict = verdict_on(SEED, Observed((job,), launched, due + PATIENCE, watched_until=silent_since))
    assert (verdict.overall, verdict.final) == (Overall.CANNOT_TELL, True)
    assert latest(EXPERIMENT, VALUES) == due + PATIENCE - launched


def test_a_job_that_is_gone_is_not_waited_for() -> None:
    (job,), launched, _ = recorded_jobs("gang-waits")
    gone = replace(job, present=False, deleted_at=launched + 20)
    still = verdict_on(SEED, Observed((gone,), launched, launched + 20 + LEFT - 1))
    assert (still.overall, still.final) == (Overall.WAITING, False)
    verdict = verdict_on(SEED, Observed((gone,), launched, launched + 20 + LEFT))
    assert (verdict.overall, verdict.final) == (Overall.DIFFERENT, True)
    assert "The job was gone before it happened." in {
        outcome.seen.en for _, outcome in verdict.steps if outcome.seen is not None
    }
    vanished = replace(gone, deleted_at=None, vanished=(launched + 10, launched + 20))
    assert verdict_on(SEED, Observed((vanished,), launched, launched + 20 + LEFT)).final


def test_what_may_have_happened_in_a_gap_cannot_be_told() -> None:
    watched = replayed("gang-waits")
    (job,) = watched.jobs.values()
    assert job.created_at is not None
    unobserved(job, job.created_at + 5, job.created_at + 8, "pods")
    verdict = verdict_on(SEED, Observed((job,), job.created_at, job.created_at + FOREVER))
    assert verdict.overall is Overall.CANNOT_TELL
    assert StepState.DIFFERS not in {outcome.state for _, outcome in verdict.steps}


@pytest.mark.parametrize(
    "run", [run for run in RECORDED_RUNS if "" not in run.recordings], ids=lambda run: run.experiment
)
def test_a_gap_never_makes_a_run_different(run: RecordedRun) -> None:
    """What did happen as expected, but was watched with a gap, is as expected still, or cannot be told."""
    observed = at_the_end(run, FOREVER)
    for job in observed.jobs:
        assert job is not None
        unobserved(job, observed.launched_at + 1, observed.now - FOREVER - 1, "pods")
    verdict = verdict_on(run, observed)
    assert verdict.overall in (Overall.AS_EXPECTED, Overall.CANNOT_TELL)


def test_a_refused_act_is_a_difference_in_the_servers_words() -> None:
    run = next(run for run in RECORDED_RUNS if run.experiment == "eviction")
    words = "Cannot evict pod as it would violate {the} budget."
    verdict = verdict_on(run, replace(at_the_end(run), acts=(DoneAct("evict", 1.0, words),)))
    assert verdict.overall is Overall.DIFFERENT
    (difference,) = verdict.differences
    assert words in difference.en
    assert words in difference.zh


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ({"code": 139}, "fails"),
        ({"fails_after": 20}, "fails"),
        ({"fails_after": 2}, "fails"),
        ({"workers": 4}, "pods"),
        ({"workers": 2}, "pods"),
        ({"backoff_limit": 7}, "backoff"),
    ],
)
def test_other_values_than_the_recorded_ones_differ(values: dict[str, Any], step: str) -> None:
    verdict = judge(EXPERIMENT, VALUES | values, at_the_end(SEED, FOREVER))
    assert verdict.overall is Overall.DIFFERENT
    assert step in {one.key for one, outcome in verdict.steps if outcome.state is StepState.DIFFERS}
