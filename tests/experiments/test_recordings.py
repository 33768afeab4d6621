"""What an experiment expects is what a real cluster did: its verdict on recordings, with the recordings' values."""

import pytest

from jobs.experiments.catalogue import experiments
from jobs.experiments.experiment import StepState
from jobs.experiments.verdict import Overall
from tests.experiments.recorded_runs import (
    FOREVER,
    RECORDED_RUNS,
    RecordedRun,
    as_it_went,
    at_the_end,
    run_id,
    verdict_on,
)

WHOLE = [run for run in RECORDED_RUNS if len(run.recordings) == 1]


def test_every_recording_that_an_experiment_names_is_tried() -> None:
    named = {(one.name, recording) for one in experiments().values() for recording in one.recordings}
    assert named == {(run.experiment, recording) for run in RECORDED_RUNS for recording in run.recordings if recording}


@pytest.mark.parametrize("run", RECORDED_RUNS, ids=run_id)
def test_every_step_is_met_by_the_recording(run: RecordedRun) -> None:
    verdict = verdict_on(run, at_the_end(run))
    unmet = {step.key: outcome for step, outcome in run.steps(verdict) if outcome.state is not StepState.MET}
    assert not unmet
    assert run.steps(verdict)


@pytest.mark.parametrize("run", [run for run in RECORDED_RUNS if "" not in run.recordings], ids=run_id)
def test_the_verdict_on_the_recording_is_as_expected(run: RecordedRun) -> None:
    for later in (0.0, FOREVER):
        verdict = verdict_on(run, at_the_end(run, later))
        assert (verdict.overall, verdict.final, verdict.differences) == (Overall.AS_EXPECTED, True, ())


@pytest.mark.parametrize("run", WHOLE, ids=run_id)
def test_whoever_looks_every_second_comes_to_the_same_verdict(run: RecordedRun) -> None:
    """No step differs on the way, what is met stays met, and times do not go back before the launch."""
    met: set[str] = set()
    for observed in as_it_went(run):
        verdict = verdict_on(run, observed)
        assert not verdict.differences
        now_met = {step.key for step, outcome in verdict.steps if outcome.state is StepState.MET}
        assert met <= now_met
        for _, outcome in verdict.steps:
            assert outcome.at is None or observed.launched_at - 1 <= outcome.at <= observed.now + 1
        met = now_met
    assert verdict.overall is Overall.AS_EXPECTED
