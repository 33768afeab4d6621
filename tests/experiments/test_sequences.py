"""An experiment's own manifest and acts on the simulated cluster go as the recording of a real one went.

Compared is the normalised sequence: each job's conditions with their reasons, and of every pod the phases, exits,
restarts in place, its deletion and its end. A run ends when its verdict is final, a recording when its job is deleted:
what both have must agree. Restarting comes and goes by chance (tests/simcluster/test_conformance_scenarios.py).
"""

import pytest

from jobs.experiments.experiment import StepState
from simcluster.scenarios import SCENARIOS
from tests.experiments.recorded_runs import RECORDED_RUNS, RecordedRun, run_id
from tests.experiments.rehearsal import Rehearsal
from tests.simcluster.sequences import conditions_told, life_and_death, lives
from tests.simcluster.simulation import Line, of_jobs, recorded

SEEDS = [1, *(pytest.param(seed, marks=pytest.mark.deep) for seed in range(2, 6))]
# Values that make the simulated nodes fill as the recorded ones did: there the manifest named the nodes.
PLACED = {"node-lost": {"cpu": 1200}}
# Entries of one pod's life after which chance decides: the deadline falls into a wait for a restart, or just after it.
SURE = {("deadline", ("worker", 0)): 6}


def lines_of_job(lines: list[Line], uid: str) -> list[Line]:
    """The lines of one job and of its pods, up to its deletion."""
    own = [
        line
        for line in lines
        if line.uid == uid or any(o["uid"] == uid for o in line.object["metadata"].get("ownerReferences") or [])
    ]
    end = next((number for number, line in enumerate(own) if line.uid == uid and line.type == "DELETED"), len(own))
    return own[:end]


def job_uids(lines: list[Line]) -> list[str]:
    return list(dict.fromkeys(line.uid for line in of_jobs(lines)))


def recorded_jobs(run: RecordedRun) -> list[list[Line]]:
    """The lines of each created object; [] where it was not recorded."""
    if len(run.recordings) == 1:
        lines = recorded(run.recordings[0])
        return [lines_of_job(lines, uid) for uid in job_uids(lines)]
    return [_first_job(recorded(name)) if name else [] for name in run.recordings]


def _first_job(lines: list[Line]) -> list[Line]:
    return lines_of_job(lines, job_uids(lines)[0])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("run", RECORDED_RUNS, ids=run_id)
def test_a_run_goes_as_recorded(run: RecordedRun, seed: int) -> None:
    scenario = SCENARIOS[next(filter(None, run.recordings))]
    values = run.all_values | PLACED.get(run.experiment, {})
    busy = scenario.busy and len(run.recordings) == 1  # several jobs keep the operator busy by themselves
    rehearsal = Rehearsal(run.of, values, seed=seed, nodes=scenario.nodes, busy=busy)
    differing = [step.key for step, outcome in run.steps(rehearsal.run()) if outcome.state is not StepState.MET]
    assert not differing
    simulated = [lines_of_job(rehearsal.simulation.lines, uid) for uid in rehearsal.uids]
    real = recorded_jobs(run)
    assert len(simulated) == len(real)
    for theirs, ours in zip(real, simulated, strict=True):
        if theirs:
            check_conditions(theirs, ours)
            check_pods(run.experiment, theirs, ours)


def check_conditions(real: list[Line], simulated: list[Line]) -> None:
    theirs, ours = conditions_told(real), conditions_told(simulated)
    shorter = min(len(theirs), len(ours))
    assert shorter
    assert ours[:shorter] == theirs[:shorter]


def check_pods(experiment: str, real: list[Line], simulated: list[Line]) -> None:
    theirs = {replica: pods for (_, replica), pods in lives(real).items()}
    ours = {replica: pods for (_, replica), pods in lives(simulated).items()}
    assert theirs.keys() == ours.keys()
    for replica, their_pods in theirs.items():
        for number, (their_life, our_life) in enumerate(zip(their_pods, ours[replica], strict=False)):
            expected, found = life_and_death(their_life), life_and_death(our_life)
            is_last = number + 1 in (len(their_pods), len(ours[replica]))
            if is_last:
                shorter = min(len(found), len(expected), SURE.get((experiment, replica), len(found)))
                found, expected = found[:shorter], expected[:shorter]
            assert found == expected, (replica, number)
