"""A run whose pods are refused: said at once, in the cluster's words, with what to do, and over before its deadline."""

from typing import Any

import pytest

from jobs.domain.reducer import not_watched
from jobs.domain.refusals import refused
from jobs.experiments import refusals
from jobs.experiments.catalogue import experiments
from jobs.experiments.experiment import Outcome, StepState, Text
from jobs.experiments.labels import container_names
from jobs.experiments.parameters import defaults
from jobs.experiments.refusals import advice
from jobs.experiments.verdict import Overall, Verdict
from simcluster.controllers.kubelet import NodeSpec
from simcluster.podsecurity import PodSecurityAdmission
from simcluster.quota import QuotaAdmission
from simcluster.resources import NAMESPACES, RESOURCEQUOTAS
from tests.experiments.observing import Watched
from tests.experiments.rehearsal import PLACE, Rehearsal
from tests.experiments.small import tfjob
from tests.simcluster.simulation import Simulation
from tests.simcluster.test_volcano import job as volcano_job
from tests.simcluster.test_volcano import task

NAMES = sorted(experiments())
WITHOUT_PODS = "gang-does-not-fit"
WITH_A_MASTER = {
    name
    for name in NAMES
    for job in experiments()[name].objects(defaults(experiments()[name]), PLACE)
    if {"Master", "Worker"} <= set(job["spec"].get("pytorchReplicaSpecs", ()))
}


def rehearsed(name: str, *, enforced: str = "", **changes: Any) -> Rehearsal:
    values = {**defaults(experiments()[name]), **changes}
    return Rehearsal(experiments()[name], values, enforced=enforced, nodes=(NodeSpec(), NodeSpec("las2")))


def said(verdict: Verdict) -> Outcome | None:
    """What the step about the pods' creation has come to."""
    return next((outcome for step, outcome in verdict.steps if step.key == refusals.KEY), None)


def seconds(rehearsal: Rehearsal) -> float:
    return rehearsal.simulation.clock.now() - rehearsal.launched_at


@pytest.mark.parametrize("name", [name for name in NAMES if name != WITHOUT_PODS])
def test_a_run_in_a_restricted_namespace_is_soon_over_and_says_why(name: str) -> None:
    rehearsal = rehearsed(name, enforced="restricted")
    verdict = rehearsal.run()
    assert (verdict.overall, verdict.final) == (Overall.DIFFERENT, True)
    outcome = said(verdict)
    assert outcome is not None and outcome.seen is not None
    assert outcome.state is StepState.DIFFERS
    assert 'is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation' in outcome.seen.en
    assert outcome.seen.en.endswith(refusals.RUN_WITHOUT_ROOT.en)
    assert outcome.seen.zh.endswith(refusals.RUN_WITHOUT_ROOT.zh)
    assert seconds(rehearsal) < 90
    assert StepState.WAITING not in {one.state for _step, one in verdict.steps}
    assert len(verdict.differences) == 1, "one sentence says it"


@pytest.mark.parametrize("name", sorted(WITH_A_MASTER))
def test_the_operators_own_init_container_is_named_with_who_can_change_it(name: str) -> None:
    verdict = rehearsed(name, enforced="restricted", restricted=True).run()
    outcome = said(verdict)
    assert outcome is not None and outcome.seen is not None
    assert verdict.overall is Overall.DIFFERENT
    assert '"init-pytorch"' in outcome.seen.en
    assert outcome.seen.en.endswith(refusals.ASK_OPERATOR.en)


def test_a_refusal_is_shown_at_once_and_decides_later() -> None:
    rehearsal = rehearsed("tf-normal", enforced="restricted")
    rehearsal.simulation.run(5)
    rehearsal.look()
    outcome = said(rehearsal.verdict())
    assert outcome is not None and outcome.seen is not None
    assert outcome.state is StepState.WAITING
    assert "violates PodSecurity" in outcome.seen.en
    assert not rehearsal.verdict().final


def test_it_decides_nothing_while_nobody_watches_the_pods() -> None:
    """They may have been created meanwhile."""
    rehearsal = rehearsed("tf-normal", enforced="restricted")
    assert rehearsal.run().overall is Overall.DIFFERENT
    (job,) = rehearsal.watched.jobs.values()
    not_watched(job, rehearsal.simulation.clock.now(), "pods")
    verdict = rehearsal.verdict()
    assert (said(verdict), verdict.overall, verdict.final) == (None, Overall.WAITING, False)


def test_what_is_let_in_after_all_is_no_difference() -> None:
    """Somebody takes the label away, or a quota has room again."""
    rehearsal = rehearsed("tf-normal", enforced="restricted")
    rehearsal.simulation.run(5)
    labels = {"pod-security.kubernetes.io/enforce": None}
    rehearsal.simulation.store.patch_merge(NAMESPACES, None, PLACE.namespace, {"metadata": {"labels": labels}})
    verdict = rehearsal.run()
    assert (verdict.differences, verdict.overall) == ((), Overall.AS_EXPECTED)
    assert said(verdict) is None


def test_a_quota_that_is_too_small() -> None:
    rehearsal = rehearsed("tf-normal")
    store = rehearsal.simulation.store
    QuotaAdmission(store)
    store.create(RESOURCEQUOTAS, {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "2"}}}, PLACE.namespace)
    verdict = rehearsal.run()
    outcome = said(verdict)
    assert outcome is not None and outcome.seen is not None
    assert verdict.overall is Overall.DIFFERENT
    assert "is forbidden: exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2" in outcome.seen.en
    assert outcome.seen.en.endswith(refusals.QUOTA_USED_UP.en)


def test_a_gang_that_does_not_fit_is_not_refused() -> None:
    verdict = rehearsed(WITHOUT_PODS, enforced="restricted").run()
    assert verdict.overall is Overall.AS_EXPECTED


FORBIDDEN = 'pods "a-worker-0" is forbidden: '
RESTRICTED = f'{FORBIDDEN}violates PodSecurity "restricted:latest": x (container '


@pytest.mark.parametrize(
    ("words", "remedy", "expected"),
    [
        (f'{RESTRICTED}"tensorflow" must)', refusals.RUN_WITHOUT_ROOT, refusals.RUN_WITHOUT_ROOT),
        (f'{RESTRICTED}"tensorflow" must)', refusals.IN_THE_MANIFEST, refusals.IN_THE_MANIFEST),
        (f'{RESTRICTED}"init-pytorch" must)', None, refusals.ASK_OPERATOR),
        (f'{RESTRICTED}"istio-init" must)', None, refusals.OTHER_NAMESPACE),
        (
            f'{FORBIDDEN}violates PodSecurity "baseline:latest": privileged (container "mesh")',
            refusals.RUN_WITHOUT_ROOT,
            refusals.OTHER_NAMESPACE,
        ),
        (f"{FORBIDDEN}exceeded quota: few, requested: pods=1", None, refusals.QUOTA_USED_UP),
        (f"{FORBIDDEN}failed quota: few: must specify requests.cpu for: a", None, refusals.QUOTA_WANTS_MORE),
        ('admission webhook "a.example" denied the request: no', None, refusals.WEBHOOK),
        ('Internal error occurred: failed calling webhook "a.example": EOF', None, refusals.WEBHOOK),
        ("Internal error occurred", None, refusals.ASK),
    ],
)
def test_what_to_do_follows_from_the_words(words: str, remedy: Text | None, expected: Text) -> None:
    assert advice(words, remedy) is expected


OWN = frozenset(("pytorch", "metrics"))


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ('container "pytorch"', refusals.IN_THE_MANIFEST),
        ('containers "init-pytorch", "pytorch"', refusals.IN_THE_MANIFEST),
        ('pod or containers "metrics", "istio-init"', refusals.IN_THE_MANIFEST),
        ("pod", refusals.IN_THE_MANIFEST),
        ('container "init-pytorch"', refusals.ASK_OPERATOR),
        ('pod or containers "init-pytorch", "istio-init"', refusals.ASK_OPERATOR),
        ('container "istio-init"', refusals.OTHER_NAMESPACE),
        ('containers "istio-init", "istio-pro…', refusals.OTHER_NAMESPACE),
    ],
)
@pytest.mark.parametrize("standard", ["restricted", "baseline"])
def test_what_others_add_no_manifest_can_mend(standard: str, names: str, expected: Text) -> None:
    words = f'{FORBIDDEN}violates PodSecurity "{standard}:latest": x ({names} must not)'
    if (standard, names) == ("baseline", "pod"):
        expected = refusals.OTHER_NAMESPACE  # whose it is was not said
    assert advice(words, refusals.IN_THE_MANIFEST, OWN) is expected


@pytest.mark.parametrize("name", ["webhook", "a-webhook-worker-0", "init-pytorch", "quota"])
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("error looking up service account webhook/x: not found", refusals.ASK),
        ('violates PodSecurity "baseline:latest": x (container "webhook" must)', refusals.OTHER_NAMESPACE),
        ("failed quota: few: must specify cpu for: webhook", refusals.QUOTA_WANTS_MORE),
    ],
)
def test_a_name_is_no_reason(name: str, words: str, expected: Text) -> None:
    assert advice(f'pods "{name}" is forbidden: {words}', None) is expected


@pytest.mark.parametrize(
    "odd", [{}, {"spec": 1}, {"spec": {"containers": [1, {"name": 2}, {}]}}, {"spec": {"containers": "x"}}]
)
def test_the_containers_of_a_manifest_are_found_by_name(odd: Any) -> None:
    manifest = tfjob("mine", "default", kind="PyTorchJob")
    spec = manifest["spec"]["pytorchReplicaSpecs"]
    spec["Worker"]["template"]["spec"]["initContainers"] = [{"name": "fetch"}]
    spec["Master"] = {"template": odd}
    assert container_names(manifest) == {"pytorch", "fetch"}


def test_what_has_not_lasted_is_left_out() -> None:
    rehearsal = rehearsed("tf-normal", enforced="restricted")
    rehearsal.simulation.run(5)
    rehearsal.look()
    observed = rehearsal.observed()
    every = refusals.refusals(observed)
    assert every
    lasted = observed.known_until - every[0][1].since
    assert refusals.refusals(observed, lasted)[0] == every[0]
    assert refusals.refusals(observed, lasted + 0.1) == []


def test_a_volcano_jobs_refusal_is_read_from_what_its_controller_prints() -> None:
    """No experiment creates one, but a manifest of somebody's own may."""
    simulation = Simulation()
    PodSecurityAdmission(simulation.store)
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    simulation.store.patch_merge(NAMESPACES, None, "default", {"metadata": {"labels": labels}})
    simulation.cluster.apply(volcano_job(task("main", {"tensorflow": {"after": None}}, 1)))
    simulation.run(30)
    watched = Watched()
    for line in simulation.lines:
        watched.take(line.at, line.resource, line.type, line.object)
    (job,) = watched.jobs.values()
    (one,) = refused(job)
    assert one.replica == ("main", 0, 0)
    assert one.words.startswith('pods "vj-main-0" is forbidden: violates PodSecurity "restricted:latest": allowPriv')
