"""Every experiment as it stands in the catalogue, on a simulated cluster under virtual time."""

import pytest

from jobs.experiments.catalogue import experiments
from jobs.experiments.parameters import defaults
from jobs.experiments.verdict import Overall
from simcluster.controllers.kubelet import NodeSpec
from tests.experiments.rehearsal import Rehearsal

NAMES = sorted(experiments())
SEEDS = [1, 2, *(pytest.param(seed, marks=pytest.mark.deep) for seed in range(3, 9))]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", NAMES)
def test_the_verdict_is_as_expected(name: str, seed: int) -> None:
    experiment = experiments()[name]
    values = defaults(experiment)
    rehearsal = Rehearsal(experiment, values, seed=seed)
    verdict = rehearsal.run()
    assert verdict.differences == ()
    assert (verdict.overall, verdict.final) == (Overall.AS_EXPECTED, True)
    assert [done.error for done in rehearsal.done] == [""] * len(experiment.acts(values))
    took = rehearsal.simulation.clock.now() - rehearsal.launched_at
    assert took <= experiment.seconds(values) <= 3 * took + 10, "what the card says is about what it takes"
    assert rehearsal.clean_up().overall is Overall.AS_EXPECTED, "the end of the jobs changes nothing"


@pytest.mark.parametrize("busy", [False, True], ids=["one node", "one node, busy"])
@pytest.mark.parametrize("name", NAMES)
def test_it_is_the_same_on_the_smallest_cluster(name: str, busy: bool) -> None:
    """As the demo has it: one node of two cores; and with an operator that has much else to do."""
    experiment = experiments()[name]
    verdict = Rehearsal(experiment, defaults(experiment), seed=5, nodes=(NodeSpec(),), busy=busy).run()
    assert (verdict.differences, verdict.overall) == ((), Overall.AS_EXPECTED)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_the_same_without_root_where_that_is_enforced(name: str) -> None:
    """With an operator whose own init container is set up for such namespaces."""
    experiment = experiments()[name]
    values = {**defaults(experiment), "restricted": True}
    verdict = Rehearsal(experiment, values, enforced="restricted", restricted_init=True).run()
    assert (verdict.differences, verdict.overall) == ((), Overall.AS_EXPECTED)


@pytest.mark.parametrize("scheduler", ["", "scheduler-plugins"])
@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("seed", "gang-does-not-fit")])
def test_volcano_is_needed_by_those_only_that_say_so(name: str, scheduler: str) -> None:
    experiment = experiments()[name]
    verdict = Rehearsal(experiment, defaults(experiment), gang_scheduler=scheduler).run()
    assert (verdict.differences, verdict.overall) == ((), Overall.AS_EXPECTED)


def test_a_cluster_without_gangs_shows_in_the_seeds_verdict() -> None:
    experiment = experiments()["seed"]
    verdict = Rehearsal(experiment, defaults(experiment), gang_scheduler="").run()
    assert verdict.overall is Overall.DIFFERENT
    assert [text.en for text in verdict.differences] == [
        "Expected: The PodGroup is admitted before the first pod is created. Seen: pods without an admitted PodGroup"
    ]
