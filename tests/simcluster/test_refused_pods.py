"""What the operator says when the API server does not take its pods, and how it goes on when it does."""

import copy
from typing import Any

import pytest

from simcluster import manifests
from simcluster.podsecurity import PodSecurityAdmission
from simcluster.quota import QuotaAdmission
from simcluster.resources import NAMESPACES, RESOURCEQUOTAS
from tests.simcluster.simulation import Simulation
from tests.simcluster.test_operator_kinds import job
from tests.simcluster.test_volcano import job as volcano_job
from tests.simcluster.test_volcano import task

Obj = dict[str, Any]
LASTING = {"after": None}
TFJOB = manifests.training_job(
    "TFJob",
    "test",
    "default",
    {"Worker": manifests.replica("tensorflow", ["train"], 2, "ExitCode", plan={"tensorflow": LASTING})},
)
SECURITY = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "runAsUser": 1000,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def restricted(**options: Any) -> Simulation:
    """A cluster whose namespace "default" enforces the standard."""
    simulation = Simulation(**options)
    PodSecurityAdmission(simulation.store)
    enforce(simulation, "restricted")
    return simulation


def enforce(simulation: Simulation, level: str) -> None:
    labels = {"pod-security.kubernetes.io/enforce": level}
    simulation.store.patch_merge(NAMESPACES, None, "default", {"metadata": {"labels": labels}})


def secured(manifest: Obj) -> Obj:
    """The job with the security contexts that the standard asks for."""
    found = copy.deepcopy(manifest)
    (specs,) = (value for key, value in found["spec"].items() if key.endswith("ReplicaSpecs"))
    for replica in specs.values():
        for container in replica["template"]["spec"]["containers"]:
            container["securityContext"] = SECURITY
    return found


def test_a_refused_pod_is_told_in_the_servers_words_and_tried_again() -> None:
    simulation = restricted()
    simulation.cluster.apply(TFJOB)
    simulation.run(30)
    assert simulation.pods() == []
    assert simulation.conditions("test") == ["Created=True"]
    events = simulation.events("TFJob", "FailedCreatePod")
    assert sum(event["count"] for event in events) > 5
    assert {event["type"] for event in events} == {"Warning"}
    assert all("is forbidden: violates PodSecurity" in event["message"] for event in events)
    assert events[0]["message"].startswith('Error creating: pods "test-worker-')
    enforce(simulation, "privileged")
    simulation.run_until(lambda: "Running=True" in simulation.conditions("test"))


def test_a_job_that_satisfies_the_standard_runs() -> None:
    simulation = restricted()
    simulation.cluster.apply(secured(TFJOB))
    simulation.run_until(lambda: "Running=True" in simulation.conditions("test"))
    assert simulation.events("TFJob", "FailedCreatePod") == []


@pytest.mark.parametrize("prepared", [False, True])
def test_the_operators_own_init_container_needs_its_administrator(prepared: bool) -> None:
    simulation = restricted(restricted_init=prepared)
    simulation.cluster.apply(secured(job("PyTorchJob", "OnFailure", {"pytorch": LASTING}, Master=1, Worker=1)))
    simulation.run(30)
    assert len(simulation.pods()) == (2 if prepared else 1), "the master has no init container"
    told = [event["message"] for event in simulation.events("PyTorchJob", "FailedCreatePod")]
    assert bool(told) is not prepared
    assert all('(container "init-pytorch" must set' in text and '"pytorch"' not in text for text in told)


def test_an_mpijob_says_it_in_other_words() -> None:
    simulation = restricted()
    simulation.cluster.apply(job("MPIJob", "OnFailure", {"mpi": LASTING}, Launcher=1, Worker=2))
    simulation.run(10)
    (first, *_) = simulation.events("MPIJob", "MPIJobFailed")
    assert first["message"].startswith('worker pod created failed: pods "')
    assert {event["message"] for event in simulation.events("MPIJob", "FailedCreatePod")} == {"Created worker pod: "}


def test_a_quota_lets_in_what_it_has_room_for() -> None:
    simulation = Simulation()
    QuotaAdmission(simulation.store)
    quota = {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "1"}}}
    simulation.store.create(RESOURCEQUOTAS, quota, "default")
    simulation.cluster.apply(TFJOB)
    simulation.run(20)
    assert len(simulation.pods()) == 1
    (event, *_) = simulation.events("TFJob", "FailedCreatePod")
    assert "is forbidden: exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1" in event["message"]
    simulation.store.patch_merge(RESOURCEQUOTAS, "default", "few", {"spec": {"hard": {"pods": "2"}}})
    simulation.run_until(lambda: len(simulation.pods()) == 2)


def test_volcano_tells_of_all_in_one_event_in_gos_notation() -> None:
    simulation = restricted()
    simulation.cluster.apply(volcano_job(task("main", {"tensorflow": {"after": None}}, 2)))
    simulation.run_until(lambda: simulation.events("Job", "FailedCreate"))
    (event, *_) = simulation.events("Job", "FailedCreate")
    assert event["message"].startswith("Error creating pods: [failed to create pod vj-main-")
    assert event["message"].count('Message:"pods \\"vj-main-') == 2
    enforce(simulation, "privileged")
    simulation.run_until(lambda: len(simulation.pods()) == 2)
